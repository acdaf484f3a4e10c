"""1-hop and 2-hop neighbours: rows of Ã and Ã² (section 5.1)."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, Heuristic
from ansgt.heuristics.rows import TopRows, csr_top_k, keep_largest
from ansgt.linalg import CSR, gcn_norm

_CHUNK = 1024
"""Rows of the square that one thread makes with one buffer."""
_BREADTH = 512
"""Neighbours of a hub that count, at least; twice as many as candidates are by default."""
_DENSE = 1 / 32
"""A dense product of small matrices is that much faster per multiplication than a sparse one, about."""


class OneHop(Heuristic):
    """Q_i = Ã[i, :], self excluded and renormalised.

    >>> from ansgt.testing import path_graph
    >>> OneHop().fit(path_graph(3)).rows(np.array([1])).toarray()
    array([[0.5, 0. , 0.5]], dtype=float32)
    """

    block_size = 65_536

    def _prepare(self, graph: Graph) -> None:
        self._normalized = gcn_norm(graph)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        return self._normalized[nodes]


class TwoHop(Heuristic):
    """Q_i = Ã²[i, :], self excluded and renormalised; Ã² is made a block of rows at a time and never as a whole.

    Through the self-loops Ã² reaches 1-hop neighbours as well, as printed in the paper.

    Bounded rows of a larger graph go through a hub m to its heaviest neighbours alone, max(512, 2 max_candidates) of them:
    Ã[m, j] = 1 / sqrt(d_m d_j), so what is left out are large nodes, each with less than what is kept. The work of all rows
    is then at most that many visits per edge, whatever the degrees. Where no node has more neighbours rows are exact.

    >>> from ansgt.testing import path_graph
    >>> TwoHop().fit(path_graph(3)).rows(np.array([0])).toarray().round(3)
    array([[0.   , 0.671, 0.329]], dtype=float32)
    """

    block_size = 32_768

    def _prepare(self, graph: Graph) -> None:
        self._normalized = gcn_norm(graph)
        if self._is_bounded:
            assert self.max_candidates is not None
            self._walk = _Walk.of(self._normalized, max(_BREADTH, 2 * self.max_candidates))

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        if self._is_bounded:
            assert self.max_candidates is not None
            return self._walk.rows(nodes, self.max_candidates)
        if self._fills_up:
            return sp.csr_array(self._normalized[nodes].toarray() @ self._normalized.toarray())
        return sp.csr_array(self._normalized[nodes] @ self._normalized)

    @property
    def _is_bounded(self) -> bool:
        return self.max_candidates is not None and self.graph_.num_nodes > SMALL

    @property
    def _fills_up(self) -> bool:
        """Whether a dense product is the cheaper one; it takes n^2 numbers."""
        n = self.graph_.num_nodes
        return n <= SMALL and float(np.square(self.graph_.degree, dtype=np.float64).sum()) > _DENSE * n**3


def square_top_k(matrix: sp.csr_array, nodes: np.ndarray, k: int, breadth: int | None = None) -> sp.csr_array:
    """The k largest off-diagonal entries of the rows `nodes` of matrix², for a symmetric matrix of positive entries.

    Args:
        breadth: a row of the right factor counts by its largest entries alone, this many; None: by all.
    """
    return _Walk.of(matrix, matrix.shape[0] if breadth is None else breadth).rows(nodes, k)


class _Walk(NamedTuple):
    """Two steps on a graph whose nodes are numbered by falling degree, so that those visited most lie together.

    Args:
        first, second: the factors of the square.
        order, rank: the node of every number, and the number of every node [n].
    """

    first: CSR
    second: CSR
    order: np.ndarray
    rank: np.ndarray

    @classmethod
    def of(cls, matrix: sp.csr_array, breadth: int) -> "_Walk":
        order = np.argsort(-np.diff(matrix.indptr), kind="stable")
        first = matrix[order][:, order]
        second = csr_top_k(matrix, breadth)[order][:, order]  # before numbering: ties go to the smaller node
        return cls(CSR.of(first), CSR.of(second), order.astype(np.int32), np.argsort(order))

    def rows(self, nodes: np.ndarray, k: int) -> sp.csr_array:
        n = len(self.order)
        top = TopRows.empty(len(nodes), min(k, n))
        _square_rows(self.rank[nodes], self.first, self.second, self.order, *top)
        return top.to_csr(n)


@njit(cache=True, parallel=True)
def _square_rows(
    nodes: np.ndarray,
    one: CSR,
    two: CSR,
    order: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
) -> None:
    n = len(order)
    for chunk in prange((len(nodes) + _CHUNK - 1) // _CHUNK):
        total = np.zeros(n)
        touched = np.empty(n, dtype=np.int32)
        scores = np.empty(n, dtype=np.float32)
        for b in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(nodes))):
            count = 0
            for first in range(one.indptr[nodes[b]], one.indptr[nodes[b] + 1]):
                middle, weight = one.indices[first], one.data[first]
                for second in range(two.indptr[middle], two.indptr[middle + 1]):
                    other = two.indices[second]
                    before = total[other]
                    if before == 0.0:
                        touched[count] = other
                        count += 1
                    total[other] = before + weight * two.data[second]
            kept = 0
            for t in range(count):
                other = touched[t]
                if other != nodes[b]:
                    scores[kept], touched[kept] = total[other], order[other]
                    kept += 1
                total[other] = 0.0
            lengths[b] = keep_largest(scores[:kept], touched[:kept], values[b], columns[b])
