"""Attention of all nodes to all nodes in memory that grows with n, not n²: query rows block by block.

On CUDA a fused kernel (`triton_pairs.py`), which reads one byte per pair of nodes, takes its place where it can.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from ansgt.optional import HAS_TRITON

BLOCK_BYTES = 256 * 2**20
"""What one [heads, rows, n] float32 block may take; a backward step holds about five of them."""

BLOCKS_HELD = 5

FUSED_WIDTHS = (16, 32, 64, 128)
"""Head widths that fill a tensor core's tile."""

FUSED_NODES = 32_768
"""Up to here the fused kernel's table of pairs, n² bytes, is at most 1 GiB; larger graphs stay with blocks."""


def is_fused(query: Tensor, dropout: float) -> bool:
    """Whether the fused kernel takes these queries [heads, n, d]."""
    plain = query.dtype == torch.float32 and dropout == 0.0
    fits = query.shape[-1] in FUSED_WIDTHS and query.shape[1] <= FUSED_NODES
    return query.is_cuda and plain and fits and HAS_TRITON


def fused_attention(query: Tensor, key: Tensor, value: Tensor, table: Tensor, code: Tensor) -> Tensor:
    """`triton_pairs.pair_attention`, imported when it is needed: CPU builds of torch come without Triton."""
    from ansgt.models.baselines.triton_pairs import pair_attention

    return pair_attention(query, key, value, table, code)


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


def attention_bytes(num_nodes: int, heads: int, hidden_channels: int, num_layers: int) -> int:
    """Upper estimate for a transformer of full attention: blocks in flight, and what every layer keeps."""
    blocks = BLOCKS_HELD * 4 * heads * block_rows(num_nodes, heads) * num_nodes
    whole = num_layers if block_rows(num_nodes, heads) == num_nodes else 1
    activations = num_layers * 24 * 4 * num_nodes * hidden_channels
    return blocks * whole + activations
