"""`ansgt datasets`: what is known, and what is there."""

from pathlib import Path
from typing import Any

import typer
from rich.table import Column, Table

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, err, plain, say, verb


def register(app: typer.Typer) -> None:
    app.command("datasets")(verb(render)(datasets))


def datasets(
    root: RootOption = "data",  # type: ignore[assignment]
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """List the known data sets with their counts, homophily and variant, and whether their files are under --root."""
    from ansgt.datasets.published import DATASETS

    rows = []
    for name in DATASETS:
        with err.status(f"reading {name}"):
            rows.append(statistics(name, root, cache_dir=cache_dir))
    return {"root": str(root), "datasets": rows}


def statistics(
    name: str, root: Path | str = "data", *, cache_dir: Path | str | None = None
) -> dict[str, Any]:
    """One row of `ansgt datasets`; the counts are None when the raw files are absent."""
    import numpy as np

    from ansgt.datasets import load
    from ansgt.datasets.published import DATASETS, find_checked, remembered_counts
    from ansgt.datasets.raw import is_present
    from ansgt.storage import default_cache_dir

    spec, root = DATASETS[name], Path(root).expanduser()
    row: dict[str, Any] = {
        "name": name,
        "present": is_present(root, spec.raw, spec.files),
        "variant": spec.variant,
    }
    row["default_split"] = spec.default_split
    if not row["present"]:
        return row | dict.fromkeys(_COUNTS + _SHARES)
    cache = Path(cache_dir).expanduser() if cache_dir is not None else default_cache_dir()

    def count() -> dict[str, Any]:
        dataset = load(name, root, cache_dir=cache)
        graph = dataset.graph
        return {
            "num_nodes": graph.num_nodes,
            "num_edges": graph.num_edges,
            "num_classes": graph.num_classes,
            "num_features": graph.num_features,
            "edge_homophily": graph.edge_homophily(),
            "edge_homophily_with_loops": graph.edge_homophily(keep_loops=True),
            "node_homophily": graph.node_homophily(),
            "num_isolated": int(np.sum(graph.degree == 0)),
            "num_loops": int(graph.loops.sum()),
            "splits": dataset.split_names,
        }

    if not spec.raw:
        return row | count()
    return row | remembered_counts(name, find_checked(name, root), cache, count)


def render(result: dict[str, Any]) -> None:
    table = Table(Column("data set", no_wrap=True))
    for head in ("nodes", "edges", "classes", "features", "edge hom.", "node hom."):
        table.add_column(head, justify="right")
    table.add_column("variant")
    for row in result["datasets"]:
        counts = [f"{row[k]:,}" if row["present"] else "-" for k in _COUNTS]
        shares = [f"{row[k]:.3f}" if row["present"] else "-" for k in (_SHARES[0], _SHARES[2])]
        name = plain(row["name"]) if row["present"] else plain(f"{row['name']} (absent)", style="dim")
        table.add_row(name, *counts, *shares, plain(row["variant"]))
    say(table)


_COUNTS = ("num_nodes", "num_edges", "num_classes", "num_features")
_SHARES = ("edge_homophily", "edge_homophily_with_loops", "node_homophily")
