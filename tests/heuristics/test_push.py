import numba
import numpy as np
import pytest
from cases import dense_ppr

from ansgt.datasets import load_graph
from ansgt.graph import Graph
from ansgt.heuristics.ppr import _exact_rows, default_eps
from ansgt.heuristics.push import _by_falling_degree, ordered, push_rows
from ansgt.testing import power_law_graph, random_graph


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-5])
def test_error_bound(eps: float) -> None:
    """|pi - estimate|_1 <= 2 (1-c) R, and R obeys its own bound."""
    graph = power_law_graph(400, mean_degree=6)
    linked = np.flatnonzero(graph.degree > 0)
    rows, residual = push_rows(graph, linked, 0.15, eps)
    exact = dense_ppr(graph)[linked]
    estimate = rows.toarray()
    off = np.ones_like(exact, dtype=bool)
    off[np.arange(len(linked)), linked] = False  # the estimate leaves self out
    error = np.abs(estimate - exact)[off].reshape(len(linked), -1).sum(axis=1)
    assert np.all(error <= 2 * 0.85 * residual + 1e-5)
    assert np.all(residual <= eps * graph.degree.sum())
    assert error.mean() < 0.85 * residual.mean()  # placing the remainder beats dropping it


def pushed_by_hand(graph: Graph, source: int, restart: float, eps: float) -> tuple[np.ndarray, float]:
    """The estimate of the module's first lines, node by node, and R; first in, first out."""
    known = ordered(graph)
    n, degree = graph.num_nodes, np.diff(known.indptr)
    p, r = np.zeros(n), np.zeros(n)
    start = int(known.rank[source])
    queue, touched = [start], {start}
    r[start] = 1.0
    while queue:
        node = queue.pop(0)
        share, p[node] = r[node], p[node] + restart * r[node]
        r[node] = 0.0
        for other in known.indices[known.indptr[node] : known.indptr[node + 1]].tolist():
            waits = r[other] > eps * degree[other]
            r[other] += (1 - restart) * share / degree[node]
            touched.add(other)
            if r[other] > eps * degree[other] and not waits:
                queue.append(other)
    inside = known.component == known.component[start]
    far = (1 - restart) * r.sum() * degree / max(degree[inside].sum(), 1)
    reached = [v for v in range(n) if inside[v] and (v in touched or v < 256) and v != start]
    found = np.zeros(n)
    found[known.order[reached]] = (p + restart * r + far)[reached]
    return found, float(r.sum())


@pytest.mark.parametrize("eps", [1e-1, 3e-3, 1e-4])
@pytest.mark.parametrize(
    "graph", [power_law_graph(400, mean_degree=6), random_graph(80, 1.5, num_isolated=3)]
)
def test_every_row_is_as_by_hand(graph: Graph, eps: float) -> None:
    nodes = np.array([0, 7, 7, 31, graph.num_nodes - 1])
    rows, residual = push_rows(graph, nodes, 0.2, eps)
    expected = [pushed_by_hand(graph, int(node), 0.2, eps) for node in nodes]
    np.testing.assert_allclose(rows.toarray(), [row for row, _ in expected], atol=2e-6)
    np.testing.assert_allclose(residual, [left for _, left in expected], atol=2e-6)
    assert rows.has_sorted_indices
    for node, row in zip(nodes, rows.toarray(), strict=True):
        few = push_rows(graph, np.array([node]), 0.2, eps, k=4)[0].toarray()[0]
        best = np.lexsort((np.arange(len(row)), -row))[:4]
        assert set(np.flatnonzero(few)) <= set(np.flatnonzero(row))
        np.testing.assert_allclose(np.sort(few)[-4:], np.sort(row[best]), atol=1e-7)


@pytest.mark.parametrize("data", ["cora", "pubmed"])
def test_recall_at_the_default_setting(data: str, root, cache_dir) -> None:
    graph = load_graph(data, root=root, cache_dir=cache_dir)
    nodes = np.random.default_rng(0).choice(graph.num_nodes, 100, replace=False)
    eps = default_eps(graph.num_nodes)
    exact = _exact_rows(graph, nodes, 0.15).toarray()
    exact[np.arange(100), nodes] = 0
    push, _ = push_rows(graph, nodes, 0.15, eps, k=64)
    assert recall(push.toarray(), exact) >= 0.97
    complete, residual = push_rows(graph, nodes, 0.15, eps)
    error = np.abs(complete.toarray() - exact).sum(axis=1)
    assert np.all(error <= 2 * 0.85 * residual + 1e-4)


def recall(found: np.ndarray, exact: np.ndarray, k: int = 64) -> float:
    """Share of the k best others that were found; ties at the k-th place count as found."""
    shares = []
    for got, true in zip(found, exact, strict=True):
        kth = np.sort(true)[-k]
        hits = np.sum((got > 0) & (true >= kth * (1 - 1e-9)) & (true > 0))
        shares.append(min(hits, k) / max(min(k, np.sum(true > 0)), 1))
    return float(np.mean(shares))


def test_any_number_of_threads() -> None:
    graph = random_graph(num_nodes=600)
    one, two = (_with_threads(count, graph) for count in (1, 2))
    np.testing.assert_array_equal(one, two)


def _with_threads(count: int, graph) -> np.ndarray:
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        return push_rows(graph, np.arange(600), 0.15, 1e-4, k=8)[0].toarray()
    finally:
        numba.set_num_threads(before)


def test_isolated_node_keeps_nothing() -> None:
    graph = random_graph(num_isolated=1)
    rows, residual = push_rows(graph, np.array([59]), 0.15, 1e-4)
    assert rows.toarray().sum() == 0
    assert residual[0] == 0


def test_nodes_by_falling_degree_are_a_stable_sort() -> None:
    degree = np.array([0, 3, 1, 0, 3, 2, 1])
    assert _by_falling_degree(degree).tolist() == np.argsort(-degree, kind="stable").tolist()
