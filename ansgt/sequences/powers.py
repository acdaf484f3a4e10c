"""Entries of Ã^m, m = 0..M-1, for all pairs of tokens of a sequence, on one graph: three ways with one method, `pairs`.

Which way is right depends on size; `ansgt.sequences.proximity` chooses.

- `TablePowers`: all n² pairs are held, one gather a batch. n² M numbers.
- `BlockedPowers`: dense columns are propagated 256 at a time and gathered as they pass. Exact; 256 n numbers beside the
  result.
- `TruncatedPowers`: sparse columns, small entries dropped; error bounded (`ansgt.sequences.truncated`), work linear in n.
"""

from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.linalg import to_torch
from ansgt.optional import HAS_TRITON
from ansgt.sequences.truncated import truncated_pairs


class Powers(Protocol):
    """Entries of the powers of one symmetric matrix."""

    def pairs(self, ids: Tensor) -> Tensor:
        """[B, T, T, M] for ids [B, T], int64; all-zero for pairs with an id below 0."""
        ...


class TablePowers:
    """A resident table [n + 1, n + 1, M]; its last row and column are zero and stand for "no node"."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._flat = table.view(-1, table.shape[-1])

    def pairs(self, ids: Tensor) -> Tensor:
        null = self.table.shape[0] - 1
        safe = torch.where(ids >= 0, ids, null)
        flat = safe[:, :, None] * (null + 1) + safe[:, None, :]
        return F.embedding(flat, self._flat)


class BlockedPowers:
    """Dense column blocks, propagated and gathered on `device`; exact, memory bounded."""

    def __init__(
        self,
        matrix: sp.csr_array,
        num_proximity: int,
        dtype: torch.dtype,
        device: torch.device | str,
        block_size: int = 256,
    ) -> None:
        self.matrix = to_torch(matrix).to(device)
        self.num_proximity = num_proximity
        self.dtype = dtype
        self.block_size = block_size

    def pairs(self, ids: Tensor) -> Tensor:
        batch, length = ids.shape
        shape = (batch, length, length, self.num_proximity)
        out = torch.zeros(shape, dtype=self.dtype, device=ids.device)
        flat_out = out.view(batch * length, length, self.num_proximity)
        order, bounds = _occurrences(ids, self.block_size)
        for first, last in bounds:
            occurrence = order[
                first:last
            ]  # tokens, as places in the flattened ids, whose column is in this block
            flat_out[occurrence] = self._block(ids, occurrence)
        return out

    def _block(self, ids: Tensor, occurrence: Tensor) -> Tensor:
        """[occurrences, T, M]: entries between each of these tokens and all tokens of its sequence."""
        node, column = torch.unique(ids.flatten()[occurrence], return_inverse=True)
        others = ids[occurrence // ids.shape[1]]  # [occurrences, T]
        known = others >= 0
        others = others.clamp(min=0)
        x = torch.zeros(self.matrix.shape[0], len(node), device=ids.device)
        x[node, torch.arange(len(node), device=ids.device)] = 1.0
        found = []
        for m in range(self.num_proximity):
            x = _product(self.matrix, x) if m else x
            found.append((x[others, column[:, None]] * known).to(self.dtype))
        return torch.stack(found, dim=-1)


class TruncatedPowers:
    """Sparse columns without entries below eps * sqrt(degree); computed on the CPU, returned on `device`."""

    def __init__(
        self,
        matrix: sp.csr_array,
        scale: np.ndarray,
        num_proximity: int,
        eps: float,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        self.matrix = matrix
        self.scale = scale
        self.num_proximity = num_proximity
        self.eps = eps
        self.dtype = dtype
        self.device = device

    def pairs(self, ids: Tensor) -> Tensor:
        host = ids.cpu()
        order, _ = _occurrences(host, block_size=1)
        found = truncated_pairs(
            self.matrix, self.scale, host.numpy(), order.numpy(), self.num_proximity, self.eps
        )
        return torch.from_numpy(found).to(self.device, self.dtype)


def fill_powers(out: Tensor, matrix: sp.csr_array) -> None:
    """Writes Ã^m to out[:, :, m] for every m of out [n, n, M], on out's device."""
    n = matrix.shape[0]
    sparse = to_torch(matrix).to(out.device)
    power = torch.eye(n, device=out.device)
    for m in range(out.shape[-1]):
        power = _product(sparse, power) if m else power
        out[..., m] = power


def _product(matrix: Tensor, x: Tensor) -> Tensor:
    """matrix (CSR) @ x, the same bits every time."""
    if x.is_cuda and HAS_TRITON:
        from ansgt.sequences.triton_product import ordered_product

        return ordered_product(matrix, x)
    return matrix @ x


def _occurrences(ids: Tensor, block_size: int) -> tuple[Tensor, list[tuple[int, int]]]:
    """Places of the real tokens in the flattened ids, sorted by id, and bounds of blocks of `block_size` distinct ids."""
    flat = ids.flatten()
    order = torch.argsort(flat, stable=True)
    order = order[int((flat < 0).sum()) :]
    _, counts = torch.unique_consecutive(flat[order], return_counts=True)
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).tolist()
    edges = [*ends[:-1:block_size], ends[-1]] if len(ends) > 1 else [0]
    return order, list(pairwise(edges))
