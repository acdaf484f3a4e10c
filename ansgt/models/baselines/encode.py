"""The first layer of every baseline: a linear map and a dropout that take dense and sparse features alike.

Bag-of-words features are 98-99 % zeros; a dense [n, 3703] product would be most of a training step on a CPU.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.models.dropout import keep_columns


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
    """

    num_kept = 0

    def __init__(self, in_channels: int, out_channels: int, dropout: float) -> None:
        super().__init__()
        self.lin = FeatureLinear(in_channels, out_channels)
        self.norm = nn.LayerNorm(out_channels)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.lin(feature_dropout(x, self.dropout, self.training, self.num_kept)))


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
