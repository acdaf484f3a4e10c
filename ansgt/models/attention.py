"""Multi-head attention over short sequences with an additive bias (sections 3.2 and 5.2), and that bias.

A sequence has at most a few dozen tokens, so the attention matrix is small: what costs is the number of passes over
it, not its size. Ways to compute the same function: "plain" (matrix products and a softmax), "sdpa"
(`scaled_dot_product_attention`) and, on CUDA alone, "triton" (one kernel that never writes the matrix out) and "fused"
(whole layers as a few kernels, `triton_stack.py`).
"""

import math
import os
from collections.abc import Callable
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ansgt.errors import InputError, unknown_name
from ansgt.models.dropout import dropout as drop
from ansgt.optional import HAS_TRITON

Kernel = Literal["auto", "plain", "sdpa", "triton", "fused"]
SHARED_MEMORY = 200 << 10
"""Bytes of shared memory a program of the fused layers may want."""
FUSED_LENGTH = 64
"""Longest sequence that the Triton kernel holds on chip."""


def plain_attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, dropout: float = 0.0) -> Tensor:
    """Softmax(Q Kᵀ / sqrt(d_K) + bias) V, section 3.2, written out.

    Args:
        query: [B, H, Q, d_K].
        key, value: [B, H, T, d_K].
        bias: [B, H, Q, T]; -inf where a key is masked.
        dropout: share of attention weights dropped.

    Returns:
        [B, H, Q, d_K].
    """
    weights = attention_weights(query, key, bias)
    return drop(weights, dropout).to(value.dtype) @ value


def attention_weights(query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
    """A = Softmax(Q Kᵀ / sqrt(d_K) + bias) [B, H, Q, T]. The paper prints softmax(QKᵀ)/sqrt(d); see DESIGN section 6."""
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    return torch.softmax(scores + bias, dim=-1)


def fits_fused_layers() -> bool:
    """Whether there is a GPU with the shared memory that the fused layers were written for (H100 and later)."""
    if not (HAS_TRITON and torch.cuda.is_available()):
        return False
    card = torch.cuda.get_device_properties(torch.cuda.current_device())
    return card.major >= 9 and getattr(card, "shared_memory_per_block_optin", SHARED_MEMORY) >= SHARED_MEMORY


def check_cuda(kernel: Kernel, h: Tensor) -> None:
    """Refuses a kernel by name where it cannot run; Triton's interpreter runs it anywhere."""
    if not h.is_cuda and os.environ.get("TRITON_INTERPRET") != "1":
        raise InputError(f"attention={kernel!r} runs on CUDA alone; `auto` takes what the device can do.")


AttentionKernel = Callable[[Tensor, Tensor, int, float], Tensor]


def _load_triton(kernel: Kernel, width: int) -> AttentionKernel | None:
    """The Triton kernel where it is asked for, or where "auto" may take it: on CUDA, heads of 16 to 128 channels."""
    if kernel not in ("auto", "triton", "fused"):
        return None
    if kernel == "auto" and not (torch.cuda.is_available() and width in (16, 32, 64, 128)):
        return None
    try:
        from ansgt.models.triton_attention import short_attention
    except ImportError as error:
        if kernel == "auto":
            return None
        raise InputError(
            f"attention={kernel!r} needs the package triton, which is not there ({error})."
        ) from None
    return short_attention


class MultiHeadAttention(nn.Module):
    """MHA of section 3.2, with d_K = d_V = d / heads.

    Args:
        hidden_channels: d.
        num_heads: heads; must divide d.
        dropout: on the attention weights, in training.
        attention: how it is computed: "plain", "sdpa", (CUDA alone) "triton" or "fused", or "auto": the last that can
            be used on CUDA (docs/gpu.md has the measurements), else plain, the centre alone without keys and values.
    """

    def __init__(
        self, hidden_channels: int, num_heads: int, dropout: float = 0.0, attention: Kernel = "auto"
    ) -> None:
        super().__init__()
        if hidden_channels % num_heads:
            raise InputError(f"hidden_channels={hidden_channels} is not a multiple of num_heads={num_heads}.")
        if attention not in get_args(Kernel):
            raise unknown_name("attention", attention, get_args(Kernel))
        self.num_heads = num_heads
        self.dropout = dropout
        self.attention = attention
        self._triton = _load_triton(attention, hidden_channels // num_heads)
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
        if centre_only and not significance and self.attention == "auto" and not h.is_cuda:
            return self.out_proj(self._centre_attention(h, bias, dropout)), None
        packed = None if centre_only else self.in_proj(h)  # [B, T, 3d]
        parts = self._centre_projections(h) if packed is None else packed.chunk(3, dim=-1)
        query, key, value = (self._split(part) for part in parts)
        if packed is not None and self._triton is not None and self._takes_triton(h):
            out = self._triton(packed, bias, self.num_heads, dropout)
        elif self.attention == "sdpa":
            out = F.scaled_dot_product_attention(query, key, value, bias.to(query.dtype), dropout)
        else:
            out = plain_attention(query, key, value, bias, dropout)
        if out.ndim == 4:
            out = out.transpose(1, 2).flatten(2)
        scores = centre_significance(query, key, value, bias) if significance else None
        return self.out_proj(out), scores

    def _takes_triton(self, h: Tensor) -> bool:
        """Always if asked for by name (it then says what it cannot do); "auto" wherever it is the faster one."""
        if self.attention == "triton":
            check_cuda(self.attention, h)
        return self.attention == "triton" or (h.is_cuda and h.shape[1] <= FUSED_LENGTH)

    def _centre_projections(self, h: Tensor) -> tuple[Tensor, ...]:
        """Q of the first token [B, 1, d], K and V of all [B, T, d]."""
        width, weight, offset = h.shape[-1], self.in_proj.weight, self.in_proj.bias
        query = F.linear(h[:, :1], weight[:width], offset[:width])
        return (query, *F.linear(h, weight[width:], offset[width:]).chunk(2, dim=-1))

    def _centre_attention(self, h: Tensor, bias: Tensor, dropout: float) -> Tensor:
        """What token 0 takes from all [B, 1, d], per head, without K and V of any token.

        q · (W_K x_t + b_K) = (W_Kᵀ q) · x_t + a constant, which the softmax drops, and
        Σ_t a_t (W_V x_t + b_V) = W_V Σ_t a_t x_t + b_V Σ_t a_t: 2 H T d multiplications instead of 2 T d².
        """
        width, heads = h.shape[-1], (self.num_heads, -1)
        to_query, to_key, to_value = self.in_proj.weight.split(width)
        query_offset, _, value_offset = self.in_proj.bias.split(width)
        query = F.linear(h[:, 0], to_query, query_offset).unflatten(-1, heads)  # [B, H, d_K]
        query = query / math.sqrt(query.shape[-1])
        reading = torch.einsum("bhk,hkd->bhd", query, to_key.unflatten(0, heads))
        scores = reading @ h.transpose(1, 2)  # [B, H, T]
        weights = drop(torch.softmax(scores.unsqueeze(2) + bias, dim=-1), dropout).squeeze(2)
        taken = torch.einsum("bhd,hkd->bhk", weights.to(h.dtype) @ h, to_value.unflatten(0, heads))
        return (taken + value_offset.unflatten(0, heads) * weights.sum(dim=-1, keepdim=True)).flatten(1)[
            :, None
        ]

    def _split(self, h: Tensor) -> Tensor:
        return h.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # [B, T, d] -> [B, H, T, d_K]


@torch.no_grad()
def centre_significance(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """s_i = A_{1,i} ‖V_i‖ of section 5.1, mean over heads [B, T].

    Only the first row of A is needed, so it is computed here whatever kernel gave the layer's output; before dropout,
    and without gradient, because it feeds the bandit alone.
    """
    weights = attention_weights(query[:, :, :1].float(), key.float(), bias[:, :, :1].float())
    return (weights.squeeze(2) * value.float().norm(dim=-1)).mean(dim=1)


class AttentionBias(nn.Module):
    """What is added to the attention logits, per head: the proximity encoding of section 5.2 and all else about a pair.

    bias[h](i, j) = Σ_m W[h, m] Φ_m(i, j) + (learned scalar if one of i, j is a global node) + key_bias(j).

    A global node has no proximity. Of the pairs with one, (i, global) and (global, j) get a scalar per head; (global,
    global) needs none, since a softmax row may be shifted freely.

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
        self, proximity: Tensor, key_bias: Tensor, num_global: int, centre_only: bool = False
    ) -> Tensor:
        """
        Args:
            proximity: Φ_m(i, j) [B, T, T, M].
            key_bias: added to every logit of a key [B, T]; log(count), or -inf where masked.
            num_global: the last slots hold that many global nodes.
            centre_only: only the row of token 0.

        Returns:
            [B, H, Q, T], contiguous, Q = 1 if `centre_only`, else T.
        """
        if centre_only:
            proximity = proximity[:, :1]
        batch, rows, length, channels = proximity.shape
        pairs = as_operand(proximity.reshape(batch, rows * length, channels).transpose(1, 2), self.weight)
        # bmm with W repeated, not one matmul: the result is contiguous with the heads in front, and the gradient of W
        # is split over the batch.
        bias = torch.bmm(self.weight.expand(batch, -1, -1), pairs).view(
            batch, self.weight.shape[0], rows, length
        )
        if num_global:
            bias = bias + self._global_pairs(rows, length, num_global)
        return bias + key_bias[:, None, None, :]

    def _global_pairs(self, rows: int, length: int, num_global: int) -> Tensor:
        """[H, Q, T]; scalars times 0/1 masks, whose gradient is a sum (indexing would sort, a product waste a kernel)."""
        is_global = torch.arange(length, device=self.global_bias.device) >= length - num_global
        to_global = (is_global & ~is_global[:rows, None]).to(self.global_bias.dtype)
        from_global = (~is_global & is_global[:rows, None]).to(self.global_bias.dtype)
        scalars = self.global_bias[:, :, None, None]
        return scalars[:, 0] * to_global + scalars[:, 1] * from_global


def as_operand(x: Tensor, weight: Tensor) -> Tensor:
    """`x` in the dtype of `weight`, for a product of both; under autocast as it is, since the product casts both itself."""
    return x if torch.is_autocast_enabled(x.device.type) else x.to(weight.dtype)


def key_bias(mask: Tensor, log_count: Tensor) -> Tensor:
    """log(count) of a merged token, -inf where masked [B, T]: a masked key gets weight exactly 0.

    A token that stands for c equal ones has c equal exponentials in the softmax, c e^a = e^(a + log c).
    """
    return log_count.masked_fill(~mask, -math.inf)
