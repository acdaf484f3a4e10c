"""Sparse times dense, the same bits every time.

The twin adds up in the order of a row's entries. `torch.sparse` leaves this to cuSPARSE, whose sums over long rows depend
on which part of a row comes first: on Chameleon and Actor, whose hubs have hundreds of neighbours, two runs with one seed
did not see the same proximities. Here a program has one row of the result and 512 of its columns, and adds up by itself.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import torch
from torch import Tensor

from ansgt.kernels.choose import Kernel, choose
from ansgt.kernels.language import tl, triton


def product(matrix: Tensor, x: Tensor, kernel: Kernel = "auto") -> Tensor:
    """matrix [n, k] in CSR times x [k, c], both float32 -> [n, c]."""
    if choose("product", x, kernel) == "triton":
        return ordered_product(matrix, x)
    return matrix @ x


COLUMNS = 512


@triton.jit
def _product_kernel(start, neighbor, weight, x, out, columns, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < columns
    total = tl.zeros([COLUMNS], tl.float32)
    for entry in range(tl.load(start + row), tl.load(start + row + 1)):
        source = x + tl.load(neighbor + entry).to(tl.int64) * columns + column
        total += tl.load(weight + entry) * tl.load(source, mask=inside, other=0.0)
    tl.store(out + row * columns + column, total, mask=inside)


def ordered_product(matrix: Tensor, x: Tensor) -> Tensor:
    """The twin of `product`, float32."""
    x = x.contiguous()
    out = torch.empty((matrix.shape[0], x.shape[1]), device=x.device)
    grid = (out.shape[0], triton.cdiv(out.shape[1], COLUMNS))
    if out.numel():
        _product_kernel[grid](
            matrix.crow_indices(), matrix.col_indices(), matrix.values(), x, out, x.shape[1], COLUMNS=COLUMNS
        )
    return out
