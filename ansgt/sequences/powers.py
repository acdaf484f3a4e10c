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

import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from ansgt.device import runs_numba
from ansgt.graph import Graph
from ansgt.kernels.product import product
from ansgt.linalg import CSR, sym_norm, to_torch

_CHUNK = 64
_CHUNKS_PER_CLEARING = 256
"""A chunk clears two arrays of n numbers: it has so many columns that this costs little beside them."""

_TRIAL_COLUMNS, _TRIAL_ENTRIES = 16, 1 << 26
"""Columns of a trial, fewer on a graph with many edges."""
_VISIT_COST = 4.0
"""What following an edge costs in a sparse column, over a multiply-add in a block of dense ones."""


class Powers(Protocol):
    """Entries of the powers of one symmetric matrix."""

    def fill(self, out: Tensor, ids: Tensor, apart: Tensor | None = None) -> None:
        """Writes the entries between the first Q tokens of every sequence and all its tokens.

        Args:
            out: [B, Q, T, M]; pairs with an id below 0 are left alone.
            ids: [B, T], int64.
            apart: [B, T], bool; pairs of two tokens that are both True are left alone, too.
        """
        ...


class BlockedPowers:
    """Dense column blocks, propagated and gathered on `device`; exact, memory bounded.

    Args:
        adj: A, weighted or not; normalised here.
        num_proximity: M.
        device: where it is computed.
        block_size: columns that are propagated at a time.
    """

    def __init__(
        self, adj: sp.csr_array, num_proximity: int, device: torch.device | str, block_size: int = 256
    ) -> None:
        self.matrix = to_torch(sym_norm(adj)).to(device)
        self.num_proximity = num_proximity
        self.block_size = block_size

    def fill(self, out: Tensor, ids: Tensor, apart: Tensor | None = None) -> None:
        rows = out.shape[1]
        flat = out.view(len(ids) * rows, *out.shape[2:])
        wanted = (ids >= 0)[:, None, :].expand(-1, rows, -1)
        if apart is not None:
            wanted = wanted & ~(apart[:, :rows, None] & apart[:, None, :])
        wanted = wanted.reshape(flat.shape[:2])
        order, bounds = _occurrences(ids[:, :rows], self.block_size)
        for first, last in bounds:
            occurrence = order[
                first:last
            ]  # the tokens, among the first Q of all sequences, whose column is here
            found = self._block(ids, occurrence // rows, ids[:, :rows].reshape(-1)[occurrence]).to(out.dtype)
            flat[occurrence] = torch.where(wanted[occurrence][..., None], found, flat[occurrence])

    def _block(self, ids: Tensor, sequence: Tensor, source: Tensor) -> Tensor:
        """[occurrences, T, M]: entries between each source and all tokens of its sequence."""
        node, column = torch.unique(source, return_inverse=True)
        others = ids[sequence].clamp(min=0)  # [occurrences, T]
        x = torch.zeros(self.matrix.shape[0], len(node), device=ids.device)
        x[node, torch.arange(len(node), device=ids.device)] = 1.0
        found = []
        for m in range(self.num_proximity):
            x = product(self.matrix, x) if m else x
            found.append(x[others, column[:, None]])
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
    """Sparse columns without entries below eps * sqrt(degree); computed on the CPU, whatever the result's device.

    The same for any number of threads, and for any other tokens beside a pair.

    Args:
        adj: A, weighted or not; normalised here.
        num_proximity: M.
        eps: entries below eps * sqrt(degree) are dropped.
    """

    def __init__(self, adj: sp.csr_array, num_proximity: int, eps: float) -> None:
        _, component = connected_components(adj, directed=False)
        weights = np.empty(0) if bool((adj.data == 1).all()) else adj.data
        self._graph = _Scaled.of(
            CSR.of(adj)._replace(data=weights), np.asarray(adj.sum(axis=1)).ravel(), component
        )
        self.num_proximity = num_proximity
        self.eps = eps

    def grown(self, graph: Graph) -> "TruncatedPowers":
        """The same of another graph without weights, whose components are known."""
        other = copy.copy(self)
        csr = CSR(graph.indptr, graph.indices, np.empty(0))
        other._graph = _Scaled.of(csr, graph.degree.astype(np.float64), graph.component)
        return other

    def with_lone(self, number: int) -> "TruncatedPowers":
        """The same of the graph with further nodes that no edge leaves."""
        other, known = copy.copy(self), self._graph
        lone, ones = np.full(number, len(known.indices)), np.ones(number)
        other._graph = known._replace(
            indptr=np.concatenate([known.indptr, lone]),
            scale=np.concatenate([known.scale, ones]),
            inverse=np.concatenate([known.inverse, ones]),
            component=np.concatenate([known.component, len(known.volume) + np.arange(number)]),
            volume=np.concatenate([known.volume, ones]),
        )
        return other

    def fill(self, out: Tensor, ids: Tensor, apart: Tensor | None = None) -> None:
        host = ids.cpu()
        order, _ = _occurrences(host[:, : out.shape[1]], block_size=1)
        tokens = _Tokens.of(host.numpy(), order.numpy(), out.shape[1])
        alone = torch.zeros(ids.shape, dtype=torch.bool) if apart is None else apart.cpu()
        direct = runs_numba(out.device) and out.dtype == torch.float32 and out.is_contiguous()
        found = out if direct else out.to("cpu", torch.float32).contiguous()
        chunk = max(_CHUNK, len(self._graph.scale) // _CHUNKS_PER_CLEARING)
        _truncated_pairs(self._graph, tokens, alone.numpy(), self.eps, chunk, found.numpy())
        if not direct:
            out.copy_(found)

    def trial(self, measured: bool = True) -> "Trial":
        """Propagates some columns both ways; the sources are spread over all degrees.

        Args:
            measured: whether errors are, for the record; what is cheaper shows without.

        It counts operations and no seconds: what follows from it is the same at every run.
        """
        graph, n = self._graph, len(self._graph.scale)
        entries = len(graph.indices) + n  # of Ã
        count = int(np.clip(_TRIAL_ENTRIES // max(entries, 1), 1, min(_TRIAL_COLUMNS, n)))
        sources = np.argsort(graph.scale, kind="stable")[(np.arange(count) * n + n // 2) // count]
        matrix = graph.matrix() if measured else sp.csr_array((n, n))
        exact = np.zeros((n, count))
        exact[sources, np.arange(count)] = 1.0
        found = np.zeros((count, self.num_proximity, n))
        visits = _truncated_columns(graph, self.eps, sources, found)
        largest = off = size = 0.0
        for m in range(1, self.num_proximity if measured else 1):
            exact = matrix @ exact
            error = np.abs(found[:, m].T - exact)
            largest, off, size = max(largest, error.max()), off + (error**2).sum(), size + (exact**2).sum()
        dense = count * (self.num_proximity - 1) * entries
        return Trial(
            count, visits / count, dense / count, float(largest), float(np.sqrt(off / max(size, 1e-300)))
        )


@dataclass(frozen=True)
class Trial:
    """What dropping small entries saves and costs, measured on some columns.

    Args:
        columns: how many.
        visits: edges followed per column.
        exact_visits: the same without dropping anything: (M - 1) times the non-zeros of Ã.
        largest_error: of an entry.
        relative_error: norm of all errors over the norm of all entries, without m = 0.
    """

    columns: int
    visits: float
    exact_visits: float
    largest_error: float
    relative_error: float

    @property
    def pays(self) -> bool:
        """Whether truncation is the cheaper way: an edge costs it more than it costs a product of dense columns."""
        return _VISIT_COST * self.visits < self.exact_visits


class _Scaled(NamedTuple):
    """A as CSR, its weights (none: all are 1), sqrt(d) and 1 / sqrt(d) [n], the component of every node [n] and the sum of d
    over each component; Ã is never there."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    scale: np.ndarray
    inverse: np.ndarray
    component: np.ndarray
    volume: np.ndarray

    @classmethod
    def of(cls, adj: CSR, degree: np.ndarray, component: np.ndarray) -> "_Scaled":
        """From A and its degrees [n] without self-loops."""
        scale = np.sqrt(degree + 1.0)
        return cls(*adj, scale, 1.0 / scale, component, np.bincount(component, weights=scale**2))

    def matrix(self) -> sp.csr_array:
        """Ã."""
        n = len(self.scale)
        weights = self.weights if len(self.weights) else np.ones(len(self.indices))
        return sym_norm(sp.csr_array((weights, self.indices, self.indptr), shape=(n, n)))


class _Tokens(NamedTuple):
    """Sources grouped by node: group g are the places order[starts[g]:ends[g]] among the first Q tokens of `ids` [B, T]."""

    ids: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, ids: np.ndarray, order: np.ndarray, rows: int) -> "_Tokens":
        """From ids [B, T] and the places of the real tokens among the first `rows` of them, sorted by id."""
        sorted_ids = ids[:, :rows].ravel()[order]
        starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
        return cls(np.ascontiguousarray(ids), order, starts, np.append(starts[1:], len(order)))


class _Scratch(NamedTuple):
    """A column x with its non-zero places in `support`, and the same room for the next one; all-zero between columns."""

    x: np.ndarray
    y: np.ndarray
    support: np.ndarray
    fresh: np.ndarray


@njit(cache=True, parallel=True, nogil=True)
def _truncated_pairs(
    graph: _Scaled, tokens: _Tokens, apart: np.ndarray, eps: float, chunk_size: int, out: np.ndarray
) -> None:
    """`Powers.fill` of `out` [B, Q, T, M]."""
    scale, component, volume = graph.scale, graph.component, graph.volume
    ids, order, starts, ends = tokens.ids, tokens.order, tokens.starts, tokens.ends
    n, rows, width, powers = len(scale), out.shape[1], out.shape[2], out.shape[3]
    flat = out.reshape(-1)
    for chunk in prange((len(starts) + chunk_size - 1) // chunk_size):
        x, y = np.zeros(n), np.zeros(n)
        support, fresh = np.empty(n + 1, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
        scratch = _Scratch(x, y, support, fresh)
        first_group, last_group = chunk * chunk_size, min((chunk + 1) * chunk_size, len(starts))
        most = (ends[first_group:last_group] - starts[first_group:last_group]).max() * width
        nodes, weights = np.empty(most, dtype=np.uint32), np.empty(most)
        places = np.empty(most, dtype=np.int64)
        for group in range(first_group, last_group):
            first = order[starts[group]]
            source = ids[first // rows, first % rows]
            count = 0  # pairs of this source, wherever they are, that are not 0 by definition
            for place in range(starts[group], ends[group]):
                row, token = order[place] // rows, order[place] % rows
                alone = apart[row, token]
                for other in range(width):
                    node = ids[row, other]
                    if (
                        node >= 0
                        and component[node] == component[source]
                        and not (alone and apart[row, other])
                    ):
                        nodes[count], weights[count] = node, scale[node]
                        places[count] = (order[place] * width + other) * powers
                        count += 1
            support[0], size, far = source, 1, 0.0
            x[source] = 1.0
            for m in range(powers):
                if m > 0:
                    size, lost = _step(graph, eps, scratch, size, scale[source])
                    far = max(lost, 0.0) / volume[component[source]]
                for pair in range(count):
                    flat[places[pair] + m] = x[nodes[pair]] + far * weights[pair]
            for t in range(size):
                x[support[t]] = 0.0


@njit(cache=True, nogil=True)
def _truncated_columns(graph: _Scaled, eps: float, sources: np.ndarray, out: np.ndarray) -> int:
    """Whole columns of the sources into `out` [sources, M, n]; returns how many edges were followed."""
    scale, component, n = graph.scale, graph.component, len(graph.scale)
    support, fresh = np.empty(n + 1, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    scratch = _Scratch(np.zeros(n), np.zeros(n), support, fresh)
    visits = 0
    for number, source in enumerate(sources):
        support[0], size, far = source, 1, 0.0
        scratch.x[source] = 1.0
        for m in range(out.shape[1]):
            if m > 0:
                for t in range(size):
                    visits += graph.indptr[support[t] + 1] - graph.indptr[support[t]] + 1
                size, lost = _step(graph, eps, scratch, size, scale[source])
                far = max(lost, 0.0) / graph.volume[component[source]]
            for node in range(n):
                if component[node] == component[source]:
                    out[number, m, node] = scratch.x[node] + far * scale[node]
        for t in range(size):
            scratch.x[support[t]] = 0.0
    return visits


@njit(cache=True, nogil=True)
def _step(graph: _Scaled, eps: float, scratch: _Scratch, size: int, whole: float) -> tuple[int, float]:
    """x <- the large entries of Ã x, with their places in `support`; y is all-zero before and after.

    Ã x = D^(-1/2) (A + I) D^(-1/2) x: what leaves a node is scaled once, and what arrives at one.

    Returns how many there are, and `whole` less the sum of sqrt(d) x over them. What is appended last may not count: a
    branch that cannot be guessed costs more; places are unsigned, since of others numba asks whether they are negative.
    """
    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    scale, inverse = graph.scale, graph.inverse
    x, y, support, fresh = scratch
    is_weighted = len(weights) > 0
    found, kept, lost = np.uint64(0), np.uint64(0), whole
    for t in range(size):
        node = np.uint32(support[t])
        value = x[node] * inverse[node]
        x[node] = 0.0
        before = y[node]
        fresh[found] = node
        found += np.uint64(before == 0.0)
        y[node] = before + value
        first, last = np.uint64(indptr[node]), np.uint64(indptr[node + np.uint32(1)])
        if is_weighted:
            for edge in range(first, last):
                other = np.uint32(indices[edge])
                before = y[other]
                fresh[found] = other
                found += np.uint64(before == 0.0)
                y[other] = before + weights[edge] * value
        else:
            for edge in range(first, last):
                other = np.uint32(indices[edge])
                before = y[other]
                fresh[found] = other
                found += np.uint64(before == 0.0)
                y[other] = before + value
    for t in range(found):
        node = np.uint32(fresh[t])
        value = y[node] * inverse[node]
        stays = value >= eps * scale[node]
        x[node] = value if stays else 0.0
        lost -= scale[node] * value if stays else 0.0
        support[kept] = node
        kept += np.uint64(stays)
        y[node] = 0.0
    return int(kept), lost
