"""Products of a fixed n x n matrix with node features, cheap in both directions."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.linalg import to_torch

DENSE_SHARE = 0.1
"""Above this share of non-zeros a dense product is faster than a sparse one (two-hop neighbours on Squirrel)."""


class _FixedProduct(torch.autograd.Function):
    """S h whose gradient is a product with a given S^T: torch would transpose a CSR matrix anew on every step."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, h: Tensor, transposed: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ h

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        return None, ctx.transposed @ grads[0], None


def propagate(matrix: Tensor, h: Tensor, transposed: Tensor | None = None) -> Tensor:
    """S h [n, d] for S [n, n], dense or `torch.sparse_csr`, with S^T where S is not symmetric; no gradient for S."""
    return _FixedProduct.apply(matrix, h, matrix if transposed is None else transposed)


class SymmetricAggregation:
    """For a PyG layer on a symmetric adjacency: its sum over neighbours with the cheap gradient."""

    def message_and_aggregate(self, adj_t: Tensor, x: Tensor) -> Tensor:
        return propagate(adj_t, x)


def to_operator(matrix: sp.csr_array) -> Tensor:
    """A scipy matrix as float32 tensor: sparse CSR, or dense where that is faster."""
    if matrix.nnz > DENSE_SHARE * matrix.shape[0] * matrix.shape[1]:
        return torch.from_numpy(matrix.toarray().astype(np.float32))
    return to_torch(matrix)
