"""`Mixture`: psi = sum_k p_k Q_k on the union of what the heuristics propose (Equ. 4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.device import has_small_caches, runs_numba
from ansgt.errors import InputError
from ansgt.heuristics import HeuristicLike
from ansgt.stages import stage

_BLOCK = 16_384
SMALL_BLOCK, LARGE_BLOCK = 1 << 24, 1 << 28
STREAMED_CENTRES = 4096
"""Centres whose candidates are there at a time where those of all nodes are not."""
_JIT_PAYS = 1 << 22


@dataclass(frozen=True, eq=False)
class Mixture:
    """The candidates of every centre and how much each heuristic wants them; lives on one device.

    Args:
        candidates: candidate nodes [n, C], int32, ascending, 0 beyond `lengths`.
        lengths: number of candidates [n], int64.
        Q: what heuristic k gives a candidate [K, n, C], float32; 0 where it does not propose it.
        active: whether heuristic k proposes anything to a centre [K, n], bool.
        nodes: the centres [n], int64, whose rows these are; ``None`` when row i is node i.
    """

    candidates: Tensor
    lengths: Tensor
    Q: Tensor
    active: Tensor
    nodes: Tensor | None = None
    __repr__ = brief_repr

    @classmethod
    def from_heuristics(
        cls, heuristics: Sequence[HeuristicLike], num_nodes: int, nodes: np.ndarray | None = None
    ) -> "Mixture":
        """Builds the tables from fitted heuristics, for all nodes or for the centres `nodes` only."""
        if not heuristics:
            raise InputError("A mixture needs at least one heuristic.")
        centres = np.arange(num_nodes) if nodes is None else np.unique(np.asarray(nodes, dtype=np.int64))
        blocks = [centres[start : start + _BLOCK] for start in range(0, len(centres), _BLOCK)]

        def proposals() -> Iterator[_Proposals]:
            return (_Proposals.of([_sorted(h.rows(block)) for h in heuristics]) for block in blocks)

        if len(blocks) == 1:  # of several, all at once would take as much again as the tables
            kept = list(proposals())
            first, second = iter(kept), iter(kept)
        else:
            first, second = proposals(), proposals()
        width = max([1, *(int(block.union_lengths.max()) for block in first)])
        mixture = cls._allocate(len(heuristics), len(centres), width)
        start = 0
        for block in second:
            start = mixture._fill(block, start)
        return mixture if nodes is None else replace(mixture, nodes=torch.from_numpy(centres))

    @classmethod
    def _allocate(cls, num_heuristics: int, num_rows: int, width: int) -> "Mixture":
        return cls(
            candidates=torch.empty(num_rows, width, dtype=torch.int32),
            lengths=torch.empty(num_rows, dtype=torch.int64),
            Q=torch.empty(num_heuristics, num_rows, width),
            active=torch.empty(num_heuristics, num_rows, dtype=torch.bool),
        )

    def _fill(self, block: "_Proposals", start: int) -> int:
        stop = start + len(block.union_lengths)
        self.lengths.numpy()[start:stop] = block.union_lengths
        self.active.numpy()[:, start:stop] = np.diff(block.indptr) > 0
        tables = self.candidates.numpy()[start:stop], self.Q.numpy()[:, start:stop]
        _merge(block.indptr, block.indices, block.data, *tables)
        return stop

    @property
    def num_heuristics(self) -> int:
        return self.Q.shape[0]

    @property
    def device(self) -> torch.device:
        return self.candidates.device

    def to(self, device: torch.device | str) -> "Mixture":
        moved = {name: getattr(self, name).to(device) for name in ("candidates", "lengths", "Q", "active")}
        return replace(self, nodes=None if self.nodes is None else self.nodes.to(device), **moved)

    def of(self, nodes: Tensor) -> "Mixture":
        """A mixture that has the rows of `nodes`: this one."""
        return self

    def block(self, copies: int, drawn: int) -> int:
        """How many centres to draw for at a time.

        Args:
            copies: how many numbers each candidate of a centre needs.
            drawn: how many nodes are drawn for a centre.
        """
        return max(1, _limit(self.device) // max(copies * self.candidates.shape[1], drawn))

    def rows_of(self, nodes: Tensor) -> Tensor:
        """Table rows of `nodes` [B], int64; they must be among the mixture's centres."""
        nodes = nodes.to(self.device, torch.int64)
        return nodes if self.nodes is None else torch.searchsorted(self.nodes, nodes)

    def psi(self, p: Tensor, rows: Tensor | None = None) -> Tensor:
        """psi of every candidate [n or B, C], float64, each row summing to 1 (or empty).

        Where a heuristic proposes nothing its share goes to the others, in proportion.
        """
        weights = self.shares(p, rows)
        if weights.shape[1] * self.Q.shape[2] >= _JIT_PAYS and runs_numba(self.device):
            return _psi_numba(self.Q, torch.arange(self.Q.shape[1]) if rows is None else rows, weights)
        Q = self.Q if rows is None else self.Q[:, rows]
        psi = Q[0].to(torch.float64) * weights[0, :, None]
        for k in range(1, len(Q)):
            psi = psi + Q[k].to(torch.float64) * weights[k, :, None]
        return psi

    def shares(self, p: Tensor, rows: Tensor | None = None) -> Tensor:
        """p_k renormalised over the heuristics that propose something to a centre [K, n or B], float64.

        Where p is 0 for all of these, they share equally: `initial` may start a heuristic at 0.
        """
        active = self.active if rows is None else self.active[:, rows]
        p = p.to(self.device, torch.float64)
        share = active * p[:, None]
        total = share[0]
        for k in range(1, len(share)):
            total = total + share[k]
        unheard = total <= 0
        share = torch.where(unheard, active.to(torch.float64), share)
        total = torch.where(unheard, active.sum(dim=0).to(torch.float64), total)
        return share / torch.where(total > 0, total, 1.0)


class StreamedMixture:
    """The mixture of every centre, of which only the rows that are asked for are ever there.

    Args:
        heuristics: fitted; what they say of a centre must not depend on which others are asked for with it.
        num_nodes: n.
        device: where the rows shall lie.
    """

    def __init__(
        self, heuristics: Sequence[HeuristicLike], num_nodes: int, device: torch.device | str = "cpu"
    ) -> None:
        self.heuristics, self.num_nodes, self.device = list(heuristics), num_nodes, torch.device(device)

    @property
    def num_heuristics(self) -> int:
        return len(self.heuristics)

    def of(self, nodes: Tensor) -> Mixture:
        """The mixture of the centres `nodes` alone."""
        centres = nodes.cpu().numpy()
        return Mixture.from_heuristics(self.heuristics, self.num_nodes, centres).to(self.device)

    def block(self, copies: int, drawn: int) -> int:
        """How many centres to draw for at a time; see `Mixture.block`."""
        return max(1, min(STREAMED_CENTRES // copies, _limit(self.device) // drawn))


def build_mixture(
    heuristics: Sequence[HeuristicLike], num_nodes: int, device: torch.device | str, streamed: bool = False
) -> Mixture | StreamedMixture:
    """The mixture of all nodes, held or streamed."""
    if streamed:
        return StreamedMixture(heuristics, num_nodes, device)
    with stage("candidates"):
        return Mixture.from_heuristics(heuristics, num_nodes).to(device)


def _limit(device: torch.device) -> int:
    """Elements of a working array."""
    return SMALL_BLOCK if has_small_caches(device) else LARGE_BLOCK


def _psi_numba(Q: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    psi = np.empty((len(rows), Q.shape[2]))
    _psi_kernel(Q.contiguous().numpy(), rows.numpy(), weights.contiguous().numpy(), psi)
    return torch.from_numpy(psi)


@njit(cache=True, parallel=True, nogil=True)
def _psi_kernel(Q: np.ndarray, rows: np.ndarray, weights: np.ndarray, psi: np.ndarray) -> None:
    """One pass where torch makes a dozen; the same order of additions, so the same bits."""
    for b in prange(len(rows)):
        for c in range(Q.shape[2]):
            total = weights[0, b] * Q[0, rows[b], c]
            for k in range(1, Q.shape[0]):
                total += weights[k, b] * Q[k, rows[b], c]
            psi[b, c] = total


def _sorted(matrix: sp.csr_array) -> sp.csr_array:
    matrix = sp.csr_array(matrix)
    if not matrix.has_canonical_format or (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


@dataclass(frozen=True)
class _Proposals:
    """The rows of all heuristics for a block of centres, one after the other.

    Args:
        indptr: where row r of heuristic k begins and ends [K, b + 1], int64.
        indices: proposed nodes, int32, ascending within a row.
        data: their weights, float32.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    __repr__ = brief_repr

    @classmethod
    def of(cls, rows: list[sp.csr_array]) -> "_Proposals":
        shapes = {matrix.shape for matrix in rows}
        if len(shapes) > 1:
            raise InputError(f"The heuristics' rows have different shapes: {sorted(shapes)}.")
        before = np.cumsum([0] + [matrix.nnz for matrix in rows[:-1]], dtype=np.int64)
        return cls(
            indptr=np.stack(
                [matrix.indptr.astype(np.int64) + b for matrix, b in zip(rows, before, strict=True)]
            ),
            indices=np.concatenate([matrix.indices for matrix in rows], dtype=np.int32),
            data=np.concatenate([matrix.data for matrix in rows], dtype=np.float32, casting="same_kind"),
        )

    @cached_property
    def union_lengths(self) -> np.ndarray:
        lengths = np.empty(self.indptr.shape[1] - 1, dtype=np.int64)
        _count_union(self.indptr, self.indices, lengths)
        return lengths


_END = np.iinfo(np.int32).max


@njit(cache=True)
def _head(indices: np.ndarray, at: int, stop: int) -> int:
    return indices[at] if at < stop else _END


@njit(cache=True)
def _smallest(indices: np.ndarray, at: np.ndarray, stop: np.ndarray) -> int:
    """The first node that any heuristic proposes, at the beginning of a row."""
    node = _END
    for k in range(len(at)):
        node = min(node, _head(indices, at[k], stop[k]))
    return node


@njit(cache=True, parallel=True, nogil=True)
def _count_union(indptr: np.ndarray, indices: np.ndarray, lengths: np.ndarray) -> None:
    for row in prange(len(lengths)):
        at, stop = indptr[:, row].copy(), indptr[:, row + 1].copy()
        node, length = _smallest(indices, at, stop), 0
        while node != _END:
            following = _END
            for k in range(len(at)):
                at[k] += _head(indices, at[k], stop[k]) == node
                following = min(following, _head(indices, at[k], stop[k]))
            node = following
            length += 1
        lengths[row] = length


@njit(cache=True, parallel=True, nogil=True)
def _merge(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, candidates: np.ndarray, Q: np.ndarray
) -> None:
    """Candidates [b, C] and Q [K, b, C] from the rows of all heuristics; every entry is written."""
    for row in prange(len(candidates)):
        at, stop = indptr[:, row].copy(), indptr[:, row + 1].copy()
        node, slot = _smallest(indices, at, stop), 0
        while node != _END:
            following = _END
            candidates[row, slot] = node
            for k in range(len(at)):
                proposed = _head(indices, at[k], stop[k]) == node
                Q[k, row, slot] = data[at[k]] if proposed else 0.0
                at[k] += proposed
                following = min(following, _head(indices, at[k], stop[k]))
            node = following
            slot += 1
        candidates[row, slot:] = 0
        Q[:, row, slot:] = 0.0
