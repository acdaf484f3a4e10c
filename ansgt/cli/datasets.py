"""`ansgt datasets`: what is known, and what is there."""

from typing import Any

import typer
from rich.console import Console
from rich.table import Column, Table

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, err, verb


def register(app: typer.Typer) -> None:
    app.command("datasets")(verb(render)(datasets))


def datasets(
    root: RootOption = "data",  # type: ignore[assignment]
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """List the known data sets with their counts, homophily and variant, and whether their files are under --root."""
    from ansgt.datasets import DATASETS, statistics

    rows = []
    for name in DATASETS:
        with err.status(f"reading {name}"):
            rows.append(statistics(name, root, cache_dir=cache_dir))
    return {"root": str(root), "datasets": rows}


def render(result: dict[str, Any]) -> None:
    table = Table(Column("data set", no_wrap=True))
    for head in ("nodes", "edges", "classes", "features", "edge hom.", "node hom."):
        table.add_column(head, justify="right")
    table.add_column("variant")
    for row in result["datasets"]:
        counts = [f"{row[k]:,}" if row["present"] else "-" for k in _COUNTS]
        shares = [f"{row[k]:.3f}" if row["present"] else "-" for k in ("edge_homophily", "node_homophily")]
        name = row["name"] if row["present"] else f"[dim]{row['name']} (absent)[/]"
        table.add_row(name, *counts, *shares, row["variant"])
    Console().print(table)


_COUNTS = ("num_nodes", "num_edges", "num_classes", "num_features")
