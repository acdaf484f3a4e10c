"""What is added to the attention logits, per head: the proximity encoding of section 5.2 and all else about a pair.

bias[h](i, j) = Σ_m W[h, m] Φ_m(i, j) + (learned scalar if one of i, j is a global node) + key_bias(j).

A global node has no proximity. Of the pairs with one, (i, global) and (global, j) get a scalar per head; (global,
global) needs none, since a softmax row may be shifted freely.

The twin is one kernel each way. As library calls it is ten kernels, most of them slow paths for matrices of 8 x 10. Here
one program takes some pairs of a sequence and all heads; backward, a program sums over its sequences and the programs'
sums are added up in a fixed order.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ansgt.kernels.autograd import Differentiable, Passes
from ansgt.kernels.choose import Kernel, as_operand, choose, dot_precision
from ansgt.kernels.language import folded, tl, triton


def plain_pair_bias(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    """The bias written out, for the arguments of `pair_bias`."""
    batch, _, length, channels = proximity.shape
    proximity = proximity[:, :rows]
    pairs = as_operand(proximity.reshape(batch, rows * length, channels).transpose(1, 2), weight)
    # bmm with W repeated, not one matmul: the result is contiguous with the heads in front, and the gradient of W
    # is split over the batch.
    bias = torch.bmm(weight.expand(batch, -1, -1), pairs).view(batch, weight.shape[0], rows, length)
    if num_global:
        bias = bias + _global_pairs(scalars, rows, length, num_global)
    return bias + key_bias[:, None, None, :]


def pair_bias(
    proximity: Tensor,
    weight: Tensor,
    scalars: Tensor,
    key_bias: Tensor,
    num_global: int,
    rows: int,
    kernel: Kernel = "plain",
) -> Tensor:
    """The bias of the first `rows` tokens [B, H, rows, T], contiguous.

    Args:
        proximity: Φ_m(i, j) of at least the first `rows` tokens with all [B, >= rows, T, M].
        weight: W [H, M].
        scalars: of (i, global) and (global, j) [H, 2].
        key_bias: added to every logit of a key [B, T]; log(count), or -inf where masked.
        num_global: the last slots hold that many global nodes.
        rows: 1 for the centre alone, T for all.
        kernel: how it is computed. The twin gives no gradient of `proximity` and `key_bias`.
    """
    arguments = (proximity, weight, scalars, key_bias, num_global, rows)
    if choose("bias", proximity, kernel, {"channels": weight.shape[1]}) == "triton":
        return triton_pair_bias(*arguments)
    return plain_pair_bias(*arguments)


def _global_pairs(scalars: Tensor, rows: int, length: int, num_global: int) -> Tensor:
    """[H, Q, T]; scalars times 0/1 masks, whose gradient is a sum (indexing would sort, a product waste a kernel)."""
    is_global = torch.arange(length, device=scalars.device) >= length - num_global
    to_global = (is_global & ~is_global[:rows, None]).to(scalars.dtype)
    from_global = (~is_global & is_global[:rows, None]).to(scalars.dtype)
    columns = scalars[:, :, None, None]
    return columns[:, 0] * to_global + columns[:, 1] * from_global


PAIRS, PROGRAMS = 128, 256


@triton.jit
def _places(first, pairs, length, num_global, PAIRS: tl.constexpr):
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
def _bias_kernel(
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
def _bias_backward_kernel(
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
        "all_pairs": proximity.shape[1] * length,
        "length": length,
        "num_global": num_global,
        "heads": heads,
        "channels": channels,
        "HEADS": max(16, triton.next_power_of_2(heads)),
        "CHANNELS": max(16, triton.next_power_of_2(channels)),
        "PAIRS": PAIRS,
        "PRECISION": dot_precision(proximity.dtype),
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


def _like(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    return weight.new_empty((proximity.shape[0], weight.shape[0], rows, proximity.shape[2]))


def _backward_like(grad: Tensor, proximity: Tensor, weight: Tensor, num_global: int) -> tuple[Tensor, Tensor]:
    return weight.new_empty(weight.shape), weight.new_empty((weight.shape[0], 2))


def _saved(arguments: Sequence[Any], results: tuple[Tensor, ...]) -> Sequence[Any]:
    proximity, weight, _, _, num_global, _ = arguments
    return proximity, weight, num_global


_bias = Differentiable(
    Passes("pair_bias", _forward, _like, _backward, _backward_like, learned=(1, 2), saved=_saved)
)


def triton_pair_bias(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    """The twin of `plain_pair_bias`, in float32, with gradients of W and the scalars alone."""
    return _bias(proximity.contiguous(), weight, scalars, key_bias.contiguous(), num_global, rows)
