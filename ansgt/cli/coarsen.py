"""`ansgt coarsen DATASET`: super-nodes reached, seconds, spectral quality."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, err, plain, say, verb


def register(app: typer.Typer) -> None:
    app.command("coarsen")(verb(render)(coarsen))


def coarsen(
    dataset: Annotated[
        str, typer.Argument(help="A name from `ansgt datasets`, or a path to an .npz / .pt graph.")
    ],
    method: Annotated[str, typer.Option(help="vn, ve, jc, heavy-edge or louvain.")] = "vn",
    rate: Annotated[float, typer.Option(help="Super-nodes per node, in (0, 1].")] = 0.1,
    num_supernodes: Annotated[
        int | None, typer.Option(help="The number of super-nodes, instead of --rate.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same super-nodes.")] = 0,
    below_components: Annotated[
        str, typer.Option(help="Fewer super-nodes than components: merge, stop or error.")
    ] = "merge",
    quality: Annotated[bool, typer.Option(help="Measure spectral quality (slower than coarsening).")] = True,
    output: Annotated[
        Path | None, typer.Option(help="Write assignment, x, x_mean and adj (CSR) to this .npz.")
    ] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Coarsen a graph into super-nodes and say what was reached, in what time, and how well the spectrum survived."""
    from ansgt.coarsening import resolve, warm_up
    from ansgt.coarsening.quality import quality as measure
    from ansgt.datasets import load_graph
    from ansgt.storage import DiskCache, default_cache_dir

    cache = DiskCache((cache_dir or default_cache_dir()) / "coarsening")
    coarsener = resolve(
        method,
        rate=rate,
        num_supernodes=num_supernodes,
        seed=seed,
        below_components=below_components,
        cache=cache,
    )
    graph = load_graph(dataset, root=root, cache_dir=cache_dir)
    with err.status(plain(f"coarsening {dataset}")):
        warm_up(coarsener)
        coarse = coarsener.fit(graph)
    if output is not None:
        save(output, coarse)
    measured: dict[str, Any] = {"eigenvalue_error": None}
    if quality:
        with err.status("measuring quality"):
            measured = measure(graph, coarse, cache=cache).asdict()
    return {
        "dataset": dataset,
        "method": method.lower(),
        "num_nodes": graph.num_nodes,
        "rate": coarse.rate,
        "rate_reached": coarse.rate_reached,
        "num_supernodes": coarse.num_supernodes,
        "num_components": coarse.num_components,
        "levels": coarse.levels,
        "reason": coarse.reason,
        **measured,
        "largest_share": coarse.largest_share,
        "seconds": coarse.seconds["total"],
        "seconds_by_phase": coarse.seconds,
        "seed": seed,
    }


def save(path: Path, coarse: Any) -> None:
    """The coarse graph as one .npz."""
    from ansgt.storage import write_npz

    adj = coarse.adj
    write_npz(
        path,
        assignment=coarse.assignment,
        x=coarse.x.numpy(),
        x_mean=coarse.x_mean.numpy(),
        adj_data=adj.data,
        adj_indices=adj.indices,
        adj_indptr=adj.indptr,
    )


def render(result: dict[str, Any]) -> None:
    table = Table("", "", title=plain(f"{result['dataset']} by {result['method']}"), show_header=False)
    shape = f"{result['num_supernodes']:,} of {result['num_nodes']:,} nodes"
    table.add_row("super-nodes", f"{shape} (rate {result['rate_reached']:.4f}, asked {result['rate']:.4f})")
    table.add_row("components", f"{result['num_components']:,}")
    table.add_row("largest super-node", f"{result['largest_share']:.1%} of the nodes")
    if result["eigenvalue_error"] is not None:
        compared, dim = result["eigenvalues_compared"], result["subspace_dim"]
        table.add_row(
            "eigenvalue error", f"{result['eigenvalue_error']:.3f} (first {compared} non-zero eigenvalues)"
        )
        table.add_row("subspace error ε", f"{result['subspace_error']:.3f} (first {dim} eigenvectors)")
        if result["purity"] is not None:
            table.add_row("label purity", f"{result['purity']:.3f}")
    phases = ", ".join(f"{k} {v:.3f}" for k, v in result["seconds_by_phase"].items() if k != "total")
    table.add_row("seconds", f"{result['seconds']:.3f} ({phases})")
    if result["reason"]:
        table.add_row("target not met", plain(result["reason"]))
    say(table)
