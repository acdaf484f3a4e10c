"""`ansgt bench coarsening`: seconds and spectral quality of the coarseners, against the reference and the paper.

Lower bound of VN's time: one eigensolver iteration on K = 10 vectors reads the 2|E| stored edges once (12 bytes each) and
takes about 6,000 n flops of small dense products; a level reads Σ deg² scalars for the set costs (those within the size
cap). For Squirrel (|E| = 198k, Σ deg² = 166 M) that is about 0.1 s on one core; for Cora about 5 ms. A warm-up keeps
compilation out of the times; the subspace is computed anew for every "seconds", and shared in "seconds_shared".

Peers: loukasa/graph-coarsening, whose times (idle, one thread, same kind of machine) are stored below because it does not
run on numpy 2; and networkx's Louvain, measured in the same run.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

REFERENCE: dict[tuple[str, str, float], tuple[float, int, float | None]] = {
    ("cora", "vn", 0.5): (1.0, 1354, 0.127),
    ("cora", "vn", 0.1): (1.6, 271, 2.26),
    ("cora", "vn", 0.01): (2.4, 78, None),
    ("cora", "ve", 0.5): (0.39, 1354, 0.27),
    ("cora", "ve", 0.1): (0.59, 527, 2.44),
    ("cora", "ve", 0.01): (0.65, 552, 2.55),
    ("cora", "jc", 0.5): (0.25, 1354, 0.103),
    ("cora", "jc", 0.1): (0.40, 271, 2.25),
    ("cora", "jc", 0.01): (0.39, 158, 4.6),
    ("chameleon", "vn", 0.5): (2.7, 1139, 0.021),
    ("chameleon", "vn", 0.1): (3.9, 228, 0.80),
    ("chameleon", "vn", 0.01): (3.7, 23, 8.3),
    ("chameleon", "ve", 0.5): (2.2, 1139, 0.47),
    ("chameleon", "ve", 0.1): (2.4, 880, 1.29),
    ("chameleon", "ve", 0.01): (1.7, 882, 1.5),
    ("chameleon", "jc", 0.5): (1.2, 1139, 0.33),
    ("chameleon", "jc", 0.1): (2.1, 228, 1.41),
    ("chameleon", "jc", 0.01): (2.5, 189, 1.5),
    ("actor", "vn", 0.5): (3.5, 3800, 0.042),
    ("actor", "vn", 0.1): (5.3, 760, 0.88),
    ("actor", "vn", 0.01): (7.3, 77, 2.4),
    ("actor", "ve", 0.5): (1.4, 3799, 0.22),
    ("actor", "ve", 0.1): (3.2, 1860, 1.0),
    ("actor", "ve", 0.01): (3.0, 1671, 1.05),
    ("actor", "jc", 0.5): (1.2, 3800, 0.42),
    ("actor", "jc", 0.1): (3.6, 905, 1.2),
    ("actor", "jc", 0.01): (3.4, 905, 1.2),
    ("squirrel", "vn", 0.5): (55.0, 2601, 0.01),
    ("squirrel", "vn", 0.1): (44.0, 521, 0.98),
    ("squirrel", "vn", 0.01): (57.0, 53, 6.3),
    ("squirrel", "ve", 0.5): (15.0, 2601, 0.23),
    ("squirrel", "ve", 0.1): (15.0, 1271, 0.95),
    ("squirrel", "jc", 0.5): (12.0, 2601, 0.22),
    ("squirrel", "jc", 0.1): (23.0, 521, 0.76),
}
"""loukasa/graph-coarsening, K = 10: (data set, method, rate) -> (seconds, super-nodes reached, eigenvalue error).

Errors of VN and JC at rate 0.5 are from dense eigenvalues (all but those of Squirrel and of JC on Actor)."""

PAPER: dict[tuple[str, str, float], float] = {
    ("cora", "vn", 0.01): 3.792,
    ("cora", "vn", 0.1): 3.536,
    ("cora", "vn", 0.5): 2.215,
    ("cora", "ve", 0.01): 1.540,
    ("cora", "ve", 0.1): 1.516,
    ("cora", "ve", 0.5): 0.851,
    ("cora", "jc", 0.01): 1.454,
    ("cora", "jc", 0.1): 1.271,
    ("cora", "jc", 0.5): 0.665,
    ("actor", "vn", 0.01): 11.868,
    ("actor", "vn", 0.1): 11.53,
    ("actor", "vn", 0.5): 7.000,
    ("actor", "ve", 0.01): 7.535,
    ("actor", "ve", 0.1): 6.911,
    ("actor", "ve", 0.5): 3.154,
    ("actor", "jc", 0.01): 11.785,
    ("actor", "jc", 0.1): 11.624,
    ("actor", "jc", 0.5): 3.651,
}
"""Appendix D, "Time consumption for graph coarsening (s)"."""


def bench(
    paper: Annotated[
        bool, typer.Option("--paper", help="Only the paper's table for Cora and Actor, ours beside it.")
    ] = False,
    root: Annotated[
        Path, typer.Option(envvar="ANSGT_DATA", help="Folder with the raw data sets; never written to.")
    ] = Path("data"),
    cache_dir: Annotated[
        Path | None, typer.Option(help="Where processed files go (default: the user's cache).")
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(
            help="Nodes of generated power-law graphs for the growth of VN, e.g. 10000,80000,640000."
        ),
    ] = "",
    mean_degree: Annotated[float, typer.Option(help="Mean degree of the generated graphs.")] = 8.0,
    large_methods: Annotated[
        str, typer.Option(help="Methods run on the generated graphs.")
    ] = "vn,heavy-edge",
    quick: Annotated[bool, typer.Option("--quick", help="Cora only, without quality and peer.")] = False,
    repeats: Annotated[int, typer.Option(help="The fastest of this many runs counts.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Time the coarseners, against the paper, the reference implementation and Louvain."""
    from ansgt.datasets import load_graph

    def load(name: str) -> Any:
        return load_graph(name, root=root, cache_dir=cache_dir)

    if paper:
        return _paper_table(load, repeats)
    rows, ratios = _data_sets(load, ("cora",) if quick else _NAMES, quick, repeats)
    wanted = [int(size) for size in sizes.split(",") if size.strip()]
    more_rows, more_ratios = _growth(wanted, mean_degree, large_methods.split(","))
    return {"name": "coarsening", "rows": rows + more_rows, "ratios": {**ratios, **more_ratios}}


_NAMES = ("cora", "chameleon", "actor", "squirrel")
_METHODS = ("vn", "ve", "jc", "heavy-edge")


def _fit(graph: Any, method: str, rate: float, repeats: int) -> tuple[Any, float, float]:
    """The coarse graph, the fastest of `repeats` runs from nothing, and one with the subspace already there."""
    from ansgt.coarsening import resolve, warm_up
    from ansgt.coarsening.multilevel import forget

    coarsener = resolve(method, rate=rate)
    warm_up(coarsener)
    coarsener.fit(graph)
    shared = coarsener.fit(graph).seconds["total"]
    seconds = math.inf
    for _ in range(repeats):
        forget(graph)
        coarse = coarsener.fit(graph)
        seconds = min(seconds, coarse.seconds["total"])
    return coarse, seconds, shared


def _paper_table(load: Callable[[str], Any], repeats: int) -> dict[str, Any]:
    rows, ratios = [], {}
    graphs = {name: load(name) for name in ("cora", "actor")}
    for (name, method, rate), theirs in PAPER.items():
        coarse, seconds, _ = _fit(graphs[name], method, rate, repeats)
        rows.append(
            {
                "dataset": name,
                "method": method,
                "rate": rate,
                "seconds": seconds,
                "paper_seconds": theirs,
                "paper_over_ours": theirs / seconds,
                "num_supernodes": coarse.num_supernodes,
            }
        )
        ratios[f"paper / ansgt, {name} {method} {rate}"] = theirs / seconds
    return {"name": "coarsening", "rows": rows, "ratios": ratios}


def _data_sets(
    load: Callable[[str], Any], names: tuple[str, ...], quick: bool, repeats: int
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    from ansgt.coarsening.quality import quality

    rows: list[dict[str, Any]] = []
    ratios = {}
    for name in names:
        graph, vn = load(name), math.nan
        for method, rate in ((method, rate) for rate in (0.1, 0.5) for method in _METHODS):
            coarse, seconds, shared = _fit(graph, method, rate, repeats)
            theirs, reached, error = REFERENCE.get((name, method, rate), (None, None, None))
            rows.append(
                {
                    "dataset": name,
                    "method": method,
                    "rate": rate,
                    "seconds": seconds,
                    "seconds_shared": shared,
                    "reference_seconds": theirs,
                    "num_supernodes": coarse.num_supernodes,
                    "reference_supernodes": reached,
                    "eigenvalue_error": None if quick else quality(graph, coarse).eigenvalue_error,
                    "reference_error": error,
                }
            )
            vn = seconds if (method, rate) == ("vn", 0.1) else vn
            if theirs is not None:
                at = "" if rate == 0.1 else f" at {rate}"
                ratios[f"reference (stored) / ansgt, {name} {method}{at}"] = theirs / seconds
        if not quick:
            louvain = _louvain_seconds(graph)
            ratios[f"networkx Louvain / ansgt VN, {name}"] = louvain / vn
    return rows, ratios


def _louvain_seconds(graph: Any) -> float:
    import networkx as nx

    peer = nx.from_scipy_sparse_array(graph.adj)
    began = time.perf_counter()
    nx.community.louvain_communities(peer, seed=0)
    return time.perf_counter() - began


def _growth(
    sizes: list[int], mean_degree: float, methods: list[str]
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    from ansgt.bench.graphs import power_law_graph
    from ansgt.bench.measure import growth_exponent, peak_memory_gb
    from ansgt.coarsening import resolve, warm_up

    rows: list[dict[str, Any]] = []
    for method in methods if sizes else []:
        warm_up(resolve(method))
    for size in sizes:
        graph = power_law_graph(size, mean_degree)
        for method in methods:
            began = time.process_time()
            coarse = resolve(method, rate=0.1).fit(graph)
            spent = time.process_time() - began
            rows.append(
                {
                    "dataset": graph.name,
                    "method": method,
                    "rate": 0.1,
                    "seconds": coarse.seconds["total"],
                    "cpu_seconds": spent,
                    "num_nodes": size,
                    "num_edges": graph.num_edges,
                    "num_supernodes": coarse.num_supernodes,
                    "peak_gb": peak_memory_gb(),
                }
            )
    ratios = {}
    for method in methods if len(sizes) > 1 else []:
        for kind in ("seconds", "cpu_seconds"):
            times = [row[kind] for row in rows if row["method"] == method]
            ratios[f"growth exponent of {method}, {kind.replace('_', ' ')}"] = growth_exponent(sizes, times)
    return rows, ratios
