"""The attention bias of section 5.2 as one Triton kernel each way (CUDA).

bias[h](i, j) = Σ_m W[h, m] Φ_m(i, j) + (scalar if one of i, j is a global node) + key_bias(j). As library calls this is
ten kernels, most of them slow paths for matrices of 8 x 10. Here one program takes some pairs of a sequence and all heads;
backward, a program sums over its sequences and the programs' sums are added up in a fixed order.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ansgt.models.triton_layers import folded

PAIRS, PROGRAMS = 128, 256


@triton.jit
def _places(first, pairs, length, num_global, PAIRS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Pairs of a block, which of them exist, their keys, and which go to or come from a global node."""
    pair = first + tl.arange(0, PAIRS)
    query, key = pair // length, pair % length  # before it grows to 64 bits: that division is slow
    is_global_query, is_global_key = query >= length - num_global, key >= length - num_global
    return (
        pair.to(tl.int64),
        pair < pairs,
        key,
        is_global_key & ~is_global_query,
        is_global_query & ~is_global_key,
    )


@triton.jit
def _bias_kernel(  # type: ignore[no-untyped-def]
    proximity,
    weight,
    scalars,
    key_bias,
    out,
    pairs,
    all_pairs,
    length,
    num_global,
    heads,
    channels,
    HEADS: tl.constexpr,
    CHANNELS: tl.constexpr,
    PAIRS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    sequence = tl.program_id(0)
    pair, inside, key, to_global, from_global = _places(
        tl.program_id(1) * PAIRS, pairs, length, num_global, PAIRS
    )
    head, channel = tl.arange(0, HEADS), tl.arange(0, CHANNELS)
    source = proximity + (sequence * all_pairs + pair[:, None]) * channels + channel[None, :]
    phi = tl.load(source, mask=inside[:, None] & (channel[None, :] < channels), other=0.0)
    known = (head[None, :] < heads) & (channel[:, None] < channels)
    w = tl.load(weight + head[None, :] * channels + channel[:, None], mask=known, other=0.0).to(phi.dtype)
    bias = tl.dot(phi, w, input_precision=PRECISION)  # [pairs, heads]
    one = tl.load(scalars + 2 * head, mask=head < heads, other=0.0)
    two = tl.load(scalars + 2 * head + 1, mask=head < heads, other=0.0)
    bias += (
        to_global[:, None].to(tl.float32) * one[None, :] + from_global[:, None].to(tl.float32) * two[None, :]
    )
    bias += tl.load(key_bias + sequence * length + key, mask=inside, other=0.0)[:, None]
    target = out + (sequence * heads + head[None, :]) * pairs + pair[:, None]
    tl.store(target, bias, mask=inside[:, None] & (head[None, :] < heads))


@triton.jit
def _bias_backward_kernel(  # type: ignore[no-untyped-def]
    proximity,
    grad,
    sums,
    sequences,
    pairs,
    all_pairs,
    length,
    num_global,
    heads,
    channels,
    HEADS: tl.constexpr,
    CHANNELS: tl.constexpr,
    PAIRS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Sums of a program [HEADS, CHANNELS + 2]: the gradient of W, then of the two scalars."""
    head, channel = tl.arange(0, HEADS), tl.arange(0, CHANNELS)
    total = tl.zeros([HEADS, CHANNELS], tl.float32)
    one, two = tl.zeros([HEADS, PAIRS], tl.float32), tl.zeros([HEADS, PAIRS], tl.float32)
    for sequence in range(tl.program_id(0), sequences, tl.num_programs(0)):
        for first in range(0, pairs, PAIRS):
            pair, inside, _, to_global, from_global = _places(first, pairs, length, num_global, PAIRS)
            place = sequence * all_pairs + pair[:, None]
            known = inside[:, None] & (channel[None, :] < channels)
            phi = tl.load(proximity + place * channels + channel[None, :], mask=known, other=0.0)
            source = grad + (sequence * heads + head[:, None]) * pairs + pair[None, :]
            g = tl.load(source, mask=inside[None, :] & (head[:, None] < heads), other=0.0)
            total = tl.dot(g.to(phi.dtype), phi, total, input_precision=PRECISION)
            one += g * to_global[None, :].to(tl.float32)
            two += g * from_global[None, :].to(tl.float32)
    width: tl.constexpr = CHANNELS + 2
    target = sums + tl.program_id(0) * HEADS * width + head * width
    tl.store(target[:, None] + channel[None, :], total)
    tl.store(target + CHANNELS, tl.sum(one, axis=1))
    tl.store(target + CHANNELS + 1, tl.sum(two, axis=1))


def _settings(proximity: Tensor, weight: Tensor, rows: int, num_global: int) -> dict[str, Any]:
    length, (heads, channels) = proximity.shape[2], weight.shape
    return {
        "pairs": rows * length,
        "all_pairs": length * length,
        "length": length,
        "num_global": num_global,
        "heads": heads,
        "channels": channels,
        "HEADS": max(16, triton.next_power_of_2(heads)),
        "CHANNELS": max(16, triton.next_power_of_2(channels)),
        "PAIRS": PAIRS,
        "PRECISION": "ieee" if proximity.dtype == torch.float32 else "tf32",
    }


def _forward(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    batch, length = proximity.shape[0], proximity.shape[2]
    out = torch.empty((batch, len(weight), rows, length), device=weight.device)
    settings = _settings(proximity, weight, rows, num_global)
    grid = (batch, triton.cdiv(rows * length, PAIRS))
    _bias_kernel[grid](proximity, weight, scalars, key_bias, out, **settings)
    return out


def _backward(grad: Tensor, proximity: Tensor, weight: Tensor, num_global: int) -> tuple[Tensor, Tensor]:
    settings = _settings(proximity, weight, grad.shape[2], num_global)
    programs = min(PROGRAMS, len(grad))
    width = settings["CHANNELS"] + 2
    sums = torch.empty((programs, settings["HEADS"], width), device=grad.device)
    _bias_backward_kernel[(programs,)](proximity, grad.contiguous(), sums, len(grad), **settings)
    heads, channels = weight.shape
    total = folded(sums)[:heads]
    return total[:, :channels].contiguous(), total[:, -2:].contiguous()


class _Eager(torch.autograd.Function):
    """What runs by default; an operator of `torch.library` would import `torch._dynamo`, which takes seconds."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        proximity: Tensor,
        weight: Tensor,
        scalars: Tensor,
        key_bias: Tensor,
        num_global: int,
        rows: int,
    ) -> Tensor:
        ctx.num_global = num_global
        ctx.save_for_backward(proximity, weight)
        return _forward(proximity, weight, scalars, key_bias, num_global, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        proximity, weight = ctx.saved_tensors
        return (None, *_backward(grad, proximity, weight, ctx.num_global), None, None, None)


@torch.library.custom_op("ansgt::pair_bias", mutates_args=())
def _compiled(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    return _forward(proximity, weight, scalars, key_bias, num_global, rows)


@_compiled.register_fake
def _(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    return weight.new_empty((proximity.shape[0], weight.shape[0], rows, proximity.shape[2]))


@torch.library.custom_op("ansgt::pair_bias_backward", mutates_args=())
def _compiled_backward(
    grad: Tensor, proximity: Tensor, weight: Tensor, num_global: int
) -> tuple[Tensor, Tensor]:
    return _backward(grad, proximity, weight, num_global)


@_compiled_backward.register_fake
def _(grad: Tensor, proximity: Tensor, weight: Tensor, num_global: int) -> tuple[Tensor, Tensor]:
    return weight.new_empty(weight.shape), weight.new_empty((weight.shape[0], 2))


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    proximity, weight, _, _, ctx.num_global, _ = inputs
    ctx.save_for_backward(proximity, weight)


def _apply_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return (None, *_compiled_backward(grad, *ctx.saved_tensors, ctx.num_global), None, None, None)


_compiled.register_autograd(_apply_backward, setup_context=_save)


def pair_bias(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, centre_only: bool
) -> Tensor:
    """`AttentionBias.forward` for features that need no gradient themselves; float32 [B, H, Q, T].

    Args:
        proximity: Φ [B, T, T, M].
        weight: W [H, M].
        scalars: of pairs with one global node [H, 2].
        key_bias: [B, T], float32.
        num_global: the last slots hold that many global nodes.
        centre_only: only the row of token 0.
    """
    rows = 1 if centre_only else proximity.shape[1]
    function = _compiled if torch.compiler.is_compiling() else _Eager.apply
    proximity, key_bias = proximity.contiguous(), key_bias.contiguous()
    return function(proximity, weight, scalars, key_bias, num_global, rows)
