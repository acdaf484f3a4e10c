"""Sums over the first dimension in a fixed order, so that a sum has the same bits every time."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import torch
import triton
import triton.language as tl
from torch import Tensor


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
    """Sum over the first dimension."""
    out = torch.empty_like(pieces[0])
    count = min(triton.next_power_of_2(len(pieces)), 32)
    columns = 2048 // count
    grid = (triton.cdiv(out.numel(), columns),)
    _fold_kernel[grid](pieces, out, len(pieces), out.numel(), COUNT=count, COLUMNS=columns)
    return out
