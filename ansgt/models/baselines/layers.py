"""What the baselines are made of: a first layer for dense and sparse features, products with the graph's matrix, norms.

Bag-of-words features are 98-99 % zeros; a dense [n, 3703] product would be most of a training step on a CPU.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.errors import unknown_name
from ansgt.kernels.dropout import keep_columns
from ansgt.linalg import to_torch

Norm = Literal["none", "batch", "layer"]
NORMS: dict[str, type[nn.Module]] = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
DENSE_SHARE = 0.1
"""Above this share of non-zeros a dense product is faster than a sparse one (two-hop neighbours on Squirrel)."""


class FeatureLinear(nn.Linear):
    """x W^T + b for `x` [n, p] dense or `torch.sparse_csr`; the gradient reaches W, b and a dense x."""

    def forward(self, x: Tensor) -> Tensor:
        if x.layout == torch.strided:
            return super().forward(x)
        out = x @ self.weight.t()
        return out if self.bias is None else out + self.bias


class FeatureEncoder(nn.Module):
    """LayerNorm(x W^T + b) with dropout of x: the tokens of the graph transformers.

    The norm is ours: a row-normalised bag of words gives entries of 0.01, beside which any positional encoding of
    order 1 would be all that the first layer sees.

    Args:
        in_channels: p.
        out_channels: d.
        dropout: of x.
        num_kept: last columns of x that dropout leaves alone.
    """

    def __init__(self, in_channels: int, out_channels: int, dropout: float, num_kept: int = 0) -> None:
        super().__init__()
        self.num_kept = num_kept
        self.lin = FeatureLinear(in_channels, out_channels)
        self.norm = nn.LayerNorm(out_channels)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        x = feature_dropout(x, self.dropout, self.training, self.num_kept)
        tokens: Tensor = self.norm(self.lin(x))
        return tokens


def feature_dropout(x: Tensor, p: float, training: bool, num_kept: int = 0) -> Tensor:
    """Dropout of features [n, p] but the last `num_kept`; in sparse ones only the stored values need a draw."""
    if not training or p == 0.0:
        return x
    if x.layout == torch.strided:
        return keep_columns(F.dropout(x, p), x, num_kept, x.shape[1])
    values = keep_columns(F.dropout(x.values(), p), x, num_kept, x.shape[1])
    return torch.sparse_csr_tensor(
        x.crow_indices(), x.col_indices(), values, size=x.shape, check_invariants=False
    )


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
    backward = matrix if transposed is None else transposed
    out: Tensor = _FixedProduct.apply(matrix, h, backward)  # type: ignore[no-untyped-call]
    return out


class SymmetricAggregation:
    """For a PyG layer on a symmetric adjacency: its sum over neighbours with the cheap gradient."""

    def message_and_aggregate(self, adj_t: Tensor, x: Tensor) -> Tensor:
        return propagate(adj_t, x)


def to_operator(matrix: sp.csr_array) -> Tensor:
    """A scipy matrix as float32 tensor: sparse CSR, or dense where that is faster."""
    if matrix.nnz > DENSE_SHARE * matrix.shape[0] * matrix.shape[1]:
        return torch.from_numpy(matrix.toarray().astype(np.float32))
    return to_torch(matrix)


def make_norm(name: str, channels: int) -> nn.Module:
    """
    >>> make_norm("layer", 8)
    LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
    """
    if name not in NORMS:
        raise unknown_name("norm", name, NORMS)
    return NORMS[name](channels)
