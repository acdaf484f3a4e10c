import itertools

import numpy as np
import scipy.sparse.csgraph

from ansgt.coarsening.contraction import (
    Contracted,
    apply_laplacian,
    coarse_adjacency,
    connected_components,
    contract_csr,
    group_by_cluster,
    relabel,
)
from ansgt.testing import path_graph, random_graph


def dense(indptr, indices, weights, m):
    out = np.zeros((m, m))
    for i in range(m):
        for e in range(indptr[i], indptr[i + 1]):
            out[i, indices[e]] += weights[e]
    return out


def test_contract_csr_equals_the_product():
    graph = random_graph(40)
    label = np.random.default_rng(0).integers(0, 7, 40)
    label, m = relabel(label)
    one_hot = np.eye(m)[label]
    expected = one_hot.T @ graph.adj.toarray() @ one_hot
    start = Contracted.from_graph(graph)
    np.testing.assert_array_equal(dense(*contract_csr(start.csr, label, m, True), m), expected)
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(dense(*contract_csr(start.csr, label, m, False), m), expected)


def test_contracting_a_path():
    level = Contracted.from_graph(path_graph(5)).contract(np.array([0, 0, 1, 2, 2]), 3)
    assert level.size.tolist() == [2, 1, 2]
    assert level.degree.tolist() == [1, 2, 1]
    assert (level.num_components, level.component.tolist()) == (1, [0, 0, 0])
    row, col, once = level.edges()
    assert list(zip(row.tolist(), col.tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert level.weights[once].tolist() == [1, 1]


def test_average_is_weighted_by_size():
    level = Contracted.from_graph(path_graph(3)).contract(np.array([0, 0, 1]), 2)
    mean = level.average(np.array([[3.0], [0.0]]), np.array([0, 0]), 1)
    assert mean.tolist() == [[2.0]]


def test_joining_components():
    start = Contracted.from_graph(random_graph(20, num_isolated=4))
    joined = start.contract(*relabel(np.where(np.arange(20) >= 16, 16, np.arange(20))))
    assert joined.num_components == start.num_components - 3


def test_labels_are_numbered_as_they_come():
    for given, expected, count in (([], [], 0), ([0], [0], 1), ([4, 0, 4, 2, 0], [0, 1, 0, 2, 1], 3)):
        found, number = relabel(np.array(given, dtype=np.int64))
        assert (found.tolist(), number) == (expected, count)


def test_group_by_cluster():
    pointer, nodes = group_by_cluster(np.array([1, 0, 1, 2]), 3)
    assert pointer.tolist() == [0, 1, 3, 4]
    assert nodes.tolist() == [1, 0, 2, 3]


def test_components_equal_scipys():
    for graph in (random_graph(200, 1.5), random_graph(30, num_isolated=30), path_graph(5)):
        found, count = connected_components(graph.indptr, graph.indices)
        expected, expected_component = scipy.sparse.csgraph.connected_components(graph.adj, directed=False)
        assert count == expected
        np.testing.assert_array_equal(found, relabel(expected_component)[0])


def test_coarse_adjacency_has_sorted_columns():
    graph = random_graph(90)
    label, m = relabel(np.random.default_rng(3).integers(0, 40, 90))
    adj = coarse_adjacency(Contracted.from_graph(graph), label, m)
    assert all(np.all(np.diff(adj.indices[a:b]) > 0) for a, b in itertools.pairwise(adj.indptr))


def test_laplacian_times_equals_the_product():
    label, m = relabel(np.random.default_rng(0).integers(0, 15, 40))
    level = Contracted.from_graph(random_graph(40)).contract(label, m)
    weights = dense(*level.csr, m)
    block = np.random.default_rng(1).normal(size=(m, 3))
    expected = (np.diag(weights.sum(axis=1)) - weights) @ block
    np.testing.assert_allclose(level.laplacian_times(block), expected, atol=1e-12)


def test_only_the_columns_asked_for_are_multiplied():
    level = Contracted.from_graph(path_graph(4))
    scale, block, out = np.array([1.0, 2.0, 1.0, 1.0]), np.eye(4), np.full((4, 4), 9.0)
    apply_laplacian(level.laplacian(scale), block, out, 1, 3)
    assert out.tolist() == [[9, -2, 0, 9], [9, 8, -2, 9], [9, -2, 2, 9], [9, 0, -1, 9]]
