"""1-hop and 2-hop rows by hand and against the dense reference; rows of a square without the square."""

import numpy as np
import pytest
from cases import dense_rows

from ansgt.datasets import load_graph
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, KNN, OneHop, TwoHop, resolve
from ansgt.heuristics.hops import square
from ansgt.linalg import gcn_norm
from ansgt.testing import path_graph, power_law_graph, random_graph, star_graph


def test_one_hop_on_a_path() -> None:
    # degrees with self-loops 2, 3, 3, 2: weights 1/sqrt(2*3) and 1/3 for node 1
    left, right = 1 / np.sqrt(6), 1 / 3
    expected = np.array([[0, 1, 0, 0], [left / (left + right), 0, right / (left + right), 0]])
    np.testing.assert_allclose(
        OneHop().fit(path_graph()).rows(np.array([0, 1])).toarray(), expected, atol=1e-7
    )


def test_two_hop_on_a_path() -> None:
    # Ã² [0, 1] = (1/2 + 1/3) / sqrt(6), Ã² [0, 2] = 1 / (3 sqrt(6))
    near, far = (1 / 2 + 1 / 3) / np.sqrt(6), 1 / np.sqrt(6) / 3
    expected = np.array([[0, near, far, 0]]) / (near + far)
    np.testing.assert_allclose(TwoHop().fit(path_graph()).rows(np.array([0])).toarray(), expected, atol=1e-7)


@pytest.mark.parametrize("data", ["cora", "chameleon", "texas"])
@pytest.mark.parametrize("name", list(HEURISTICS))
def test_rows_equal_the_dense_reference(data: str, name: str, root, cache_dir) -> None:
    graph = load_graph(data, root=root, cache_dir=cache_dir)
    heuristic = KNN(k=None) if name == "knn" else resolve(name)
    rows = heuristic.fit(graph).rows(np.arange(graph.num_nodes)).toarray()
    assert np.abs(rows - dense_rows(name, graph)).max() < 1e-6


def test_equals_the_square() -> None:
    graph = random_graph(num_nodes=80, num_isolated=2)
    matrix = gcn_norm(graph)
    full = (matrix @ matrix).toarray()
    np.fill_diagonal(full, 0)
    everything = square(matrix).top_rows(np.arange(80), 80).toarray()
    np.testing.assert_allclose(everything, full, atol=1e-7)
    for row, kept in zip(full, square(matrix).top_rows(np.arange(80), 5).toarray(), strict=True):
        np.testing.assert_allclose(np.sort(kept)[-5:], np.sort(row)[-5:], atol=1e-7)


def test_two_hop_uses_it_on_large_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_nodes=300)
    small = TwoHop(max_candidates=7).fit(graph).rows(np.arange(300))
    for module in ("base", "hops"):
        monkeypatch.setattr(f"ansgt.heuristics.{module}.SMALL", 10)
    large = TwoHop(max_candidates=7).fit(graph).rows(np.arange(300))
    sums = [np.sort(r.toarray(), axis=1) for r in (small, large)]  # ties may fall differently
    np.testing.assert_allclose(*sums, atol=1e-6)


def test_breadth_leaves_out_the_largest_neighbours_of_a_hub() -> None:
    edges = [(0, leaf) for leaf in range(1, 6)] + [(5, 6), (5, 7), (4, 6)]  # node 0 has five neighbours
    graph = Graph.from_arrays(np.ones((8, 1)), np.array(edges).T)
    matrix = gcn_norm(graph)
    kept = matrix.toarray()
    kept[0, [0, 4, 5]] = (
        0  # of the six entries of row 0 the three smallest: itself, and two nodes of higher degree
    )
    kept[5, 0] = 0
    expected = matrix.toarray() @ kept
    np.fill_diagonal(expected, 0)
    found = square(matrix, breadth=3).top_rows(np.arange(8), 8).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_rows_of_a_star() -> None:
    graph = star_graph(20_001)
    rows = TwoHop(max_candidates=8).fit(graph).rows(np.array([0, 1, 15_000]))
    assert np.diff(rows.indptr).tolist() == [8, 8, 8]
    assert rows[[1]].indices.tolist() == [0, 2, 3, 4, 5, 6, 7, 8]  # ties go to the smaller node
    hub = 20_002  # its degree with the self-loop; Ã[hub, hub] = 1 / hub is not among the entries that count
    exact = np.array([1 / np.sqrt(2 * hub) * (1 / 2 + 1 / hub), *[1 / (2 * hub)] * 7])
    np.testing.assert_allclose(rows[[1]].data, exact / exact.sum(), rtol=1e-4)


def test_a_dense_graph_gives_the_same_by_a_dense_product(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_nodes=40)
    sparse = TwoHop().fit(graph).rows(np.arange(40)).toarray()
    monkeypatch.setattr("ansgt.heuristics.hops._DENSE", 0)
    dense = TwoHop().fit(graph)
    assert dense._fills_up
    np.testing.assert_allclose(dense.rows(np.arange(40)).toarray(), sparse, atol=1e-7)


def test_the_error_at_hubs_is_measured() -> None:
    graph = power_law_graph(6500, num_features=1)
    assert TwoHop(max_candidates=400).fit(random_graph()).measured() == {}
    heuristic = TwoHop(max_candidates=8)
    heuristic.attach(graph)
    assert heuristic.measured() == {}, "no node has more than 512 neighbours"
    hub = star_graph(7000)
    facts = TwoHop(max_candidates=8).fit(hub).measured()
    assert facts == {"recall": pytest.approx(1.0, abs=0.01), "l1": pytest.approx(0, abs=0.01), "nodes": 500}


def test_through_how_many_neighbours_of_a_hub_a_row_goes() -> None:
    assert [TwoHop(bound)._breadth for bound in (None, 5, 256, 300)] == [512, 512, 512, 600]
