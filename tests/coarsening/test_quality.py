"""Quality against its dense definition; what every coarsener reaches on the real data sets."""

import numpy as np
import pytest

from ansgt.coarsening import HeavyEdge, VariationNeighborhoods, resolve
from ansgt.coarsening.quality import label_purity, quality
from ansgt.datasets import load_graph
from ansgt.graph import Graph
from ansgt.storage import DiskCache
from ansgt.testing import check_coarse, random_graph


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


def test_sizes_and_purity_by_their_definitions():
    graph = random_graph(200, 5.0)
    coarse = VariationNeighborhoods(rate=0.3).fit(graph)
    found = quality(graph, coarse)
    assert (found.eigenvalues_compared, found.subspace_dim) == (40, 10)
    sizes = np.bincount(coarse.assignment)
    assert (found.size_mean, found.size_std) == pytest.approx((200 / 60, sizes.std()))
    assert (found.size_max, found.singletons) == (sizes.max(), (sizes == 1).sum())
    y = graph.y.numpy()
    best = sum(np.bincount(y[coarse.assignment == cluster]).max() for cluster in range(60))
    assert found.purity == pytest.approx(best / 200)
    assert found.asdict()["largest_share"] == sizes.max() / 200


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


BOUNDS = {
    "cora": {"vn": 2.2, "jc": 2.3},
    "chameleon": {"vn": 0.75, "jc": 1.4},
    "actor": {"vn": 0.90, "jc": 1.15},
    "squirrel": {"vn": 0.98, "jc": 0.8},
}


@pytest.mark.parametrize("name", ["cora", "citeseer", "actor", "chameleon", "squirrel", "texas"])
def test_every_rate_is_reached(name, root, cache_dir):
    graph = load_graph(name, root=root, cache_dir=cache_dir)
    for method in ("vn", "ve", "jc"):
        for rate in (0.01, 0.05, 0.1, 0.5):
            coarse = resolve(method, rate=rate).fit(graph)
            assert coarse.num_supernodes == int(np.ceil(rate * graph.num_nodes)), (method, rate)
            assert coarse.reason is None
            again = resolve(method, rate=rate).fit(graph)
            np.testing.assert_array_equal(coarse.assignment, again.assignment)
        if graph.num_nodes < 3000:
            check_coarse(graph, coarse)


@pytest.mark.parametrize("name", ["cora", "chameleon"])
def test_quality_is_not_below_the_reference(name, root, cache_dir):
    graph = load_graph(name, root=root, cache_dir=cache_dir)
    for method, bound in BOUNDS[name].items():
        assert quality(graph, resolve(method, rate=0.1).fit(graph)).eigenvalue_error <= bound, method


HALF = {"cora": {"vn": 0.127, "jc": 0.103}, "chameleon": {"vn": 0.021, "jc": 0.33}}
"""Errors of loukasa/graph-coarsening at rate 0.5, from dense eigenvalues."""


@pytest.mark.parametrize("name", HALF)
def test_half_of_the_nodes_keep_the_spectrum_as_well_as_the_reference(name, root, cache_dir):
    graph = load_graph(name, root=root, cache_dir=cache_dir)
    for method, reference in HALF[name].items():
        coarse = resolve(method, rate=0.5).fit(graph)
        assert coarse.num_supernodes == -(-graph.num_nodes // 2)
        found = quality(graph, coarse, cache=DiskCache(cache_dir))
        assert found.eigenvalue_error <= 1.1 * reference, method


def test_cora_at_the_papers_rate(root, cache_dir):
    graph = load_graph("cora", root=root, cache_dir=cache_dir)
    coarse = resolve("vn", rate=0.01).fit(graph)
    assert coarse.num_supernodes in (27, 28)
    assert coarse.num_components == 78
    assert coarse.largest_share <= 0.4
