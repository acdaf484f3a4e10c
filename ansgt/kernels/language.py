"""Triton and its language, or stand-ins where it has no use; and sums in a fixed order, which several twins need.

torch for the CPU comes without triton. The twins stand in one file with the function they compute, so that this file has to
be readable there as well.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

from typing import Any

import torch
from torch import Tensor

from ansgt.kernels.choose import HAS_TRITON, is_interpreted

__all__ = ["Absent", "folded", "tl", "triton"]


class Absent:
    """In place of a module: has every name, and leaves what it decorates or is called with as it is."""

    def __getattr__(self, name: str) -> "Absent":
        return self

    def __call__(self, value: Any) -> Any:
        return value


if HAS_TRITON and (torch.backends.cuda.is_built() or is_interpreted()):
    import triton
    import triton.language as tl
else:
    triton = tl = Absent()


@triton.jit
def _fold_kernel(source, out, count, size, COUNT: tl.constexpr, COLUMNS: tl.constexpr):
    """Sum over the first dimension of [count, size], in a fixed order."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([COUNT, COLUMNS], tl.float32)
    for first in range(0, count, COUNT):
        row = first + tl.arange(0, COUNT)
        inside = (row[:, None] < count) & (column[None, :] < size)
        total += tl.load(source + row[:, None].to(tl.int64) * size + column[None, :], mask=inside, other=0.0)
    tl.store(out + column, tl.sum(total, axis=0), mask=column < size)


def folded(pieces: Tensor) -> Tensor:
    """Sum over the first dimension, the same bits every time."""
    out = torch.empty_like(pieces[0])
    count = min(triton.next_power_of_2(len(pieces)), 32)
    columns = 2048 // count
    grid = (triton.cdiv(out.numel(), columns),)
    _fold_kernel[grid](pieces, out, len(pieces), out.numel(), COUNT=count, COLUMNS=columns)
    return out
