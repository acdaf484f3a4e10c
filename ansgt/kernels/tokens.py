"""The tokens' first states: rows of encoded features and global nodes, one per token, plus the vector of its kind.

The twin sums their gradients in an order that does not matter. A row of the encoded features serves every token that
stands for it, and so its gradient is a sum over these tokens. Added up by atomic additions of floats, that sum depends on
which token came first: it was the one thing that made two runs with one seed differ on a GPU. Integers have no such
order, so here the terms are added as multiples of 2⁻⁴⁴.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.kernels.autograd import Differentiable, Passes
from ansgt.kernels.choose import Kernel, choose
from ansgt.kernels.language import tl, triton


def plain_first_states(
    rows: Tensor, globals: Tensor, kinds: Tensor | None, index: Tensor, counts: Sequence[int]
) -> Tensor:
    """The gather written out, for the arguments of `first_states`."""
    h = F.embedding(index, torch.cat([rows.to(globals.dtype), globals]))
    return h if kinds is None else h + _per_slot(kinds, counts)


def first_states(
    rows: Tensor,
    globals: Tensor,
    kinds: Tensor | None,
    index: Tensor,
    counts: Sequence[int],
    kernel: Kernel = "auto",
) -> Tensor:
    """The row of every token plus the vector of its kind [B, T, d].

    In float32 even under autocast, because the gradient of a row is a sum over all tokens that used it.

    Args:
        rows: encoded features [U, d].
        globals: global nodes [n_g, d], float32.
        kinds: a vector per kind of token [4, d], float32, or None.
        index: row of every token [B, T], int64; U + g for global node g.
        counts: how many slots each of the four kinds has, in the order of the slots.
        kernel: how it is computed. The twin adds up a row's gradient in an order that does not matter.
    """
    if choose("tokens", rows, kernel) == "triton":
        return triton_first_states(rows, globals, kinds, index, counts)
    return plain_first_states(rows, globals, kinds, index, counts)


def _per_slot(kinds: Tensor, counts: Sequence[int]) -> Tensor:
    """Kind vector of every slot [T, d], built from slices: an index tensor would have to travel to the device."""
    return torch.cat([kinds[k : k + 1].expand(count, -1) for k, count in enumerate(counts)])


UNIT = 2.0**-44
"""What sums are counted in; 64 bits hold ±2¹⁹ of it."""
LARGEST = 2.0**14
"""A gradient beyond that belongs to a run that has diverged; cut, so that a sum of thirty such still fits."""
NUM_KINDS = 4
ROWS = 16
_UNIT, _LARGEST, _NUM_KINDS = tl.constexpr(UNIT), tl.constexpr(LARGEST), tl.constexpr(NUM_KINDS)


@triton.jit
def _kind_of(token, length, first_super, first_global):
    """Which of the four kinds a token is, by its slot."""
    slot = token % length
    return (slot >= 1).to(tl.int32) + (slot >= first_super).to(tl.int32) + (slot >= first_global).to(tl.int32)


@triton.jit
def _tokens_kernel(
    rows,
    globals,
    kinds,
    index,
    out,
    tokens,
    num_rows,
    length,
    first_super,
    first_global,
    width,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
):
    token, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    inside, exists = token < tokens, column[None, :] < width
    row = tl.load(index + token, mask=inside, other=0)
    is_row = (inside & (row < num_rows))[:, None] & exists
    is_global = (inside & (row >= num_rows))[:, None] & exists
    state = tl.load(rows + row[:, None] * width + column[None, :], mask=is_row, other=0.0).to(tl.float32)
    state += tl.load(globals + (row - num_rows)[:, None] * width + column[None, :], mask=is_global, other=0.0)
    if KINDS:
        kind = _kind_of(token, length, first_super, first_global)
        state += tl.load(kinds + kind[:, None] * width + column[None, :], mask=exists, other=0.0)
    tl.store(out + token[:, None] * width + column[None, :], state, mask=inside[:, None] & exists)


@triton.jit
def _counted(value):
    """A float32 in units; exact but for what is smaller than one."""
    return (tl.minimum(tl.maximum(value, -_LARGEST), _LARGEST) * (1.0 / _UNIT)).to(tl.int64)


@triton.jit
def _add(place, value, inside):
    tl.atomic_add(place, value, mask=inside & (value != 0), sem="relaxed")


@triton.jit
def _tokens_backward_kernel(
    grad,
    index,
    sums,
    kind_sums,
    tokens,
    length,
    first_super,
    first_global,
    width,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    KINDS: tl.constexpr,
):
    """Adds the tokens' gradients to their rows of `sums`, and those of each kind to its row of `kind_sums`.

    Zeros are not added: masked tokens have nothing else, and they all stand for the same row, where additions wait for
    each other.
    """
    token, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    inside = (token < tokens)[:, None] & (column[None, :] < width)
    row = tl.load(index + token, mask=token < tokens, other=0)
    g = tl.load(grad + token[:, None] * width + column[None, :], mask=inside, other=0.0)
    _add(sums + row[:, None] * width + column[None, :], _counted(g), inside)
    if KINDS:
        kind = _kind_of(token, length, first_super, first_global)
        for k in tl.static_range(_NUM_KINDS):
            of_kind = tl.sum(tl.where((kind == k)[:, None], g, 0.0), axis=0)
            _add(kind_sums + k * width + column, _counted(of_kind), column < width)


@triton.jit
def _totals_kernel(sums, rows, globals, kinds, num_rows, num_globals, size, BLOCK: tl.constexpr):
    """Sums as floats: the first `num_rows` numbers to `rows`, then `num_globals` to `globals`, the others to `kinds`."""
    number = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(sums + number, mask=number < size, other=0).to(tl.float32) * _UNIT
    in_globals = number - num_rows
    in_kinds = in_globals - num_globals
    tl.store(rows + number, total.to(rows.dtype.element_ty), mask=in_globals < 0)
    tl.store(globals + in_globals, total, mask=(in_globals >= 0) & (in_kinds < 0))
    tl.store(kinds + in_kinds, total, mask=(in_kinds >= 0) & (number < size))


def _settings(index: Tensor, width: int, counts: list[int], has_kinds: bool) -> dict[str, Any]:
    _, num_sampled, num_supernodes, _ = counts
    return {
        "tokens": index.numel(),
        "length": index.shape[1],
        "first_super": 1 + num_sampled,
        "first_global": 1 + num_sampled + num_supernodes,
        "width": width,
        "ROWS": ROWS,
        "WIDTH": triton.next_power_of_2(width),
        "KINDS": has_kinds,
    }


def _forward(rows: Tensor, globals: Tensor, kinds: Tensor, index: Tensor, counts: list[int]) -> Tensor:
    width = rows.shape[1]
    out = torch.empty((*index.shape, width), device=rows.device)
    settings = _settings(index, width, counts, bool(len(kinds)))
    _tokens_kernel[(triton.cdiv(index.numel(), ROWS),)](
        rows, globals, kinds, index, out, num_rows=len(rows), **settings
    )
    return out


def _backward(
    grad: Tensor, index: Tensor, sizes: list[int], counts: list[int], dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of rows, global nodes and kinds, of which there are `sizes`."""
    num_rows, num_global, num_kinds = sizes
    grad, width = grad.contiguous(), grad.shape[-1]
    sums = torch.zeros((num_rows + num_global + num_kinds, width), dtype=torch.int64, device=grad.device)
    settings = _settings(index, width, counts, bool(num_kinds))
    _tokens_backward_kernel[(triton.cdiv(index.numel(), ROWS),)](
        grad, index, sums, sums[num_rows + num_global :], **settings
    )
    rows = grad.new_empty((num_rows, width), dtype=dtype)
    globals, kinds = (torch.empty((size, width), device=grad.device) for size in (num_global, num_kinds))
    _totals_kernel[(triton.cdiv(sums.numel(), 1024),)](
        sums, rows, globals, kinds, rows.numel(), globals.numel(), sums.numel(), BLOCK=1024
    )
    return rows, globals, kinds


def _like(rows: Tensor, globals: Tensor, kinds: Tensor, index: Tensor, counts: list[int]) -> Tensor:
    return globals.new_empty((*index.shape, rows.shape[1]))


def _backward_like(
    grad: Tensor, index: Tensor, sizes: list[int], counts: list[int], dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    rows, globals, kinds = (grad.new_empty((size, grad.shape[-1])) for size in sizes)
    return rows.to(dtype), globals, kinds


def _saved(arguments: Sequence[Any], results: tuple[Tensor, ...]) -> Sequence[Any]:
    rows, globals, kinds, index, counts = arguments
    return index, [len(rows), len(globals), len(kinds)], counts, rows.dtype


_tokens = Differentiable(
    Passes("tokens", _forward, _like, _backward, _backward_like, learned=(0, 1, 2), saved=_saved)
)


def triton_first_states(
    rows: Tensor, globals: Tensor, kinds: Tensor | None, index: Tensor, counts: Sequence[int]
) -> Tensor:
    """The twin of `plain_first_states`, with the same arguments; float32."""
    kinds = globals.new_empty((0, globals.shape[1])) if kinds is None else kinds
    return _tokens(rows.contiguous(), globals, kinds, index.contiguous(), list(counts))
