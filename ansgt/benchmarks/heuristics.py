"""`ansgt bench heuristics`: seconds, peak memory, recall and growth of the four heuristics, against PyG and scikit-learn.

Floors, n nodes, |E| edges, k candidates, p features: 1-hop reads 2|E| entries; 2-hop visits Σ deg² pairs once; a PPR push
makes at most 1 / (c eps) visits a node, 16 bytes each; exact KNN is 2 n² p flops, the inverted file about
2 n^1.5 p (cells + probes · members). JIT compilation is excluded by a warm-up on a small graph; generating the graph too.
"""

import time
from typing import Annotated, Any

import typer

NAMES = ("1-hop", "2-hop", "knn", "ppr")
PEER_EPS = 1e-4


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
    from ansgt.benchmarks.measure import growth_exponent, isolated, sizes_of

    wanted, ratios = sizes_of(sizes), {}
    rows = []
    for name in names.split(","):
        found = []
        for size in wanted:
            settings = (name, size, mean_degree, num_features, max_candidates, num_checked, seed)
            found.append(isolated(measure_fit, *settings))
        rows += found
        if len(wanted) > 1:
            seconds = [row["seconds"] for row in found]
            ratios[f"growth exponent, {name}"] = growth_exponent(wanted, seconds)
    if peer_size:
        peers = isolated(compare_with_peers, peer_size, mean_degree, num_features, max_candidates, seed)
        ratios |= {key: value for key, value in peers.items() if key != "peak_gb"}
    return {"name": "heuristics", "rows": rows, "ratios": ratios}


def make_graph(size: int, mean_degree: float, num_features: int, seed: int) -> Any:
    from ansgt.testing import power_law_graph

    return power_law_graph(size, mean_degree, num_features, seed)


def build(name: str, max_candidates: int) -> Any:
    """The heuristic as large graphs use it; PPR at one eps for all sizes, KNN with as many neighbours as candidates."""
    from ansgt.heuristics import KNN, PPR, resolve
    from ansgt.heuristics.ppr import default_eps

    if name == "knn":
        return KNN(k=max_candidates, max_candidates=max_candidates)
    if name == "ppr":
        return PPR(method="push", eps=default_eps(1 << 30), max_candidates=max_candidates)
    return resolve(name, max_candidates=max_candidates)


def measure_fit(
    name: str,
    size: int,
    mean_degree: float,
    num_features: int,
    max_candidates: int,
    num_checked: int,
    seed: int,
) -> dict[str, Any]:
    """Seconds of `fit`, and the recall of its rows against exact ones on a few nodes."""
    graph = make_graph(size, mean_degree, num_features if name == "knn" else 1, seed)
    warm_up(name, max_candidates)
    began = time.perf_counter()
    heuristic = build(name, max_candidates).fit(graph)
    seconds = time.perf_counter() - began
    row = {"heuristic": name, "num_nodes": size, "num_edges": graph.num_edges, "seconds": seconds}
    if num_checked and name in ("knn", "ppr"):
        row["recall"] = recall_on(graph, name, heuristic, min(num_checked, size), max_candidates, seed)
    return row


def warm_up(name: str, max_candidates: int) -> None:
    """Compiles (or loads) every kernel the heuristic may use."""
    import numpy as np

    from ansgt.heuristics.push import push_rows
    from ansgt.heuristics.square import square_top_k
    from ansgt.heuristics.topk import dense_top_k

    graph = make_graph(300, 6.0, 8, 0)
    if name == "ppr":
        push_rows(graph, np.arange(300), 0.15, 1e-3, 4)
    elif name == "2-hop":
        square_top_k(graph.adj, np.arange(300), 4)
    elif name == "knn":
        dense_top_k(graph.x.numpy(), np.arange(8), 4, compiled=True)


def recall_on(graph: Any, name: str, heuristic: Any, count: int, k: int, seed: int) -> float:
    """Share of the k largest exact entries that the heuristic's rows contain, over `count` random nodes."""
    import numpy as np

    from ansgt.heuristics import KNN, PPR
    from ansgt.heuristics.base import normalized_rows

    nodes = np.random.default_rng(seed).choice(graph.num_nodes, count, replace=False)
    exact = KNN(k=k, index="exact") if name == "knn" else PPR(method="exact")
    exact.graph_, exact.table_, exact._is_prepared = graph, None, False  # rows on demand, whatever the size
    found = heuristic.rows(nodes)
    hits = total = 0
    for start in range(0, count, 100):
        part = slice(start, start + 100)
        true = normalized_rows(exact.rows(nodes[part]), nodes[part], k)
        hits += true.astype(bool).multiply(found[part].astype(bool)).sum()
        total += true.nnz
    return float(hits / max(total, 1))


def compare_with_peers(
    size: int, mean_degree: float, num_features: int, max_candidates: int, seed: int
) -> dict[str, float]:
    """PyG's get_ppr and scikit-learn's brute-force neighbours on the same graph in the same process."""
    graph = make_graph(size, mean_degree, num_features, seed)
    return {**_against_pyg(graph, max_candidates, seed), **_against_sklearn(graph, max_candidates)}


def _against_pyg(graph: Any, k: int, seed: int) -> dict[str, float]:
    """Both at the same eps; PyG returns whole rows, of which we keep the k largest outside the clock."""
    import scipy.sparse as sp
    from torch_geometric.utils import get_ppr

    from ansgt.heuristics import PPR

    warm_up("ppr", k)
    get_ppr(make_graph(300, 6.0, 1, 0).edge_index, alpha=0.15, eps=1e-3)
    began = time.perf_counter()
    ours = PPR(method="push", eps=PEER_EPS, max_candidates=k).fit(graph)
    our_seconds = time.perf_counter() - began
    began = time.perf_counter()
    (row, col), weight = get_ppr(graph.edge_index, alpha=0.15, eps=PEER_EPS, num_nodes=graph.num_nodes)
    their_seconds = time.perf_counter() - began
    shape = (graph.num_nodes, graph.num_nodes)
    theirs = sp.csr_array(sp.coo_array((weight.numpy(), (row.numpy(), col.numpy())), shape=shape))
    count = min(500, graph.num_nodes)
    return {
        "PyG get_ppr / ansgt push, seconds": their_seconds / our_seconds,
        "ansgt push, seconds": our_seconds,
        "ansgt push, recall": recall_on(graph, "ppr", ours, count, k, seed),
        "PyG get_ppr, recall": recall_on(graph, "ppr", _Rows(theirs, k), count, k, seed),
    }


class _Rows:
    """A matrix with the `rows` of a heuristic."""

    def __init__(self, matrix: Any, k: int) -> None:
        self.matrix, self.k = matrix, k

    def rows(self, nodes: Any) -> Any:
        from ansgt.heuristics.base import normalized_rows

        return normalized_rows(self.matrix[nodes], nodes, self.k)


def _against_sklearn(graph: Any, k: int) -> dict[str, float]:
    from sklearn.neighbors import NearestNeighbors

    from ansgt.heuristics import KNN

    warm_up("knn", k)
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
