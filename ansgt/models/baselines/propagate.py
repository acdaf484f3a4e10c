"""Products of a fixed n x n matrix with node features, cheap in both directions."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.linalg import to_torch

DENSE_SHARE = 0.1
"""Above this share of non-zeros a dense product is faster than a sparse one (two-hop neighbours on Squirrel)."""


class _SymmetricProduct(torch.autograd.Function):
    """S h whose gradient is S g again: torch would build a transposed copy of a CSR matrix on every step."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, h: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix @ h

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix @ grads[0]


def propagate(matrix: Tensor, h: Tensor) -> Tensor:
    """S h [n, d] for a symmetric S [n, n], dense or `torch.sparse_csr`; no gradient for S."""
    return _SymmetricProduct.apply(matrix, h)


def to_operator(matrix: sp.csr_array) -> Tensor:
    """A scipy matrix as float32 tensor: sparse CSR, or dense where that is faster."""
    if matrix.nnz > DENSE_SHARE * matrix.shape[0] * matrix.shape[1]:
        return torch.from_numpy(matrix.toarray().astype(np.float32))
    return to_torch(matrix)
