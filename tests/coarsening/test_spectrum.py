import numpy as np
import pytest

from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.coarsening.spectrum import aggregate, converged_eigenpairs, smallest_eigenpairs
from ansgt.testing import path_graph, power_law_graph, random_graph


def laplacian(graph):
    return np.diag(graph.degree.astype(float)) - graph.adj.toarray()


def test_eigenvalues_of_a_path_are_known():
    values, vectors = smallest_eigenpairs(Contracted.from_graph(path_graph(12)), 3)
    np.testing.assert_allclose(values, 2 - 2 * np.cos(np.pi * np.arange(1, 4) / 12), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("graph", [random_graph(700, 4.0, num_isolated=60), power_law_graph(900, 6.0)])
def test_converged_equals_lapack(graph):
    start = Contracted.from_graph(graph)
    values, vectors = converged_eigenpairs(start, 20, 1e-4, dense_below=0)
    exact = np.linalg.eigvalsh(laplacian(graph))[start.num_components :][:20]
    np.testing.assert_allclose(values, exact, rtol=1e-4)
    residual = laplacian(graph) @ vectors - vectors * values
    assert np.linalg.norm(residual, axis=0).max() <= 1e-3 * values.max()


def test_a_few_iterations_are_near():
    graph = power_law_graph(900, 6.0)
    start = Contracted.from_graph(graph)
    values, _ = smallest_eigenpairs(start, 5, iterations=8)
    exact = np.linalg.eigvalsh(laplacian(graph))[start.num_components :][:5]
    assert np.all(values >= exact - 1e-9)  # Ritz values come from above
    assert values.sum() < 1.5 * exact.sum()


def test_contracted_operator_is_the_projected_laplacian():
    graph = random_graph(60)
    label, m = relabel(np.random.default_rng(1).integers(0, 25, 60))
    level = Contracted.from_graph(graph).contract(label, m)
    P = np.eye(m)[label] / np.sqrt(np.bincount(label))
    exact = np.linalg.eigvalsh(P.T @ laplacian(graph) @ P)
    values, _ = converged_eigenpairs(level, 10, 1e-6)
    np.testing.assert_allclose(values, exact[level.num_components :][:10], atol=1e-9)


def test_vectors_are_orthogonal_to_the_component_indicators():
    start = Contracted.from_graph(random_graph(500, 3.0, num_isolated=30))
    _, vectors = smallest_eigenpairs(start, 6)
    sums = np.zeros((start.num_components, 6))
    np.add.at(sums, start.component, vectors)
    np.testing.assert_allclose(sums, 0, atol=1e-10)


def test_no_edges_no_eigenvectors():
    values, vectors = smallest_eigenpairs(Contracted.from_graph(random_graph(5, num_isolated=5)), 3)
    assert values.shape == (0,)
    assert vectors.shape == (5, 0)


def test_aggregation_keeps_to_components_and_shrinks():
    start = Contracted.from_graph(random_graph(300, 4.0, num_isolated=20))
    label, count = aggregate(start.csr, start.degree, np.arange(300))
    assert count - start.num_components <= 0.6 * (300 - start.num_components)
    for cluster in range(count):
        assert len(set(start.component[label == cluster])) == 1
