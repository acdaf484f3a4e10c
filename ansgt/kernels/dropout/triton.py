"""Dropout inside Triton kernels: a mask that forward and backward pass recompute from a seed instead of storing it.

`tl.rand` (Philox, ten rounds a number) took half of the time of a kernel over short sequences. A mask needs no more than
decorrelated bits, so here a number is a counter through one round of multiply and xor-shift, keyed by a seed that is drawn
on the device.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import torch
import triton
import triton.language as tl
from torch import Tensor

from ansgt.kernels.dropout import new_seed


@triton.jit
def _mixed(value):
    """A bijection of 32 bits in which every input bit moves every output bit (Wellons' lowbias32 constants)."""
    value ^= value >> 16
    value *= 0x7FEB352D
    value ^= value >> 15
    value *= 0x846CA68B
    return value ^ (value >> 16)


@triton.jit
def keep_scale(seed, site, number, rate):
    """0 or 1 / (1 - rate) for every entry of `number`.

    Args:
        seed: pointer to an int64 of the step.
        site: which dropout of the step; its numbers are unrelated to those of other sites.
        number: position of an entry within its site, int32.
        rate: share that is dropped.
    """
    drawn = tl.load(seed)
    low, high = drawn.to(tl.uint32), (drawn >> 32).to(tl.uint32)
    key = _mixed(low + tl.cast(site, tl.uint32) * 0x9E3779B9)
    bits = _mixed((number.to(tl.uint32) ^ key) + high)
    return tl.where((bits >> 8).to(tl.float32) * (1.0 / 16777216.0) >= rate, 1.0 / (1.0 - rate), 0.0)


@triton.jit
def _dropped_kernel(x, out, seed, rate, size, BLOCK: tl.constexpr):
    number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + number, mask=number < size, other=0.0)
    kept = value.to(tl.float32) * keep_scale(seed, 0, number, rate)
    tl.store(out + number, kept.to(out.dtype.element_ty), mask=number < size)


def _dropped(x: Tensor, seed: Tensor, rate: float) -> Tensor:
    out, size = torch.empty_like(x), x.numel()
    _dropped_kernel[(triton.cdiv(size, 1024),)](x, out, seed, rate, size, BLOCK=1024)
    return out


@torch.library.custom_op("ansgt::dropped", mutates_args=())
def _compiled(x: Tensor, seed: Tensor, rate: float) -> Tensor:
    return _dropped(x, seed, rate)


@_compiled.register_fake
def _(x: Tensor, seed: Tensor, rate: float) -> Tensor:
    return torch.empty_like(x)


def dropped(x: Tensor, rate: float) -> Tensor:
    """The twin of `input_dropout`, for a contiguous tensor."""
    function = _compiled if torch.compiler.is_compiling() else _dropped
    return function(x, new_seed(rate, x.device), rate)
