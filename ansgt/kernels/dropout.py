"""Dropout that does not dominate a training step.

On the CPU `torch.nn.functional.dropout` draws one 53-bit number per element, from one thread: 42 % of the transformer's
step on two cores. Here one 64-bit draw serves four elements; the rate is rounded to a multiple of 1/65536.

Inside Triton kernels a mask is recomputed from a seed by the forward and the backward pass, not stored. `tl.rand`
(Philox, ten rounds a number) took half of the time of a kernel over short sequences. A mask needs no more than
decorrelated bits, so here a number is a counter through one round of multiply and xor-shift, keyed by a seed that is
drawn on the device.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ansgt.arrays import brief_repr
from ansgt.kernels.choose import Kernel, choose
from ansgt.kernels.language import tl, triton

_LEVELS = 1 << 16
_TWISTER_PAYS = 1 << 13
"""Numbers of a mask from which on it is drawn by `ansgt.kernels.twister`."""


@dataclass(frozen=True)
class Places:
    """Which rows of a whole lie in a tensor. On a CPU a mask is drawn for the whole, so that it does not depend on who else
    computes a part of it.

    Args:
        index: rows of the whole, in the tensor's order; None: all.
        length: how many the whole has, where that is not the number of the tensor's rows.
    """

    index: slice | Tensor | None = None
    length: int | None = None
    __repr__ = brief_repr


WHOLE = Places()
_batch = WHOLE


@contextmanager
def part_of_batch(places: Places) -> Iterator[None]:
    """A block in which tensors whose rows are those of a batch are a part of it (see `ansgt.ranks`)."""
    global _batch
    before, _batch = _batch, places
    try:
        yield
    finally:
        _batch = before


def dropout(x: Tensor, rate: float, training: bool = True, places: Places | None = None) -> Tensor:
    """Zeroes a share `rate` of the entries and scales the others so that the mean stays; draws from torch's generator.

    Args:
        x: by default with as many rows for every row of the batch.
        rate: share of the entries.
        training: else `x` stays as it is.
        places: what the rows of `x` are, where they are not those of the batch.

    >>> dropout(torch.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    if not training or rate == 0.0:
        return x
    if torch.compiler.is_compiling() or choose("dropout", x) == "cuda":
        return F.dropout(x, rate)
    return x * _keep_scale(x, rate, _batch if places is None else places)


def input_dropout(
    x: Tensor, rate: float, training: bool = True, kernel: Kernel = "auto", places: Places = WHOLE
) -> Tensor:
    """`dropout` of the model's dense inputs. The twin does not keep a mask, so it is for an `x` without gradient."""
    is_constant = training and rate > 0.0 and not x.requires_grad
    if is_constant and choose("input_dropout", x, kernel) == "triton":
        return dropped(x, rate)
    return dropout(x, rate, training, places)


class Dropout(nn.Module):
    """`dropout` as a module."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate, self.training)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def keep_columns(dropped: Tensor, x: Tensor, num_kept: int, width: int) -> Tensor:
    """`dropped` with the last `num_kept` of the `width` columns as they are in `x`; both dense, or the values of a CSR x.

    >>> keep_columns(torch.zeros(1, 3), torch.ones(1, 3), num_kept=2, width=3)
    tensor([[0., 1., 1.]])
    """
    if num_kept == 0:
        return dropped
    first = width - num_kept
    if x.layout == torch.strided:
        return torch.cat([dropped[:, :first], x[:, first:]], dim=1)
    return torch.where(x.col_indices() >= first, x.values(), dropped)


def new_seed(rate: float, device: torch.device) -> Tensor:
    """A seed for the masks of Triton kernels, from the device's generator.

    Inside a captured graph it advances with every replay.
    """
    if not rate:
        return torch.zeros(1, dtype=torch.int64, device=device)
    return torch.randint(0, 2**62, (1,), device=device)


def _keep_scale(x: Tensor, rate: float, places: Places) -> Tensor:
    """0 or 1 / (1 - rate), in the shape of x."""
    threshold = min(round(rate * _LEVELS), _LEVELS - 1)
    whole = x.shape if places.length is None else (places.length, *x.shape[1:])
    number = math.prod(whole)
    least, scale = threshold - _LEVELS // 2, _LEVELS / (_LEVELS - threshold)
    is_fast = number >= _TWISTER_PAYS and _twister_serves(x.dtype)
    levels = _int64s(-(-number // 4), is_fast).view(torch.int16)[:number].view(whole)  # -32768 .. 32767
    if places.index is not None:
        levels = levels[places.index]
    if is_fast:
        from ansgt.kernels.twister import chosen

        return chosen(levels.numpy(), least, scale, x.dtype)
    kept = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(levels, least, out=kept)  # `where` on a bool mask is 15 times slower
    return kept.mul_(scale)


def _int64s(number: int, is_fast: bool) -> Tensor:
    """Numbers of torch's generator, over all int64; the same either way."""
    if is_fast:
        from ansgt.kernels.twister import int64s

        return torch.from_numpy(int64s(number))
    return torch.empty(number, dtype=torch.int64).random_(-(2**63), None)


def _twister_serves(dtype: torch.dtype) -> bool:
    from ansgt.kernels.twister import follows_torch  # numba, which whoever predicts does not need

    return dtype in (torch.float32, torch.bfloat16) and follows_torch()


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
