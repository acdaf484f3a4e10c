import numpy as np
import pytest

from ansgt.coarsening import AlgebraicJC
from ansgt.coarsening.algebraic import jacobi_sweep
from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.coarsening.matching import Limits
from ansgt.testing import path_graph, random_graph


def weights_of(level: Contracted) -> np.ndarray:
    """The weights between clusters [m, m], and so densely."""
    row = np.repeat(np.arange(level.num_nodes), np.diff(level.indptr))
    dense = np.zeros((level.num_nodes, level.num_nodes))
    dense[row, level.indices] = level.weights
    return dense


def uneven_level() -> Contracted:
    """Clusters of several sizes, joined by edges of several weights."""
    graph = random_graph(90, num_isolated=2)
    label = np.r_[np.random.default_rng(0).integers(0, 70, 88) ** 2 // 70, 88, 89]
    return Contracted.from_graph(graph).contract(*relabel(label))


def test_a_sweep_equals_the_matrix_form():
    for level in (uneven_level(), Contracted.from_graph(random_graph(50, num_isolated=5))):
        x = np.random.default_rng(0).normal(size=(level.num_nodes, 3))
        degree = level.degree[:, None]
        expected = np.where(degree > 0, (x + weights_of(level) @ x / np.maximum(degree, 1)) / 2, x)
        np.testing.assert_allclose(jacobi_sweep(level.csr, level.degree, x), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "sweeps"), [({}, 20), ({"rate": 0.31}, 30), ({"sweeps": 3, "num_vectors": 4}, 3)]
)
def test_relaxed_vectors_by_their_definition(settings, sweeps):
    graph = random_graph(40, 3.0, num_isolated=4)
    start = Contracted.from_graph(graph)
    found = AlgebraicJC(seed=5, **settings).test_vectors(graph, start)
    x = np.random.default_rng((5, 40)).random((40, settings.get("num_vectors", 10)))
    for _ in range(sweeps):
        x = jacobi_sweep(start.csr, start.degree, x)
    for c in range(start.num_components):
        x[start.component == c] -= x[start.component == c].mean(axis=0)
    np.testing.assert_allclose(found, x / np.abs(x).max(axis=0), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_edges_are_matched_by_their_cost(seed):
    """ρ² min(d_i, d_j) sqrt(s_i s_j / (s_i + s_j)), edge by edge."""
    level = uneven_level()
    vectors = np.random.default_rng(seed).normal(size=(level.num_nodes, 3))
    weights, d, s = weights_of(level), level.degree, level.size
    cost = {
        (i, j): ((vectors[i] - vectors[j]) ** 2).sum()
        * min(d[i], d[j])
        * np.sqrt(s[i] * s[j] / (s[i] + s[j]))
        for i, j in zip(*np.nonzero(np.triu(weights)), strict=True)
    }
    expected, taken = np.arange(level.num_nodes), set()
    for i, j in sorted(cost, key=cost.__getitem__):
        if not taken & {i, j}:
            expected[j] = i
            taken |= {i, j}
    coarsener = AlgebraicJC(level_share=1.0)
    label, saved = coarsener.merge(level, vectors, Limits(99, 999), np.random.default_rng(0))
    assert label.tolist() == expected.tolist()
    assert saved == (expected != np.arange(level.num_nodes)).sum() > 5


@pytest.mark.parametrize(
    ("settings", "num_nodes", "most"),
    [({"level_share": 0.1}, 100, 10), ({"level_share": 0.1}, 9, 1), ({}, 100, 25), ({"rate": 0.5}, 100, 20)],
)
def test_a_level_merges_at_most_its_share(settings, num_nodes, most):
    graph = path_graph(num_nodes)
    start = Contracted.from_graph(graph)
    coarsener = AlgebraicJC(**settings)
    vectors = coarsener.test_vectors(graph, start)
    rng = np.random.default_rng(0)
    assert coarsener.merge(start, vectors, Limits(90, 100), rng)[1] == most
    assert coarsener.merge(start, vectors, Limits(1, 100), rng)[1] == 1
