"""Multi-head attention over short sequences with an additive bias (section 3.2).

A sequence has at most a few dozen tokens, so the attention matrix is small: what costs is the number of passes over it,
not its size. Three ways to compute the same function: "plain" (matrix products and a softmax), "sdpa"
(`scaled_dot_product_attention`) and, on CUDA alone, "triton" (one kernel that never writes the matrix out).

The twin is one kernel each way. T <= 64 tokens and d_K = 16..128 fit on chip, so one program computes one head of one
sequence: Q Kᵀ, bias, softmax, dropout and V, and backward the same with the softmax recomputed. Neither the logits nor
the weights reach device memory; batched products of 26 x 16 matrices through a library cost more in launches and padding
than in arithmetic.

Queries, keys and values are read straight from the fused projection [B, T, 3d] and the output is written as [B, T, d], so
nothing is transposed or copied either. Dropout is recomputed from a seed that is drawn on the device: inside a captured
graph it advances with the generator.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.kernels.autograd import Differentiable, Passes
from ansgt.kernels.choose import Kernel, Way, choose, dot_precision
from ansgt.kernels.dropout import dropout as drop
from ansgt.kernels.dropout import keep_scale, new_seed
from ansgt.kernels.language import tl, triton


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


FORWARD_REGISTERS = 168
"""More than the forward kernel takes; told of a bound, the assembler finds a schedule that is a tenth faster."""


@triton.jit
def _tile(base, row, column, height, stride):
    """Rows of a [T, d_K] slice, zero beyond T."""
    return tl.load(base + row[:, None] * stride + column[None, :], mask=row[:, None] < height, other=0.0)


@triton.jit
def _probabilities(query, key, bias, first, query_row, row, queries, length, scale, PRECISION: tl.constexpr):
    """Softmax of scaled logits plus bias [QUERIES, BLOCK], float32; columns beyond T are 0."""
    inside = (query_row[:, None] < queries) & (row[None, :] < length)
    places = first + query_row[:, None] * length + row[None, :]
    logits = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale
    logits += tl.load(bias + places, mask=inside, other=0.0).to(tl.float32)
    logits = tl.where(row[None, :] < length, logits, -float("inf"))
    weights = tl.exp(logits - tl.max(logits, axis=1)[:, None])
    return weights / tl.sum(weights, axis=1)[:, None]


@triton.jit
def _keep(seed, site, program, query_row, row, rate, QUERIES: tl.constexpr, BLOCK: tl.constexpr):
    """0 or 1 / (1 - rate) for every pair; the same numbers forward and backward."""
    return keep_scale(seed, site, (program * QUERIES + query_row[:, None]) * BLOCK + row[None, :], rate)


@triton.jit
def attend_kernel(
    qkv,
    bias,
    out,
    seed,
    site,
    length,
    queries,
    bias_rows,
    scale,
    rate,
    out_stride,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    QUERIES: tl.constexpr,
    DROPOUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The first `queries` tokens of a sequence attend; their outputs are rows sequence * queries + i of `out`."""
    program = tl.program_id(0)
    sequence, head = program // HEADS, program % HEADS
    query_row, row, column = tl.arange(0, QUERIES), tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    channels: tl.constexpr = HEADS * WIDTH
    base = qkv + sequence * length * 3 * channels + head * WIDTH
    query = _tile(base, query_row, column, queries, 3 * channels)
    key = _tile(base + channels, row, column, length, 3 * channels)
    value = _tile(base + 2 * channels, row, column, length, 3 * channels)
    pairs = program * bias_rows * length
    weights = _probabilities(query, key, bias, pairs, query_row, row, queries, length, scale, PRECISION)
    if DROPOUT:
        weights *= _keep(seed, site, program, query_row, row, rate, QUERIES, BLOCK)
    result = tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    first = out + sequence * queries * out_stride + head * WIDTH
    target = first + query_row[:, None] * out_stride + column[None, :]
    tl.store(target, result.to(out.dtype.element_ty), mask=query_row[:, None] < queries)


@triton.jit
def attend_backward_kernel(
    qkv,
    bias,
    seed,
    site,
    grad_out,
    grad_qkv,
    grad_bias,
    sums,
    sums_stride,
    length,
    queries,
    bias_rows,
    scale,
    rate,
    grad_stride,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    QUERIES: tl.constexpr,
    DROPOUT: tl.constexpr,
    ADD: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """dQ, dK, dV (rows of `grad_stride`) and the bias's gradient.

    As a part of the fused layers (`ADD`) it adds the latter to what is there, and leaves the sums of dQ, dK and dV over the
    tokens, the projection's offset's gradient, in row `sequence` of `sums`.
    """
    program = tl.program_id(0)
    sequence, head = program // HEADS, program % HEADS
    query_row, row, column = tl.arange(0, QUERIES), tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    channels: tl.constexpr = HEADS * WIDTH
    base = qkv + sequence * length * 3 * channels + head * WIDTH
    query = _tile(base, query_row, column, queries, 3 * channels)
    key = _tile(base + channels, row, column, length, 3 * channels)
    value = _tile(base + 2 * channels, row, column, length, 3 * channels)
    pairs = program * bias_rows * length
    grad = _tile(
        grad_out + sequence * queries * channels + head * WIDTH, query_row, column, queries, channels
    )
    weights = _probabilities(query, key, bias, pairs, query_row, row, queries, length, scale, PRECISION)
    grad_weights = tl.dot(grad, tl.trans(value), input_precision=PRECISION)
    dropped = weights
    if DROPOUT:
        keep = _keep(seed, site, program, query_row, row, rate, QUERIES, BLOCK)
        dropped = weights * keep
        grad_weights *= keep
    grad_logits = weights * (grad_weights - tl.sum(grad_weights * weights, axis=1)[:, None])

    inside = (query_row[:, None] < queries) & (row[None, :] < length)
    places = grad_bias + pairs + query_row[:, None] * length + row[None, :]
    if ADD:
        grad_pairs = grad_logits + tl.load(places, mask=inside, other=0.0).to(tl.float32)
    else:
        grad_pairs = grad_logits
    tl.store(places, grad_pairs.to(grad_bias.dtype.element_ty), mask=inside)
    small = grad_logits.to(query.dtype)
    grad_query = tl.dot(small, key, input_precision=PRECISION) * scale
    grad_key = tl.dot(tl.trans(small), query, input_precision=PRECISION) * scale
    grad_value = tl.dot(tl.trans(dropped.to(grad.dtype)), grad, input_precision=PRECISION)
    first = grad_qkv + sequence * length * grad_stride + head * WIDTH
    target = first + row[:, None] * grad_stride + column[None, :]
    kind = grad_qkv.dtype.element_ty
    silent = (row[:, None] >= queries) & (
        row[:, None] < length
    )  # tokens that asked nothing: a gradient of zero
    tl.store(target, tl.zeros([BLOCK, WIDTH], kind), mask=silent)
    target_query = first + query_row[:, None] * grad_stride + column[None, :]
    tl.store(target_query, grad_query.to(kind), mask=query_row[:, None] < queries)
    tl.store(target + channels, grad_key.to(kind), mask=row[:, None] < length)
    tl.store(target + 2 * channels, grad_value.to(kind), mask=row[:, None] < length)
    if ADD:
        offset = sums + sequence * sums_stride + head * WIDTH + column
        tl.store(offset, tl.sum(grad_query, axis=0))  # rows beyond T are zero: their logits have no gradient
        tl.store(offset + channels, tl.sum(grad_key, axis=0))
        tl.store(offset + 2 * channels, tl.sum(grad_value, axis=0))


def attention_settings(
    length: int,
    channels: int,
    num_heads: int,
    rate: float,
    dtype: torch.dtype,
    queries: int | None = None,
    bias_rows: int | None = None,
) -> dict[str, Any]:
    """Sizes and constants of both kernels; by default all tokens ask, and the bias has a row for each."""
    queries = length if queries is None else queries
    width, block = channels // num_heads, max(16, triton.next_power_of_2(length))
    return {
        "length": length,
        "queries": queries,
        "bias_rows": length if bias_rows is None else bias_rows,
        "scale": 1.0 / math.sqrt(width),
        "rate": rate,
        "HEADS": num_heads,
        "WIDTH": width,
        "BLOCK": block,
        "QUERIES": 16 if queries == 1 else block,
        "DROPOUT": rate > 0.0,
        "PRECISION": dot_precision(dtype),
        "num_warps": 1 if length <= 32 else 4,
    }


def _forward(qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float) -> Tensor:
    qkv, bias = qkv.contiguous(), bias.contiguous()
    out = torch.empty((*qkv.shape[:2], qkv.shape[2] // 3), dtype=qkv.dtype, device=qkv.device)
    settings = attention_settings(qkv.shape[1], out.shape[2], num_heads, rate, qkv.dtype)
    attend_kernel[(qkv.shape[0] * num_heads,)](
        qkv, bias, out, seed, 0, out_stride=out.shape[2], maxnreg=FORWARD_REGISTERS, **settings
    )
    return out


def _backward(
    grad: Tensor, qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float
) -> tuple[Tensor, Tensor]:
    qkv, bias, grad = qkv.contiguous(), bias.contiguous(), grad.contiguous()
    grad_qkv, grad_bias = torch.empty_like(qkv), torch.empty_like(bias)
    settings = attention_settings(qkv.shape[1], qkv.shape[2] // 3, num_heads, rate, qkv.dtype)
    attend_backward_kernel[(qkv.shape[0] * num_heads,)](
        qkv,
        bias,
        seed,
        0,
        grad,
        grad_qkv,
        grad_bias,
        grad_bias,
        0,
        grad_stride=qkv.shape[2],
        ADD=False,
        **settings,
    )
    return grad_qkv, grad_bias


def _like(qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float) -> Tensor:
    return qkv.new_empty((*qkv.shape[:2], qkv.shape[2] // 3))


def _backward_like(
    grad: Tensor, qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float
) -> tuple[Tensor, Tensor]:
    return qkv.new_empty(qkv.shape), bias.new_empty(bias.shape)


_short = Differentiable(Passes("short_attention", _forward, _like, _backward, _backward_like, learned=(0, 1)))


def short_attention(qkv: Tensor, bias: Tensor, num_heads: int, dropout: float = 0.0) -> Tensor:
    """The twin of `self_attention` for at most 64 tokens, with the same arguments."""
    return _short(qkv, bias, new_seed(dropout, qkv.device), num_heads, dropout)
