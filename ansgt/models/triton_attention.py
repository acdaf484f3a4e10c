"""Attention over short sequences as one Triton kernel each way; an option for CUDA (`attention="triton"`).

T <= 64 tokens and d_K = 16..128 fit on chip, so one program computes one head of one sequence: Q Kᵀ, bias, softmax,
dropout and V, and backward the same with the softmax recomputed. Neither the logits nor the weights reach device
memory; batched products of 26 x 16 matrices through a library cost more in launches and padding than in arithmetic.

Queries, keys and values are read straight from the fused projection [B, T, 3d] and the output is written as [B, T, d], so
nothing is transposed or copied either. Dropout is recomputed from a seed that is drawn on the device: inside a
captured graph it advances with the generator.

Check and time it: `python benchmarks/device_attention.py`.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from ansgt.errors import InputError
from ansgt.models.attention import FUSED_LENGTH


@triton.jit
def _tile(base, row, column, height, stride):  # type: ignore[no-untyped-def]
    """Rows of a [T, d_K] slice, zero beyond T."""
    return tl.load(base + row[:, None] * stride + column[None, :], mask=row[:, None] < height, other=0.0)


@triton.jit
def _probabilities(query, key, bias, program, row, length, scale, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]
    """Softmax of scaled logits plus bias [BLOCK, BLOCK], float32; columns beyond T are 0."""
    inside = (row[:, None] < length) & (row[None, :] < length)
    places = (program * length + row[:, None]) * length + row[None, :]
    logits = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale
    logits += tl.load(bias + places, mask=inside, other=0.0).to(tl.float32)
    logits = tl.where(row[None, :] < length, logits, -float("inf"))
    weights = tl.exp(logits - tl.max(logits, axis=1)[:, None])
    return weights / tl.sum(weights, axis=1)[:, None]


@triton.jit
def _keep(seed, program, row, rate, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """0 or 1 / (1 - rate) for every pair; the same numbers forward and backward."""
    number = (program * BLOCK + row[:, None]) * BLOCK + row[None, :]
    return tl.where(tl.rand(tl.load(seed), number) >= rate, 1.0 / (1.0 - rate), 0.0)


@triton.jit
def _forward_kernel(  # type: ignore[no-untyped-def]
    qkv,
    bias,
    out,
    seed,
    length,
    scale,
    rate,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    program = tl.program_id(0)
    sequence, head = program // HEADS, program % HEADS
    row, column = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    channels: tl.constexpr = HEADS * WIDTH
    base = qkv + sequence * length * 3 * channels + head * WIDTH
    query = _tile(base, row, column, length, 3 * channels)
    key = _tile(base + channels, row, column, length, 3 * channels)
    value = _tile(base + 2 * channels, row, column, length, 3 * channels)
    weights = _probabilities(query, key, bias, program, row, length, scale, PRECISION)
    if DROPOUT:
        weights *= _keep(seed, program, row, rate, BLOCK)
    result = tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    target = out + sequence * length * channels + head * WIDTH + row[:, None] * channels + column[None, :]
    tl.store(target, result.to(out.dtype.element_ty), mask=row[:, None] < length)


@triton.jit
def _backward_kernel(  # type: ignore[no-untyped-def]
    qkv,
    bias,
    seed,
    grad_out,
    grad_qkv,
    grad_bias,
    length,
    scale,
    rate,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    program = tl.program_id(0)
    sequence, head = program // HEADS, program % HEADS
    row, column = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    channels: tl.constexpr = HEADS * WIDTH
    start = sequence * length * 3 * channels + head * WIDTH
    base = qkv + start
    query = _tile(base, row, column, length, 3 * channels)
    key = _tile(base + channels, row, column, length, 3 * channels)
    value = _tile(base + 2 * channels, row, column, length, 3 * channels)
    grad = _tile(grad_out + sequence * length * channels + head * WIDTH, row, column, length, channels)
    weights = _probabilities(query, key, bias, program, row, length, scale, PRECISION)
    grad_weights = tl.dot(grad, tl.trans(value), input_precision=PRECISION)
    dropped = weights
    if DROPOUT:
        keep = _keep(seed, program, row, rate, BLOCK)
        dropped = weights * keep
        grad_weights *= keep
    grad_logits = weights * (grad_weights - tl.sum(grad_weights * weights, axis=1)[:, None])

    inside = (row[:, None] < length) & (row[None, :] < length)
    places = (program * length + row[:, None]) * length + row[None, :]
    tl.store(grad_bias + places, grad_logits.to(grad_bias.dtype.element_ty), mask=inside)
    small = grad_logits.to(query.dtype)
    grad_query = tl.dot(small, key, input_precision=PRECISION) * scale
    grad_key = tl.dot(tl.trans(small), query, input_precision=PRECISION) * scale
    grad_value = tl.dot(tl.trans(dropped.to(grad.dtype)), grad, input_precision=PRECISION)
    target = grad_qkv + start + row[:, None] * 3 * channels + column[None, :]
    kind = grad_qkv.dtype.element_ty
    tl.store(target, grad_query.to(kind), mask=row[:, None] < length)
    tl.store(target + channels, grad_key.to(kind), mask=row[:, None] < length)
    tl.store(target + 2 * channels, grad_value.to(kind), mask=row[:, None] < length)


def _settings(qkv: Tensor, num_heads: int, rate: float) -> dict[str, object]:
    length, width = qkv.shape[1], qkv.shape[2] // 3 // num_heads
    return {
        "length": length,
        "scale": 1.0 / math.sqrt(width),
        "rate": rate,
        "HEADS": num_heads,
        "WIDTH": width,
        "BLOCK": max(16, triton.next_power_of_2(length)),
        "DROPOUT": rate > 0.0,
        "PRECISION": "ieee" if qkv.dtype == torch.float32 else "tf32",
        "num_warps": 1 if length <= 32 else 4,
    }


@torch.library.custom_op("ansgt::short_attention", mutates_args=())
def _short_attention(qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float) -> Tensor:
    qkv, bias = qkv.contiguous(), bias.contiguous()
    out = torch.empty((*qkv.shape[:2], qkv.shape[2] // 3), dtype=qkv.dtype, device=qkv.device)
    _forward_kernel[(qkv.shape[0] * num_heads,)](qkv, bias, out, seed, **_settings(qkv, num_heads, rate))
    return out


@_short_attention.register_fake
def _(qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float) -> Tensor:
    return qkv.new_empty((*qkv.shape[:2], qkv.shape[2] // 3))


@torch.library.custom_op("ansgt::short_attention_backward", mutates_args=())
def _short_attention_backward(
    grad: Tensor, qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float
) -> tuple[Tensor, Tensor]:
    qkv, bias, grad = qkv.contiguous(), bias.contiguous(), grad.contiguous()
    grad_qkv, grad_bias = torch.empty_like(qkv), torch.empty_like(bias)
    settings = _settings(qkv, num_heads, rate)
    _backward_kernel[(qkv.shape[0] * num_heads,)](qkv, bias, seed, grad, grad_qkv, grad_bias, **settings)
    return grad_qkv, grad_bias


@_short_attention_backward.register_fake
def _(
    grad: Tensor, qkv: Tensor, bias: Tensor, seed: Tensor, num_heads: int, rate: float
) -> tuple[Tensor, Tensor]:
    return qkv.new_empty(qkv.shape), bias.new_empty(bias.shape)


def _save(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    qkv, bias, seed, ctx.num_heads, ctx.rate = inputs
    ctx.save_for_backward(qkv, bias, seed)


def _backward(ctx, grad):  # type: ignore[no-untyped-def]
    grads = _short_attention_backward(grad, *ctx.saved_tensors, ctx.num_heads, ctx.rate)
    return (*grads, None, None, None)


_short_attention.register_autograd(_backward, setup_context=_save)


def short_attention(qkv: Tensor, bias: Tensor, num_heads: int, dropout: float = 0.0) -> Tensor:
    """Softmax(Q Kᵀ / sqrt(d_K) + bias) V for all heads.

    Args:
        qkv: fused projections [B, T, 3d], heads side by side within each of Q, K and V.
        bias: [B, H, T, T]; -inf where a key is masked.
        num_heads: H.
        dropout: on the attention weights.

    Returns:
        [B, T, d], heads side by side.
    """
    if qkv.shape[1] > FUSED_LENGTH:
        raise InputError(f"attention='triton' takes at most {FUSED_LENGTH} tokens, not {qkv.shape[1]}.")
    seed = (
        torch.randint(0, 2**31 - 1, (1,), device=qkv.device)
        if dropout
        else qkv.new_zeros(1, dtype=torch.int64)
    )
    return _short_attention(qkv, bias, seed, num_heads, dropout)
