"""Attention of all nodes to all nodes, with a bias per pair, in memory that grows with n and not with n².

The plain function goes through the query rows block by block. Its twin takes a bias that depends on the kind of a pair
alone, one byte per pair, and keeps tiles on chip.

softmax(Q Kᵀ / sqrt(d) + b[c_ij]) V, c an [n, n] table of bytes: the distance of two nodes for Graphormer, "edge or not"
for SAN. The blocked path writes the bias and the logits of every block to memory, and reads the logits' gradient once per
kind to sum it; on Pubmed that was a second per epoch. Here a tile of 64 x 64 pairs stays on chip, the softmax is kept as
its row-wise log-sum-exp, and the backward pass recomputes the rest.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ansgt.kernels.autograd import Differentiable, Passes
from ansgt.kernels.choose import Kernel, choose
from ansgt.kernels.language import tl, triton

BLOCK_BYTES = 256 * 2**20
"""What one [heads, rows, n] float32 block may take; a backward step holds about five of them."""

BLOCKS_HELD = 5


def block_rows(num_nodes: int, heads: int) -> int:
    """Query rows per block.

    >>> block_rows(1000, 4), block_rows(20_000, 4)
    (1000, 838)
    """
    return min(num_nodes, max(1, BLOCK_BYTES // (4 * heads * num_nodes)))


def full_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Callable[[slice], Tensor], dropout: float = 0.0
) -> Tensor:
    """softmax(Q Kᵀ / sqrt(d) + bias) V.

    Args:
        query, key, value: [heads, n, d].
        bias: rows of the bias [heads or 1, rows, n]; a bool tensor says who may be attended to. It is called again in
            the backward pass when there is more than one block, so that nothing of size n² outlives a block.
        dropout: of attention weights.

    Returns:
        [heads, n, d].
    """
    heads, num_nodes, _ = query.shape
    rows = block_rows(num_nodes, heads)

    def block(part: Tensor, key: Tensor, value: Tensor, at: slice) -> Tensor:
        mask = bias(at).unsqueeze(0)
        out = F.scaled_dot_product_attention(part[None], key[None], value[None], mask, dropout)
        return out.squeeze(0)

    if rows == num_nodes:
        return block(query, key, value, slice(0, num_nodes))
    blocks = []
    for start in range(0, num_nodes, rows):
        at = slice(start, min(start + rows, num_nodes))
        blocks.append(checkpoint(block, query[:, at], key, value, at, use_reentrant=False))
    return torch.cat(blocks, dim=1)


def pair_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    table: Tensor,
    code: Tensor,
    dropout: float = 0.0,
    kernel: Kernel = "auto",
) -> Tensor:
    """softmax(Q Kᵀ / sqrt(d) + table[code]) V.

    Args:
        query, key, value: [heads, n, d], float32.
        table: bias of every kind of pair [heads, kinds]; -inf forbids a kind.
        code: kind of every pair [n, n], uint8.
        dropout: of attention weights.
        kernel: how it is computed. In the twin a row without a permitted pair gives 0.

    Returns:
        [heads, n, d].
    """
    if takes_pairs(query, dropout, kernel):
        return triton_pair_attention(query, key, value, table, code)
    return full_attention(query, key, value, partial(_bias_rows, table, code), dropout)


def takes_pairs(query: Tensor, dropout: float, kernel: Kernel = "auto") -> bool:
    """Whether `pair_attention` reads the table of pairs as it is, instead of block by block."""
    sizes = {"num_nodes": query.shape[1], "head_channels": query.shape[-1], "dropout": dropout}
    return choose("pairs", query, kernel, sizes) == "triton"


def _bias_rows(table: Tensor, code: Tensor, at: slice) -> Tensor:
    return PairBias.apply(table, code[at])  # type: ignore[no-any-return]


class PairBias(torch.autograd.Function):
    """table [heads, kinds] looked up at `code` [rows, n], uint8: [heads, rows, n].

    The gradient is a sum over millions of pairs into some twenty bins: a histogram, where indexing would sort or
    collide.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, code: Tensor) -> Tensor:
        ctx.save_for_backward(code)
        ctx.bins = table.shape[1]
        return table[:, code.int()]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (code,), (grad,) = ctx.saved_tensors, grads
        if choose("lookup", grad) == "cuda":  # bincount has no deterministic version there
            columns = [(grad * (code == kind)).sum((1, 2)) for kind in range(ctx.bins)]
            return torch.stack(columns, dim=1), None
        flat = code.flatten()
        rows = [torch.bincount(flat, weights=part.flatten(), minlength=ctx.bins) for part in grad]
        return torch.stack(rows).to(grad.dtype), None


def attention_bytes(num_nodes: int, heads: int, hidden_channels: int, num_layers: int) -> int:
    """Upper estimate for a transformer of full attention: blocks in flight, and what every layer keeps."""
    blocks = BLOCKS_HELD * 4 * heads * block_rows(num_nodes, heads) * num_nodes
    whole = num_layers if block_rows(num_nodes, heads) == num_nodes else 1
    activations = num_layers * 24 * 4 * num_nodes * hidden_channels
    return blocks * whole + activations


TILE = 64


@triton.jit
def _rows(base, row, column, num_nodes, WIDTH: tl.constexpr):
    """Rows of an [n, d] slice, zero beyond n."""
    return tl.load(base + row[:, None] * WIDTH + column[None, :], mask=row[:, None] < num_nodes, other=0.0)


@triton.jit
def _logits(
    query, key, table, code, row, other, num_nodes, scale, BINS: tl.constexpr, PRECISION: tl.constexpr
):
    """Scaled products plus bias of a tile [row, other], -inf beyond n, and the tile's codes."""
    inside = (row[:, None] < num_nodes) & (other[None, :] < num_nodes)
    place = row[:, None].to(tl.int64) * num_nodes + other[None, :]
    kind = tl.load(code + place, mask=inside, other=0).to(tl.int32)
    kind = tl.minimum(kind, BINS - 1)
    logits = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale
    logits += tl.load(table + kind)
    return tl.where(other[None, :] < num_nodes, logits, -float("inf")), tl.where(inside, kind, -1)


@triton.jit
def _forward_kernel(
    query,
    key,
    value,
    table,
    code,
    out,
    lse,
    num_nodes,
    scale,
    BINS: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    head = tl.program_id(1)
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, WIDTH)
    start = head.to(tl.int64) * num_nodes * WIDTH
    q = _rows(query + start, row, column, num_nodes, WIDTH)
    largest = tl.full([TILE], -float("inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    mean = tl.zeros([TILE, WIDTH], tl.float32)
    for first in range(0, num_nodes, TILE):
        other = first + tl.arange(0, TILE)
        k = _rows(key + start, other, column, num_nodes, WIDTH)
        v = _rows(value + start, other, column, num_nodes, WIDTH)
        logits, _ = _logits(q, k, table + head * BINS, code, row, other, num_nodes, scale, BINS, PRECISION)
        risen = tl.maximum(largest, tl.max(logits, axis=1))
        finite = tl.where(risen == -float("inf"), 0.0, risen)
        weights = tl.exp(logits - finite[:, None])
        shrink = tl.exp(largest - finite)
        total = total * shrink + tl.sum(weights, axis=1)
        mean = mean * shrink[:, None] + tl.dot(weights, v, input_precision=PRECISION)
        largest = risen
    known = total > 0.0
    mean = tl.where(known[:, None], mean / tl.where(known, total, 1.0)[:, None], 0.0)
    target = out + start + row[:, None] * WIDTH + column[None, :]
    tl.store(target, mean, mask=row[:, None] < num_nodes)
    level = tl.where(known, largest + tl.log(tl.where(known, total, 1.0)), float("inf"))
    tl.store(lse + head.to(tl.int64) * num_nodes + row, level, mask=row < num_nodes)


@triton.jit
def _query_rows(query, grad_out, lse, delta, head, row, column, num_nodes, WIDTH: tl.constexpr):
    """What the backward pass needs of some queries: their rows, gradients, log-sum-exp and delta."""
    start, per_row = head.to(tl.int64) * num_nodes * WIDTH, head.to(tl.int64) * num_nodes + row
    q = _rows(query + start, row, column, num_nodes, WIDTH)
    grad = _rows(grad_out + start, row, column, num_nodes, WIDTH)
    level = tl.load(lse + per_row, mask=row < num_nodes, other=float("inf"))
    inner = tl.load(delta + per_row, mask=row < num_nodes, other=0.0)
    return q, grad, level, inner


@triton.jit
def _grad_logits(v, grad, level, delta, logits, PRECISION: tl.constexpr):
    """Weights of a tile and the gradient of its logits."""
    weights = tl.exp(logits - level[:, None])
    grad_weights = tl.dot(grad, tl.trans(v), input_precision=PRECISION)
    return weights, weights * (grad_weights - delta[:, None])


@triton.jit
def _grad_query_kernel(
    query,
    key,
    value,
    table,
    code,
    grad_out,
    lse,
    delta,
    grad_query,
    grad_table,
    num_nodes,
    scale,
    BINS: tl.constexpr,
    SLOTS: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    PRECISION: tl.constexpr,
    LEARNED: tl.constexpr,
):
    head = tl.program_id(1)
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, WIDTH)
    start = head.to(tl.int64) * num_nodes * WIDTH
    q, grad, level, inner = _query_rows(query, grad_out, lse, delta, head, row, column, num_nodes, WIDTH)
    result = tl.zeros([TILE, WIDTH], tl.float32)
    slot = tl.arange(0, SLOTS)
    sums = tl.zeros([SLOTS], tl.float32)
    for first in range(0, num_nodes, TILE):
        other = first + tl.arange(0, TILE)
        k = _rows(key + start, other, column, num_nodes, WIDTH)
        v = _rows(value + start, other, column, num_nodes, WIDTH)
        logits, kind = _logits(q, k, table + head * BINS, code, row, other, num_nodes, scale, BINS, PRECISION)
        _, slope = _grad_logits(v, grad, level, inner, logits, PRECISION)
        result += tl.dot(slope, k, input_precision=PRECISION)
        if LEARNED:
            for bin in range(BINS):
                share = tl.sum(tl.sum(tl.where(kind == bin, slope, 0.0), axis=1), axis=0)
                sums += tl.where(slot == bin, share, 0.0)
    target = grad_query + start + row[:, None] * WIDTH + column[None, :]
    tl.store(target, result * scale, mask=row[:, None] < num_nodes)
    if LEARNED:
        place = (tl.program_id(0) * tl.num_programs(1) + head) * BINS + slot
        tl.store(grad_table + place, sums, mask=slot < BINS)


@triton.jit
def _grad_key_kernel(
    query,
    key,
    value,
    table,
    code,
    grad_out,
    lse,
    delta,
    grad_key,
    grad_value,
    num_nodes,
    scale,
    BINS: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    head = tl.program_id(1)
    other = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, WIDTH)
    start = head.to(tl.int64) * num_nodes * WIDTH
    k = _rows(key + start, other, column, num_nodes, WIDTH)
    v = _rows(value + start, other, column, num_nodes, WIDTH)
    key_sum = tl.zeros([TILE, WIDTH], tl.float32)
    value_sum = tl.zeros([TILE, WIDTH], tl.float32)
    for first in range(0, num_nodes, TILE):
        row = first + tl.arange(0, TILE)
        q, grad, level, inner = _query_rows(query, grad_out, lse, delta, head, row, column, num_nodes, WIDTH)
        logits, _ = _logits(q, k, table + head * BINS, code, row, other, num_nodes, scale, BINS, PRECISION)
        weights, slope = _grad_logits(v, grad, level, inner, logits, PRECISION)
        key_sum += tl.dot(tl.trans(slope), q, input_precision=PRECISION)
        value_sum += tl.dot(tl.trans(weights), grad, input_precision=PRECISION)
    target = start + other[:, None] * WIDTH + column[None, :]
    tl.store(grad_key + target, key_sum * scale, mask=other[:, None] < num_nodes)
    tl.store(grad_value + target, value_sum, mask=other[:, None] < num_nodes)


def _settings(query: Tensor, table: Tensor, precision: str) -> tuple[tuple[int, int], dict[str, Any]]:
    """Grid and constants of all three kernels."""
    heads, num_nodes, width = query.shape
    return (triton.cdiv(num_nodes, TILE), heads), {
        "num_nodes": num_nodes,
        "scale": 1.0 / math.sqrt(width),
        "BINS": table.shape[1],
        "WIDTH": width,
        "TILE": TILE,
        "PRECISION": precision,
    }


def _forward(
    query: Tensor, key: Tensor, value: Tensor, table: Tensor, code: Tensor, precision: str, learned: bool
) -> tuple[Tensor, Tensor]:
    """The result, and the log-sum-exp of every row."""
    out, lse = torch.empty_like(query), query.new_empty(query.shape[:2])
    grid, settings = _settings(query, table, precision)
    _forward_kernel[grid](query, key, value, table, code, out, lse, **settings)
    return out, lse


def _like(
    query: Tensor, key: Tensor, value: Tensor, table: Tensor, code: Tensor, precision: str, learned: bool
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(query), query.new_empty(query.shape[:2])


def _saved(arguments: Sequence[Any], results: tuple[Tensor, ...]) -> Sequence[Any]:
    return *arguments[:5], *results, *arguments[5:]


def _backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    table: Tensor,
    code: Tensor,
    out: Tensor,
    lse: Tensor,
    precision: str,
    learned: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of query, key, value and table; the last is empty unless the table is learned."""
    grid, settings = _settings(query, table, precision)
    grad = grad.contiguous()
    given = (query, key, value, table, code, grad, lse, (grad * out).sum(dim=-1))
    grad_query, grad_key, grad_value = (torch.empty_like(t) for t in (query, key, value))
    parts = table.new_empty(grid[0] if learned else 0, *table.shape)
    slots = triton.next_power_of_2(table.shape[1])
    _grad_query_kernel[grid](*given, grad_query, parts, **settings, SLOTS=slots, LEARNED=learned)
    _grad_key_kernel[grid](*given, grad_key, grad_value, **settings)
    return grad_query, grad_key, grad_value, parts.sum(dim=0)


def _backward_like(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, table: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(t) for t in (query, key, value, table))


_pairs = Differentiable(
    Passes("pair_attention", _forward, _like, _backward, _backward_like, learned=(0, 1, 2, 3), saved=_saved)
)


def triton_pair_attention(
    query: Tensor, key: Tensor, value: Tensor, table: Tensor, code: Tensor, precision: str = "tf32"
) -> Tensor:
    """The twin of `pair_attention` without dropout. Kinds beyond the last count as the last.

    Args:
        query, key, value, table, code: as there; d a power of two, 16 at least.
        precision: of the products: "tf32", or "ieee" for tests.
    """
    learned = table.requires_grad and torch.is_grad_enabled()
    given = (t.contiguous() for t in (query, key, value, table, code))
    return _pairs(*given, precision, learned)
