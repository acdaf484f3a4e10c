"""Entries of Ã^m, m = 0..M-1, for all pairs of tokens of a sequence, on a graph too large for a table of all pairs.

- `BlockedPowers`: dense columns are propagated 256 at a time and gathered as they pass. Exact; 256 n numbers beside the
  result.
- `TruncatedPowers`: sparse columns, small entries dropped; error bounded, work linear in n.

In `TruncatedPowers` a column x_m = Ã^m e_u is kept sparse: after each product, entries with x_m(v) < eps * sqrt(d(v)) are
dropped, d(v) being the degree of v with its self-loop. sqrt(d) is the eigenvector of eigenvalue 1, hence

- error: 0 <= Ã^m[v, u] - x_m(v) <= m eps sqrt(d(v)), since D^(-1/2) Ã D^(1/2) averages and an average enlarges no error;
- work: the degrees of what is kept add up to at most sqrt(d(u)) / eps, since sum_v sqrt(d(v)) Ã^m[v, u] = sqrt(d(u));
- what was dropped in all, L = sqrt(d(u)) - sum_v sqrt(d(v)) x_m(v), is known. It is spread where long walks end, as
  L sqrt(d(v)) / (sum of d over u's component), which is at most sqrt(d(u) d(v)) / (sum of d): nothing on a large graph,
  except to the many small entries that it is there for. The error is at most the larger of the two bounds.
"""

from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from ansgt.kernels.product import product
from ansgt.linalg import CSR, sym_norm, to_torch

_CHUNK = 64


class Powers(Protocol):
    """Entries of the powers of one symmetric matrix."""

    def pairs(self, ids: Tensor) -> Tensor:
        """[B, T, T, M] for ids [B, T], int64; all-zero for pairs with an id below 0."""
        ...


class BlockedPowers:
    """Dense column blocks, propagated and gathered on `device`; exact, memory bounded.

    Args:
        adj: A, weighted or not; normalised here.
        num_proximity: M.
        dtype: of the result.
        device: where it is computed.
        block_size: columns that are propagated at a time.
    """

    def __init__(
        self,
        adj: sp.csr_array,
        num_proximity: int,
        dtype: torch.dtype,
        device: torch.device | str,
        block_size: int = 256,
    ) -> None:
        self.matrix = to_torch(sym_norm(adj)).to(device)
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
            occurrence = order[first:last]  # the tokens, in the flattened ids, whose column is in this block
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
            x = product(self.matrix, x) if m else x
            found.append((x[others, column[:, None]] * known).to(self.dtype))
        return torch.stack(found, dim=-1)


def _occurrences(ids: Tensor, block_size: int) -> tuple[Tensor, list[tuple[int, int]]]:
    """Places of the real tokens in the flattened ids, sorted by id, and bounds of blocks of `block_size` distinct ids."""
    flat = ids.flatten()
    order = torch.argsort(flat, stable=True)
    order = order[int((flat < 0).sum()) :]
    _, counts = torch.unique_consecutive(flat[order], return_counts=True)
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).tolist()
    edges = [*ends[:-1:block_size], ends[-1]] if len(ends) > 1 else [0]
    return order, list(pairwise(edges))


class TruncatedPowers:
    """Sparse columns without entries below eps * sqrt(degree); computed on the CPU, returned on `device`.

    The same for any number of threads.

    Args:
        adj: A, weighted or not; normalised here.
        num_proximity: M.
        eps: entries below eps * sqrt(degree) are dropped.
        dtype, device: of the result.
    """

    def __init__(
        self,
        adj: sp.csr_array,
        num_proximity: int,
        eps: float,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        matrix = sym_norm(adj)
        scale = np.sqrt(np.asarray(adj.sum(axis=1)).ravel() + 1.0)
        _, component = connected_components(matrix, directed=False)
        volume = np.bincount(component, weights=scale**2)
        self._graph = _Scaled(*CSR.of(matrix), scale, component, volume)
        self.num_proximity = num_proximity
        self.eps = eps
        self.dtype = dtype
        self.device = device

    def pairs(self, ids: Tensor) -> Tensor:
        host = ids.cpu()
        order, _ = _occurrences(host, block_size=1)
        tokens = _Tokens.of(host.numpy(), order.numpy())
        found = np.zeros((*ids.shape, ids.shape[1], self.num_proximity), dtype=np.float32)
        _truncated_pairs(self._graph, tokens, self.eps, found)
        return torch.from_numpy(found).to(self.device, self.dtype)


class _Scaled(NamedTuple):
    """Ã as CSR, sqrt(d) [n], the component of every node [n] and the sum of d over each component."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    scale: np.ndarray
    component: np.ndarray
    volume: np.ndarray


class _Tokens(NamedTuple):
    """Tokens grouped by node: group g are the places order[starts[g]:ends[g]] of `ids` [B, T], flattened."""

    ids: np.ndarray
    order: np.ndarray
    sorted_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, order: np.ndarray) -> "_Tokens":
        """From ids [B, T] and the places of the real tokens in them, sorted by id."""
        sorted_ids = ids.ravel()[order]
        starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
        return cls(np.ascontiguousarray(ids), order, sorted_ids, starts, np.append(starts[1:], len(order)))


class _Scratch(NamedTuple):
    """A column x with its non-zero places in `support`, and the same room for the next one; all-zero between columns."""

    x: np.ndarray
    y: np.ndarray
    support: np.ndarray
    fresh: np.ndarray


@njit(cache=True, parallel=True)
def _truncated_pairs(graph: _Scaled, tokens: _Tokens, eps: float, out: np.ndarray) -> None:
    """Entries for all pairs of tokens into `out` [B, T, T, M]; pairs with a negative id keep theirs."""
    scale, component, volume = graph.scale, graph.component, graph.volume
    ids, order, starts, ends = tokens.ids, tokens.order, tokens.starts, tokens.ends
    n, length = len(scale), ids.shape[1]
    for chunk in prange((len(starts) + _CHUNK - 1) // _CHUNK):
        x, y = np.zeros(n), np.zeros(n)
        support, fresh = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        scratch = _Scratch(x, y, support, fresh)
        for group in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(starts))):
            source = tokens.sorted_ids[starts[group]]
            support[0], size, far = source, 1, 0.0
            x[source] = 1.0
            for m in range(out.shape[3]):
                if m > 0:
                    size = _step(graph, eps, scratch, size)
                    lost = scale[source]
                    for t in range(size):
                        lost -= scale[support[t]] * x[support[t]]
                    far = max(lost, 0.0) / volume[component[source]]
                for place in range(starts[group], ends[group]):
                    row, token = order[place] // length, order[place] % length
                    for other in range(length):
                        node = ids[row, other]
                        if node >= 0 and component[node] == component[source]:
                            out[row, token, other, m] = x[node] + far * scale[node]
            for t in range(size):
                x[support[t]] = 0.0


@njit(cache=True)
def _step(graph: _Scaled, eps: float, scratch: _Scratch, size: int) -> int:
    """x <- the large entries of Ã x, with their places in `support`; y is all-zero before and after."""
    indptr, indices, data = graph.indptr, graph.indices, graph.data
    x, y, support, fresh = scratch
    found = 0
    for t in range(size):
        node = support[t]
        value = x[node]
        x[node] = 0.0
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            if y[other] == 0.0:
                fresh[found] = other
                found += 1
            y[other] += data[edge] * value
    kept = 0
    for t in range(found):
        node = fresh[t]
        if y[node] >= eps * graph.scale[node]:
            x[node] = y[node]
            support[kept] = node
            kept += 1
        y[node] = 0.0
    return kept
