"""`ansgt bench heuristics`: seconds, peak memory, recall and growth of the four heuristics, against PyG and scikit-learn.

Lower bounds of the work, for n nodes, |E| edges, k candidates, p features: 1-hop reads 2|E| entries; 2-hop visits Σ deg²
pairs once; a PPR push makes at most 1 / (c eps) visits per node, 16 bytes each; exact KNN takes 2 n² p flops, an inverted
file about 2 n^1.5 p (cells + probes · members), a scan of 4-bit codes n² p / 4 bytes. Neither
compilation (a warm-up on a small graph precedes) nor generating the graph is in the times.
"""

import time
from typing import Annotated, Any, NamedTuple

import typer

NAMES = ("1-hop", "2-hop", "knn", "ppr")
PEER_EPS = 1e-4


class Case(NamedTuple):
    """What every graph and heuristic of a benchmark has in common."""

    mean_degree: float = 8.0
    num_features: int = 128
    max_candidates: int = 64
    num_checked: int = 500
    """Nodes whose exact rows give the recall."""
    seed: int = 0


def bench(
    sizes: Annotated[
        str, typer.Option(help="Nodes of the generated power-law graphs.")
    ] = "5000,20000,80000,320000",
    names: Annotated[str, typer.Option(help="Which heuristics.")] = ",".join(NAMES),
    mean_degree: Annotated[float, typer.Option(help="Mean degree of the generated graphs.")] = 8.0,
    num_features: Annotated[int, typer.Option(help="Features of a node.")] = 128,
    max_candidates: Annotated[int, typer.Option(help="Candidates kept per node and heuristic.")] = 64,
    num_checked: Annotated[int, typer.Option(help="Nodes whose exact rows give the recall; 0: none.")] = 500,
    peer_size: Annotated[int, typer.Option(help="Nodes of the comparison with the peers; 0: none.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the graphs.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Time the heuristics: growth over graph sizes, recall, ratios against PyG's get_ppr and scikit-learn."""
    from ansgt.bench.measure import growth_exponent, isolated, sizes_of

    case = Case(mean_degree, num_features, max_candidates, num_checked, seed)
    wanted, ratios = sizes_of(sizes), {}
    rows = []
    for name in names.split(","):
        found = [isolated(measure_fit, name, size, case) for size in wanted]
        rows += found
        if len(wanted) > 1:
            seconds = [row["seconds"] for row in found]
            ratios[f"growth exponent, {name}"] = growth_exponent(wanted, seconds)
    if peer_size:
        peers = isolated(compare_with_peers, peer_size, case)
        ratios |= {key: value for key, value in peers.items() if key != "peak_gb"}
    return {"name": "heuristics", "rows": rows, "ratios": ratios}


def build(name: str, max_candidates: int) -> Any:
    """The heuristic as large graphs use it; PPR at one eps for all sizes, KNN with as many neighbours as candidates."""
    from ansgt.heuristics import KNN, PPR, resolve
    from ansgt.heuristics.ppr import default_eps

    if name == "knn":
        return KNN(k=max_candidates, max_candidates=max_candidates)
    if name == "ppr":
        return PPR(method="push", eps=default_eps(1 << 30), max_candidates=max_candidates)
    return resolve(name, max_candidates=max_candidates)


def measure_fit(name: str, size: int, case: Case) -> dict[str, Any]:
    """Seconds and peak memory of `fit`, and the recall of its rows against exact ones on a few nodes."""
    from ansgt.bench.graphs import power_law_graph
    from ansgt.bench.measure import peak_memory_gb

    graph = power_law_graph(size, case.mean_degree, case.num_features if name == "knn" else 1, case.seed)
    warm_up(name)
    began = time.perf_counter()
    heuristic = build(name, case.max_candidates).fit(graph)
    seconds = time.perf_counter() - began
    row = {"heuristic": name, "num_nodes": size, "num_edges": graph.num_edges, "seconds": seconds}
    row["peak_gb"] = peak_memory_gb()
    if case.num_checked and name in ("knn", "ppr"):
        row["recall"] = recall_on(graph, name, heuristic, case)
    return row


def warm_up(name: str) -> None:
    """Compiles (or loads) every kernel the heuristic may use."""
    import numpy as np

    from ansgt.bench.graphs import power_law_graph
    from ansgt.heuristics.hops import square
    from ansgt.heuristics.push import ordered, push_rows
    from ansgt.heuristics.rows import dense_top_k

    graph = power_law_graph(300, 6.0, 8)
    if name == "ppr":
        push_rows(ordered(graph), np.arange(300), 0.15, 1e-3, 4)
    elif name == "2-hop":
        square(graph.adj).top_rows(np.arange(300), 4)
    elif name == "knn":
        dense_top_k(graph.x.numpy(), np.arange(8), 4, compiled=True)


def recall_on(graph: Any, name: str, heuristic: Any, case: Case) -> float:
    """Share of the k largest exact entries that the heuristic's rows contain, over some random nodes."""
    import numpy as np

    from ansgt.heuristics import KNN, PPR
    from ansgt.heuristics.rows import normalized_rows

    k, count = case.max_candidates, min(case.num_checked, graph.num_nodes)
    nodes = np.random.default_rng(case.seed).choice(graph.num_nodes, count, replace=False)
    exact = (KNN(k=k, index="exact") if name == "knn" else PPR(method="exact")).fit(graph)
    found = heuristic.rows(nodes)
    hits = total = 0
    for start in range(0, count, 100):
        part = slice(start, start + 100)
        true = normalized_rows(exact.rows(nodes[part]), nodes[part], k)
        hits += true.astype(bool).multiply(found[part].astype(bool)).sum()
        total += true.nnz
    return float(hits / max(total, 1))


def compare_with_peers(size: int, case: Case) -> dict[str, float]:
    """PyG's get_ppr and scikit-learn's brute-force neighbours on the same graph in the same process."""
    from ansgt.bench.graphs import power_law_graph

    graph = power_law_graph(size, case.mean_degree, case.num_features, case.seed)
    return {**against_pyg(graph, case), **against_sklearn(graph, case.max_candidates)}


def against_pyg(graph: Any, case: Case) -> dict[str, float]:
    """Both at the same eps; PyG returns whole rows, of which we keep the k largest outside the clock."""
    import scipy.sparse as sp
    from torch_geometric.utils import get_ppr

    from ansgt.bench.graphs import power_law_graph
    from ansgt.heuristics import PPR

    k = case.max_candidates
    warm_up("ppr")
    get_ppr(power_law_graph(300, 6.0, 1).edge_index, alpha=0.15, eps=1e-3)
    began = time.perf_counter()
    ours = PPR(method="push", eps=PEER_EPS, max_candidates=k).fit(graph)
    our_seconds = time.perf_counter() - began
    began = time.perf_counter()
    (row, col), weight = get_ppr(graph.edge_index, alpha=0.15, eps=PEER_EPS, num_nodes=graph.num_nodes)
    their_seconds = time.perf_counter() - began
    shape = (graph.num_nodes, graph.num_nodes)
    theirs = sp.csr_array(sp.coo_array((weight.numpy(), (row.numpy(), col.numpy())), shape=shape))
    return {
        "PyG get_ppr / ansgt push, seconds": their_seconds / our_seconds,
        "ansgt push, seconds": our_seconds,
        "ansgt push, recall": recall_on(graph, "ppr", ours, case),
        "PyG get_ppr, recall": recall_on(graph, "ppr", _Rows(theirs, k), case),
    }


class _Rows:
    """A matrix with the `rows` of a heuristic."""

    def __init__(self, matrix: Any, k: int) -> None:
        self.matrix, self.k = matrix, k

    def rows(self, nodes: Any) -> Any:
        from ansgt.heuristics.rows import normalized_rows

        return normalized_rows(self.matrix[nodes], nodes, self.k)


def against_sklearn(graph: Any, k: int) -> dict[str, float]:
    """Exact nearest neighbours by cosine, by brute force on two threads."""
    from sklearn.neighbors import NearestNeighbors

    from ansgt.heuristics import KNN

    warm_up("knn")
    began = time.perf_counter()
    KNN(k=k, max_candidates=k).fit(graph)
    our_seconds = time.perf_counter() - began
    began = time.perf_counter()
    peer = NearestNeighbors(n_neighbors=k + 1, algorithm="brute", metric="cosine", n_jobs=2)
    peer.fit(graph.x.numpy()).kneighbors(graph.x.numpy())
    their_seconds = time.perf_counter() - began
    return {
        "scikit-learn brute / ansgt KNN, seconds": their_seconds / our_seconds,
        "ansgt KNN, seconds": our_seconds,
    }
