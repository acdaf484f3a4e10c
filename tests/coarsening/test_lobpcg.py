import numpy as np
import pytest

from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.coarsening.lobpcg import _settled, lobpcg, precondition, project_kernel, recombine, take_out
from ansgt.testing import random_graph


def level():
    """A contracted graph of several components, and its PᵀLP."""
    graph = random_graph(150, num_isolated=4)
    label, m = relabel(np.r_[np.random.default_rng(1).integers(0, 60, 146), 60:64])
    P = np.eye(m)[label] / np.sqrt(np.bincount(label))
    L = np.diag(graph.degree.astype(float)) - graph.adj.toarray()
    return Contracted.from_graph(graph).contract(label, m), P.T @ L @ P


def test_it_finds_the_smallest_eigenpairs_outside_the_kernel():
    graph, matrix = level()
    block = np.random.default_rng(0).normal(size=(graph.num_nodes, 4))
    values, vectors = lobpcg(graph, block, 200, tolerance=1e-9)
    exact = np.linalg.eigvalsh(matrix)[graph.num_components :][:4]
    np.testing.assert_allclose(values, exact, rtol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-9)


def test_it_stops_once_the_wanted_residuals_are_small(monkeypatch):
    graph, _ = level()
    block = np.random.default_rng(0).normal(size=(graph.num_nodes, 6))
    calls = []
    monkeypatch.setattr("ansgt.coarsening.lobpcg.take_out", lambda *a: calls.append(1) or take_out(*a))
    lobpcg(graph, block, 200, tolerance=1e-6)
    all_wanted = len(calls)
    calls.clear()
    lobpcg(graph, block, 200, tolerance=1e-6, wanted=1)
    assert 0 < len(calls) < all_wanted < 200


def test_it_is_settled_where_the_residuals_themselves_are_small():
    diagonal, residual = np.array([4.0, 0.25]), np.array([0.3, 0.4])  # of length 0.5
    basis = np.stack([np.ones(2), residual / diagonal, np.ones(2)], axis=1)  # [X | W | P]
    assert _settled(basis, diagonal, np.array([2.0]), 0.251)
    assert not _settled(basis, diagonal, np.array([2.0]), 0.249)


def test_the_kernel_is_projected_out():
    component, root = np.array([0, 0, 1, 1, 1]), np.sqrt([1.0, 2.0, 1.0, 1.0, 3.0])
    block = np.random.default_rng(0).normal(size=(5, 3))
    before = block.copy()
    project_kernel(component, 2, root, block, 1, 3)
    np.testing.assert_array_equal(block[:, 0], before[:, 0])  # not asked for
    for c in range(2):
        inside = component == c
        np.testing.assert_allclose(root[inside] @ block[inside, 1:], 0, atol=1e-12)


def test_steps_by_the_matrix_form():
    rng = np.random.default_rng(0)
    basis, image, values, diagonal = (
        rng.normal(size=(7, 6)),
        rng.normal(size=(7, 6)),
        rng.random(2),
        rng.random(7) + 1,
    )
    x, p, lx = basis[:, :2].copy(), basis[:, 4:].copy(), image[:, :2].copy()
    precondition(basis, image, values, diagonal, 2)
    w = (lx - x * values) / diagonal[:, None]
    np.testing.assert_allclose(basis, np.hstack([x, w, p]))
    overlap = rng.normal(size=(2, 2))
    take_out(basis, overlap, 2)
    np.testing.assert_allclose(basis[:, 2:4], w - x @ overlap)
    mix, direction = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    old = basis.copy()
    recombine(basis, mix, direction)
    np.testing.assert_allclose(basis[:, :2], old @ mix)
    np.testing.assert_allclose(basis[:, 4:], old @ direction)


@pytest.mark.parametrize("k", [1, 5])
def test_as_many_vectors_come_back_as_were_given(k):
    graph, _ = level()
    values, vectors = lobpcg(graph, np.random.default_rng(0).normal(size=(graph.num_nodes, k)), 3)
    assert (values.shape, vectors.shape) == ((k,), (graph.num_nodes, k))
