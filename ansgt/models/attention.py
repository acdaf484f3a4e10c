"""Multi-head attention over short sequences with an additive bias (sections 3.2 and 5.2), and that bias, as modules."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ansgt.errors import InputError
from ansgt.kernels.attention import (
    attention_weights,
    centre_attention,
    folded_centre_attention,
    self_attention,
    split_heads,
)
from ansgt.kernels.bias import pair_bias
from ansgt.kernels.choose import Kernel, check_kernel, choose


class MultiHeadAttention(nn.Module):
    """MHA of section 3.2, with d_K = d_V = d / heads.

    Args:
        hidden_channels: d.
        num_heads: heads; must divide d.
        dropout: on the attention weights, in training.
        kernel: how it is computed: "plain", "sdpa", (CUDA alone) "triton", or "auto": on CUDA the last where it can run,
            else plain, the centre alone without keys and values.
    """

    def __init__(
        self, hidden_channels: int, num_heads: int, dropout: float = 0.0, kernel: Kernel = "auto"
    ) -> None:
        super().__init__()
        if hidden_channels % num_heads:
            raise InputError(f"hidden_channels={hidden_channels} is not a multiple of num_heads={num_heads}.")
        check_kernel(kernel)
        self.num_heads = num_heads
        self.dropout = dropout
        self.kernel = kernel
        self.in_proj = nn.Linear(hidden_channels, 3 * hidden_channels)
        self.out_proj = nn.Linear(hidden_channels, hidden_channels)
        nn.init.xavier_uniform_(self.in_proj.weight)
        nn.init.zeros_(self.in_proj.bias)

    def forward(
        self, h: Tensor, bias: Tensor, *, centre_only: bool = False, significance: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """
        Args:
            h: tokens [B, T, d].
            bias: [B, H, Q, T] with Q = 1 if `centre_only`, else T.
            centre_only: compute the query of token 0 alone.
            significance: also return how much the centre takes from every token.

        Returns:
            [B, Q, d], and mean over heads of A_{1,i} ‖V_i‖ [B, T] (None when not asked for).
        """
        dropout = self.dropout if self.training else 0.0
        if centre_only and not significance and choose("centre", h, self.kernel) == "folded":
            projection = self.in_proj.weight, self.in_proj.bias
            return self.out_proj(folded_centre_attention(h, *projection, bias, self.num_heads, dropout)), None
        if centre_only:
            parts: tuple[Tensor, ...] = self._centre_projections(h)
            out = centre_attention(parts, bias, self.num_heads, dropout, self.kernel)
        else:
            qkv = self.in_proj(h)  # [B, T, 3d]
            parts = qkv.chunk(3, dim=-1)
            out = self_attention(qkv, bias, self.num_heads, dropout, self.kernel)
        if not significance:
            return self.out_proj(out), None
        query, key, value = (split_heads(part, self.num_heads) for part in parts)
        return self.out_proj(out), centre_significance(query, key, value, bias)

    def _centre_projections(self, h: Tensor) -> tuple[Tensor, ...]:
        """Q of the first token [B, 1, d], K and V of all [B, T, d]."""
        width, weight, offset = h.shape[-1], self.in_proj.weight, self.in_proj.bias
        query = F.linear(h[:, :1], weight[:width], offset[:width])
        return query, *F.linear(h, weight[width:], offset[width:]).chunk(2, dim=-1)


@torch.no_grad()
def centre_significance(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """s_i = A_{1,i} ‖V_i‖ of section 5.1, mean over heads [B, T].

    Only the first row of A is needed, so it is computed here whatever kernel gave the layer's output; before dropout,
    and without gradient, because it feeds the bandit alone.
    """
    weights = attention_weights(query[:, :, :1].float(), key.float(), bias[:, :, :1].float())
    lengths: Tensor = value.float().norm(dim=-1)
    return (weights.squeeze(2) * lengths).mean(dim=1)


class AttentionBias(nn.Module):
    """What is added to the attention logits, per head (`ansgt.kernels.bias` has the formula).

    Args:
        num_proximity: M.
        num_heads: heads.
    """

    def __init__(self, num_proximity: int, num_heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_heads, num_proximity))
        self.global_bias = nn.Parameter(torch.zeros(num_heads, 2))
        if num_proximity:
            nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(
        self,
        proximity: Tensor,
        key_bias: Tensor,
        num_global: int,
        centre_only: bool = False,
        kernel: Kernel = "plain",
    ) -> Tensor:
        """
        Args:
            proximity: Φ_m(i, j) [B, T, T, M], or its first row [B, 1, T, M].
            key_bias: added to every logit of a key [B, T]; log(count), or -inf where masked.
            num_global: the last slots hold that many global nodes.
            centre_only: only the row of token 0.
            kernel: how it is computed, see `pair_bias`.

        Returns:
            [B, H, Q, T], contiguous, Q = 1 if `centre_only`, else T.
        """
        rows = 1 if centre_only else proximity.shape[1]
        return pair_bias(proximity, self.weight, self.global_bias, key_bias, num_global, rows, kernel)


def key_bias(mask: Tensor, log_count: Tensor) -> Tensor:
    """log(count) of a merged token, -inf where masked [B, T]: a masked key gets weight exactly 0.

    A token that stands for c equal ones has c equal exponentials in the softmax, c e^a = e^(a + log c).
    """
    return log_count.masked_fill(~mask, -math.inf)
