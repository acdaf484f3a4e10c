import numpy as np
import pytest

from ansgt.coarsening import HeavyEdge, VariationNeighborhoods
from ansgt.coarsening.quality import label_purity, quality
from ansgt.graph import Graph
from ansgt.storage import DiskCache
from ansgt.testing import random_graph


def dense_quality(graph, coarse, k, dim):
    L = np.diag(graph.degree.astype(float)) - graph.adj.toarray()
    P = coarse.P.toarray()
    values, vectors = np.linalg.eigh(L)
    fine = values > 1e-9
    coarse_values = np.linalg.eigvalsh(P.T @ L @ P)
    coarse_values = coarse_values[coarse_values > 1e-9]
    k = min(k, fine.sum(), len(coarse_values))
    error = np.mean(np.abs(coarse_values[:k] - values[fine][:k]) / values[fine][:k])
    A = vectors[:, fine][:, :dim] / np.sqrt(values[fine][:dim])
    lost = A - P @ (P.T @ A)
    return error, k, np.sqrt(np.linalg.eigvalsh(lost.T @ L @ lost)[-1])


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_equals_the_dense_definitions(rate):
    graph = random_graph(200, 5.0, num_isolated=12)
    coarse = VariationNeighborhoods(rate=rate).fit(graph)
    found = quality(graph, coarse, k=15, subspace_dim=4)
    error, k, epsilon = dense_quality(graph, coarse, 15, 4)
    assert found.eigenvalues_compared == k
    np.testing.assert_allclose(found.eigenvalue_error, error, rtol=1e-6)
    np.testing.assert_allclose(found.subspace_error, epsilon, rtol=1e-6)


def test_nothing_merged_nothing_lost():
    graph = random_graph(80)
    found = quality(graph, VariationNeighborhoods(rate=1.0).fit(graph))
    assert found.eigenvalue_error < 1e-9
    assert found.subspace_error < 1e-6
    assert (found.singletons, found.size_max, found.purity) == (80, 1, 1.0)


def test_variation_beats_heavy_edges():
    graph = random_graph(500, 4.0)
    ours, simple = (quality(graph, c.fit(graph)) for c in (VariationNeighborhoods(), HeavyEdge()))
    assert ours.eigenvalue_error < simple.eigenvalue_error


def test_without_edges_or_labels():
    graph = Graph.from_arrays(np.ones((6, 2), dtype=np.float32), np.zeros((2, 0), dtype=np.int64))
    found = quality(graph, VariationNeighborhoods(rate=0.5).fit(graph))
    assert (found.eigenvalue_error, found.eigenvalues_compared, found.subspace_error) == (0.0, 0, 0.0)
    assert found.purity is None
    assert label_purity(np.array([0, 0, 1]), np.array([-1, -1, -1])) is None


def test_the_spectrum_is_cached(tmp_path):
    graph = random_graph(60)
    coarse = VariationNeighborhoods(rate=0.5).fit(graph)
    one, two = (quality(graph, coarse, cache=DiskCache(tmp_path)) for _ in range(2))
    assert one == two
    assert len(list(tmp_path.rglob("*.npz"))) == 1
