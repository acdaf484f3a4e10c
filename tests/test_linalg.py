"""Linear algebra against dense formulas."""

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.linalg import row_norm, row_normalize_features, row_top_k, sym_norm, to_torch
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
