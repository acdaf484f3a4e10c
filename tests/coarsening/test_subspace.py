import numpy as np

from ansgt.coarsening import AlgebraicJC, VariationEdges, VariationNeighborhoods
from ansgt.coarsening import subspace as module
from ansgt.graph import Graph
from ansgt.storage import DiskCache
from ansgt.testing import random_graph


def count_solves(monkeypatch):
    calls = []
    solve = module.smallest_eigenpairs
    monkeypatch.setattr(module, "smallest_eigenpairs", lambda *a, **k: calls.append(1) or solve(*a, **k))
    return calls


def test_one_solve_serves_all_rates_and_methods(monkeypatch):
    calls = count_solves(monkeypatch)
    graph = random_graph(150)
    for rate in (0.1, 0.3, 0.5):
        for cls in (VariationNeighborhoods, VariationEdges, AlgebraicJC):
            cls(rate=rate).fit(graph)
    assert len(calls) == 1
    module.forget(graph)
    VariationEdges().fit(graph)
    assert len(calls) == 2


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
    module.forget(graph)
    cached = VariationNeighborhoods(cache=DiskCache(tmp_path)).fit(graph).assignment
    np.testing.assert_array_equal(fresh, cached)
