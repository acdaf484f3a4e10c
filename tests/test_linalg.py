"""Linear algebra against dense formulas."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ansgt.linalg import (
    CSR,
    inverse_rows,
    positive_csr,
    row_norm,
    row_normalize_features,
    row_top_k,
    sym_norm,
    to_torch,
)
from ansgt.testing import random_graph


def test_sym_norm_equals_the_dense_formula() -> None:
    graph = random_graph(30, num_isolated=3)
    a_hat = graph.adj.toarray() + np.eye(30)
    d = a_hat.sum(1) ** -0.5
    assert np.allclose(sym_norm(graph.adj).toarray(), d[:, None] * a_hat * d[None, :], atol=1e-15)


def test_row_norm_keeps_empty_rows() -> None:
    out = row_norm(sp.csr_array([[1.0, 3.0], [0.0, 0.0]])).toarray()
    assert out.tolist() == [[0.25, 0.75], [0.0, 0.0]]


def test_row_top_k_equals_sorting() -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((20, 15)) * (rng.random((20, 15)) < 0.6)
    out = row_top_k(sp.csr_array(dense), 4).toarray()
    for row, kept in zip(dense, out, strict=True):
        best = np.sort(row)[::-1][:4]
        assert np.allclose(np.sort(kept[kept > 0]), np.sort(best[best > 0]))
        assert np.all((kept == 0) | (kept == row))


def test_row_normalize_sparse_equals_dense() -> None:
    x = torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 0.2, 0.0]])
    sparse = row_normalize_features(x.to_sparse_csr()).to_dense()
    assert torch.allclose(sparse, row_normalize_features(x))
    assert sparse.sum(1).tolist() == [1.0, 0.0, 1.0]


def test_to_torch_round_trip() -> None:
    matrix = sym_norm(random_graph(12).adj)
    assert np.allclose(to_torch(matrix, torch.float64).to_dense().numpy(), matrix.toarray())


def damped_walk(num_nodes: int, num_isolated: int = 0) -> sp.csr_array:
    walk = sym_norm(random_graph(num_nodes, num_isolated=num_isolated).adj, self_loops=False)
    return sp.csr_array(sp.eye_array(num_nodes) - 0.85 * walk)


@pytest.mark.parametrize("rows", [np.arange(90), np.array([89, 3, 3, 40]), np.array([], dtype=np.int64)])
def test_inverse_rows_equal_the_dense_inverse(rows: np.ndarray) -> None:
    matrix = damped_walk(90, num_isolated=4)
    out = inverse_rows(matrix, rows)
    np.testing.assert_allclose(out, np.linalg.inv(matrix.toarray())[rows], rtol=1e-12, atol=1e-14)


def test_inverse_rows_with_any_number_of_threads() -> None:
    matrix, before, outs = damped_walk(200), numba.get_num_threads(), []
    try:
        for count in (1, 2):
            numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
            outs.append(inverse_rows(matrix, np.arange(200)))
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(*outs)


@pytest.mark.parametrize("shape", [(13, 7), (1, 1), (0, 5), (4, 0)])
def test_positive_csr_equals_masking(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    dense = rng.normal(size=shape) * (rng.random(shape) < 0.7)
    out = positive_csr(dense)
    np.testing.assert_array_equal(out.toarray(), np.where(dense > 0, dense, 0))
    assert out.nnz == (dense > 0).sum()
    assert out.has_sorted_indices


def test_csr_arrays_have_the_types_of_the_kernels_and_are_copied_only_where_they_must() -> None:
    matrix = sp.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    arrays = CSR.of(matrix)
    assert [a.dtype for a in arrays] == [np.int64, np.int32, np.float64]
    assert (arrays.indptr.tolist(), arrays.indices.tolist(), arrays.data.tolist()) == (
        [0, 1, 2],
        [1, 0],
        [2, 3],
    )
    assert arrays.data is matrix.data
    assert CSR.of(matrix, dtype=np.float32).data.dtype == np.float32
