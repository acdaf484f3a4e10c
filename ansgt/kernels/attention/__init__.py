"""Multi-head attention over short sequences with an additive bias (section 3.2).

A sequence has at most a few dozen tokens, so the attention matrix is small: what costs is the number of passes over it,
not its size. Three ways to compute the same function: "plain" (matrix products and a softmax), "sdpa"
(`scaled_dot_product_attention`) and, on CUDA alone, "triton" (one kernel that never writes the matrix out).
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.kernels.choose import Kernel, Way, choose
from ansgt.kernels.dropout import dropout as drop


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
    """A = Softmax(Q Kᵀ / sqrt(d_K) + bias) [B, H, Q, T]. The paper prints softmax(QKᵀ)/sqrt(d)."""
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    return torch.softmax(scores + bias, dim=-1)


def self_attention(
    qkv: Tensor, bias: Tensor, num_heads: int, dropout: float = 0.0, kernel: Kernel = "auto"
) -> Tensor:
    """Attention of all tokens to all tokens of their sequence.

    Args:
        qkv: fused projections [B, T, 3d], heads side by side within each of Q, K and V.
        bias: [B, H, T, T]; -inf where a key is masked.
        num_heads: H.
        dropout: share of attention weights dropped.
        kernel: how it is computed.

    Returns:
        [B, T, d], heads side by side.
    """
    sizes = {"length": qkv.shape[1], "head_channels": qkv.shape[2] // (3 * num_heads)}
    way = choose("attention", qkv, kernel, sizes)
    if way == "triton":
        from ansgt.kernels.attention.triton import short_attention

        return short_attention(qkv, bias, num_heads, dropout)
    query, key, value = (split_heads(part, num_heads) for part in qkv.chunk(3, dim=-1))
    return _attention(way, query, key, value, bias, dropout)


def centre_attention(
    parts: Sequence[Tensor],
    bias: Tensor,
    num_heads: int,
    dropout: float = 0.0,
    kernel: Kernel = "auto",
) -> Tensor:
    """Attention of the first token alone to all tokens of its sequence.

    Args:
        parts: Q of the first token [B, 1, d], K and V of all [B, T, d], heads side by side.
        bias: [B, H, 1, T]; -inf where a key is masked.
        num_heads, dropout, kernel: as for `self_attention`.

    Returns:
        [B, 1, d], heads side by side.
    """
    way: Way = "sdpa" if kernel == "sdpa" else "plain"
    query, key, value = (split_heads(part, num_heads) for part in parts)
    return _attention(way, query, key, value, bias, dropout)


def folded_centre_attention(
    h: Tensor, weight: Tensor, offset: Tensor, bias: Tensor, num_heads: int, dropout: float = 0.0
) -> Tensor:
    """What the first token takes from all [B, 1, d], per head, without K and V of any token.

    q · (W_K x_t + b_K) = (W_Kᵀ q) · x_t + a constant, which the softmax drops, and
    Σ_t a_t (W_V x_t + b_V) = W_V Σ_t a_t x_t + b_V Σ_t a_t: 2 H T d multiplications instead of 2 T d².

    Args:
        h: tokens [B, T, d].
        weight, offset: of the projection to Q, K and V, [3d, d] and [3d].
        bias: [B, H, 1, T]; -inf where a key is masked.
        num_heads: H.
        dropout: share of attention weights dropped.
    """
    width, heads = h.shape[-1], (num_heads, -1)
    to_query, to_key, to_value = weight.split(width)
    query_offset, _, value_offset = offset.split(width)
    query = F.linear(h[:, 0], to_query, query_offset).unflatten(-1, heads)  # [B, H, d_K]
    query = query / math.sqrt(query.shape[-1])
    reading = torch.einsum("bhk,hkd->bhd", query, to_key.unflatten(0, heads))
    scores = reading @ h.transpose(1, 2)  # [B, H, T]
    weights = drop(torch.softmax(scores.unsqueeze(2) + bias, dim=-1), dropout).squeeze(2)
    taken = torch.einsum("bhd,hkd->bhk", weights.to(h.dtype) @ h, to_value.unflatten(0, heads))
    out: Tensor = taken + value_offset.unflatten(0, heads) * weights.sum(dim=-1, keepdim=True)
    return out.flatten(1)[:, None]


def split_heads(h: Tensor, num_heads: int) -> Tensor:
    """[B, T, d] -> [B, H, T, d_K]."""
    heads: Tensor = h.unflatten(-1, (num_heads, -1))
    return heads.transpose(1, 2)


def _attention(way: Way, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, dropout: float) -> Tensor:
    """[B, H, Q, d_K] thrice -> [B, Q, d]."""
    if way == "sdpa":
        out = F.scaled_dot_product_attention(query, key, value, bias.to(query.dtype), dropout)
    else:
        out = plain_attention(query, key, value, bias, dropout)
    return out.transpose(1, 2).flatten(2)
