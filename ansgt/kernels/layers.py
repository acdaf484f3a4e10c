"""The pre-LN layers of section 5.2, all at once: H' = MHA(LN(H)) + H, then H = FFN(LN(H')) + H'.

Nothing reads the other tokens after the last layer, so that layer computes the centre alone.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.kernels.attention import centre_attention, self_attention
from ansgt.kernels.dropout import dropout


class LayerParameters(NamedTuple):
    """The parameters of one layer of width d with an FFN of width f, matrices first."""

    in_proj: Tensor
    """To Q, K and V [3d, d]."""
    out_proj: Tensor
    """[d, d]."""
    up: Tensor
    """[f, d]."""
    down: Tensor
    """[d, f]."""
    gain1: Tensor
    shift1: Tensor
    in_bias: Tensor
    out_bias: Tensor
    gain2: Tensor
    shift2: Tensor
    up_bias: Tensor
    down_bias: Tensor


class Rates(NamedTuple):
    """Shares that are dropped: after attention and inside and after the FFN; and of the attention weights."""

    hidden: float = 0.0
    attention: float = 0.0


def plain_layers(
    h: Tensor, bias: Tensor, parameters: Sequence[Tensor], num_heads: int, rates: Rates = Rates()
) -> Tensor:
    """The centre's state behind the last layer [B, d].

    Args:
        h: tokens [B, T, d].
        bias: of the attention logits [B, H, T, T]; [B, H, 1, T] if there is one layer.
        parameters: `LayerParameters` of all layers, end to end.
        num_heads: H.
        rates: of dropout.
    """
    *full, last = per_layer(parameters)
    for p in full:
        qkv = F.linear(_norm(h, p.gain1, p.shift1), p.in_proj, p.in_bias)
        h = _behind_attention(h, self_attention(qkv, bias, num_heads, rates.attention, "plain"), p, rates)
    query, key, value = F.linear(_norm(h, last.gain1, last.shift1), last.in_proj, last.in_bias).chunk(
        3, dim=-1
    )
    parts = (query[:, :1], key, value)
    out = centre_attention(parts, bias[:, :, :1], num_heads, rates.attention, "plain")
    return _behind_attention(h[:, :1], out, last, rates)[:, 0]


def fused_layers(
    h: Tensor,
    bias: Tensor,
    parameters: Sequence[Tensor],
    num_heads: int,
    rates: Rates = Rates(),
    dtype: torch.dtype = torch.bfloat16,
) -> Tensor:
    """The twin of `plain_layers`, float32. Whether it can run, `choose("layers", ...)` says.

    Args:
        h: tokens [B, T, d], float32.
        bias, parameters, num_heads, rates: as for `plain_layers`.
        dtype: of the products.
    """
    from ansgt.kernels.layers_passes import fused_layers as twin

    return twin(h, bias, parameters, num_heads, rates, dtype)


def per_layer(parameters: Sequence[Tensor]) -> Iterator[LayerParameters]:
    """The parameters of every layer by name."""
    count = len(LayerParameters._fields)
    for first in range(0, len(parameters), count):
        yield LayerParameters(*parameters[first : first + count])


def _behind_attention(h: Tensor, attended: Tensor, p: LayerParameters, rates: Rates) -> Tensor:
    h = h + dropout(F.linear(attended, p.out_proj, p.out_bias), rates.hidden)
    inner = dropout(F.gelu(F.linear(_norm(h, p.gain2, p.shift2), p.up, p.up_bias)), rates.hidden)
    return h + dropout(F.linear(inner, p.down, p.down_bias), rates.hidden)


def _norm(h: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    return F.layer_norm(h, h.shape[-1:], gain, shift)
