"""Attention of all nodes to all nodes, with a bias per pair, in memory that grows with n and not with n².

The plain function goes through the query rows block by block. Its twin takes a bias that depends on the kind of a pair
alone, one byte per pair, and keeps tiles on chip.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ansgt.kernels.choose import Kernel, choose

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
        from ansgt.kernels.pairs.triton import pair_attention as twin

        return twin(query, key, value, table, code)
    return full_attention(query, key, value, partial(_bias_rows, table, code), dropout)


def takes_pairs(query: Tensor, dropout: float, kernel: Kernel = "auto") -> bool:
    """Whether `pair_attention` reads the table of pairs as it is, instead of block by block."""
    sizes = {"num_nodes": query.shape[1], "head_channels": query.shape[-1], "dropout": dropout}
    return choose("pairs", query, kernel, sizes) == "triton"


def _bias_rows(table: Tensor, code: Tensor, at: slice) -> Tensor:
    return PairBias.apply(table, code[at])  # type: ignore[no-untyped-call, no-any-return]


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
