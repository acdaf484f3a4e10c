import numpy as np

from ansgt.coarsening import AlgebraicJC
from ansgt.coarsening.algebraic import jacobi_sweep
from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.matching import Limits
from ansgt.testing import path_graph, random_graph


def test_a_sweep_equals_the_matrix_form():
    graph = random_graph(50, num_isolated=5)
    start = Contracted.from_graph(graph)
    x = np.random.default_rng(0).normal(size=(50, 3))
    degree = np.maximum(graph.degree, 1)[:, None]
    expected = np.where(graph.degree[:, None] > 0, (x + graph.adj @ x / degree) / 2, x)
    np.testing.assert_allclose(jacobi_sweep(start.csr, start.degree, x), expected, atol=1e-12)


def test_relaxed_vectors_are_smooth_and_centred():
    graph = random_graph(400, 8.0)
    start = Contracted.from_graph(graph)
    vectors = AlgebraicJC(sweeps=30).test_vectors(graph, start)
    raw = np.random.default_rng(0).uniform(-0.5, 0.5, vectors.shape)
    L = np.diag(graph.degree.astype(float)) - graph.adj.toarray()

    def roughness(x):
        return np.mean(np.diag(x.T @ L @ x) / (x**2).sum(axis=0))

    assert roughness(vectors) < 0.5 * roughness(raw - raw.mean(axis=0))
    np.testing.assert_allclose(np.abs(vectors).max(axis=0), 1)


def test_a_level_merges_at_most_its_share():
    graph = path_graph(100)
    start = Contracted.from_graph(graph)
    coarsener = AlgebraicJC(level_share=0.1)
    vectors = coarsener.test_vectors(graph, start)
    _, saved = coarsener.merge(start, vectors, Limits(90, 100), np.random.default_rng(0))
    assert saved == 10
