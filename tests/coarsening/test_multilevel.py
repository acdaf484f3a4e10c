import numpy as np
import scipy.linalg
from cases import two_cliques

from ansgt.coarsening import AlgebraicJC, VariationEdges, VariationNeighborhoods, multilevel
from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.graph import Graph
from ansgt.storage import DiskCache
from ansgt.testing import random_graph


def test_two_cliques_become_two_supernodes():
    for cls in (VariationNeighborhoods, VariationEdges):
        found = cls(num_supernodes=2).fit(two_cliques()).assignment
        assert found.tolist() == [0] * 8 + [1] * 8, cls.__name__


def test_test_vectors_have_unit_energy():
    graph = random_graph(300, 5.0)
    L = np.diag(graph.degree.astype(float)) - graph.adj.toarray()
    start = Contracted.from_graph(graph)
    coarsener = VariationNeighborhoods()
    vectors = coarsener.test_vectors(graph, start)
    np.testing.assert_allclose(np.diag(vectors.T @ L @ vectors), 1, atol=1e-6)


def test_next_vectors_have_unit_energy_and_the_same_span():
    start = Contracted.from_graph(random_graph(90))
    label, m = relabel(np.random.default_rng(0).integers(0, 30, 90))
    level = start.contract(label, m)
    before = np.random.default_rng(1).normal(size=(m, 3))
    after = VariationNeighborhoods().next_vectors(level, before)
    adj = np.zeros((m, m))
    adj[np.repeat(np.arange(m), np.diff(level.indptr)), level.indices] = level.weights
    L = np.diag(level.degree) - adj
    np.testing.assert_allclose(after.T @ L @ after, np.eye(3), atol=1e-9)
    assert scipy.linalg.subspace_angles(before, after).max() < 1e-6


def test_vanished_directions_are_dropped():
    level = Contracted.from_graph(random_graph(20, num_isolated=20))
    assert VariationNeighborhoods().next_vectors(level, np.zeros((20, 3))).shape == (20, 0)


def count_solves(monkeypatch):
    calls = []
    solve = multilevel.smallest_eigenpairs
    monkeypatch.setattr(multilevel, "smallest_eigenpairs", lambda *a, **k: calls.append(1) or solve(*a, **k))
    return calls


def test_one_solve_serves_all_methods_and_rates_of_one_width(monkeypatch):
    calls = count_solves(monkeypatch)
    graph = random_graph(150)
    for rate in (0.1, 0.3, 0.5):
        for cls in (VariationNeighborhoods, VariationEdges, AlgebraicJC):
            cls(rate=rate).fit(graph)
    assert len(calls) == 2, "0.1 and 0.3 share one, 0.5 has its own"
    multilevel.forget(graph)
    VariationEdges().fit(graph)
    assert len(calls) == 3


def test_the_disk_cache_is_keyed_by_the_edges(monkeypatch, tmp_path):
    calls = count_solves(monkeypatch)
    cache = DiskCache(tmp_path)
    found = [VariationNeighborhoods(cache=cache).fit(random_graph(90)).assignment for _ in range(2)]
    assert len(calls) == 1
    np.testing.assert_array_equal(*found)
    graph = random_graph(90)
    row, col = graph.edge_index
    fewer = Graph.from_arrays(graph.x, graph.edge_index[:, (row != row[0]) & (col != row[0])])
    VariationNeighborhoods(cache=cache).fit(fewer)
    assert len(calls) == 2


def test_cached_and_fresh_agree(tmp_path):
    graph = random_graph(120)
    fresh = VariationNeighborhoods().fit(graph).assignment
    multilevel.forget(graph)
    cached = VariationNeighborhoods(cache=DiskCache(tmp_path)).fit(graph).assignment
    np.testing.assert_array_equal(fresh, cached)


def test_a_mild_rate_is_of_the_whole_graph_and_widens_the_subspace():
    graph = random_graph(400, 4.0)
    assert [VariationEdges(rate=rate).is_mild(400) for rate in (0.1, 0.3, 0.31)] == [False, False, True]
    assert VariationEdges(num_supernodes=200).is_mild(400)
    assert not VariationEdges(num_supernodes=200).is_mild(4000)
    widths = {}
    for rate in (0.1, 0.5):
        coarsener = VariationNeighborhoods(rate=rate)
        widths[rate] = coarsener.test_vectors(graph, Contracted.from_graph(graph)).shape[1]
    assert widths == {0.1: 10, 0.5: 20}
