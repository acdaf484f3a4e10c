"""Dropout inside Triton kernels: a mask that forward and backward pass recompute from a seed instead of storing it.

`tl.rand` (Philox, ten rounds a number) took half of the time of a kernel over short sequences. A mask needs no more than
decorrelated bits, so here a number is a counter through two rounds of multiply and xor-shift, keyed by a seed that is drawn
on the device.
"""

import triton
import triton.language as tl


@triton.jit
def _mixed(value):  # type: ignore[no-untyped-def]
    """A bijection of 32 bits in which every input bit moves every output bit (Wellons' lowbias32 constants)."""
    value ^= value >> 16
    value *= 0x7FEB352D
    value ^= value >> 15
    value *= 0x846CA68B
    return value ^ (value >> 16)


@triton.jit
def keep_scale(seed, site, number, rate):  # type: ignore[no-untyped-def]
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
    bits = _mixed(_mixed(number.to(tl.uint32) ^ key) + (high ^ (key >> 7)))
    return tl.where((bits >> 8).to(tl.float32) * (1.0 / 16777216.0) >= rate, 1.0 / (1.0 - rate), 0.0)
