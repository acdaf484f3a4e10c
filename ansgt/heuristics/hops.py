"""1-hop and 2-hop neighbours: rows of Ã and Ã² (section 5.1)."""

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, Heuristic
from ansgt.heuristics.rows import TopRows, keep_largest
from ansgt.linalg import CSR, gcn_norm

_CHUNK = 256
"""Rows of the square that one thread makes with one buffer."""


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

    >>> from ansgt.testing import path_graph
    >>> TwoHop().fit(path_graph(3)).rows(np.array([0])).toarray().round(3)
    array([[0.   , 0.671, 0.329]], dtype=float32)
    """

    block_size = 32_768

    def _prepare(self, graph: Graph) -> None:
        self._normalized = gcn_norm(graph)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        if self.max_candidates is not None and self.graph_.num_nodes > SMALL:
            return square_top_k(self._normalized, nodes, self.max_candidates)
        return sp.csr_array(self._normalized[nodes] @ self._normalized)


def square_top_k(matrix: sp.csr_array, nodes: np.ndarray, k: int) -> sp.csr_array:
    """The k largest off-diagonal entries of the rows `nodes` of matrix², for positive entries; diagonal entries are 0."""
    top = TopRows.empty(len(nodes), min(k + 1, matrix.shape[0]))  # the diagonal may take one place
    _square_rows(nodes, CSR.of(matrix), *top)
    return top.to_csr(matrix.shape[0])


@njit(cache=True, parallel=True)
def _square_rows(
    nodes: np.ndarray, matrix: CSR, values: np.ndarray, columns: np.ndarray, lengths: np.ndarray
) -> None:
    indptr, indices, data = matrix
    n = len(indptr) - 1
    for chunk in prange((len(nodes) + _CHUNK - 1) // _CHUNK):
        total = np.zeros(n)
        touched = np.empty(n, dtype=np.int32)
        scores = np.empty(n, dtype=np.float32)
        for b in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(nodes))):
            count = 0
            for first in range(indptr[nodes[b]], indptr[nodes[b] + 1]):
                middle, weight = indices[first], data[first]
                for second in range(indptr[middle], indptr[middle + 1]):
                    other = indices[second]
                    if total[other] == 0.0:
                        touched[count] = other
                        count += 1
                    total[other] += weight * data[second]
            for t in range(count):
                scores[t] = 0.0 if touched[t] == nodes[b] else total[touched[t]]
                total[touched[t]] = 0.0
            lengths[b] = keep_largest(scores[:count], touched[:count], values[b], columns[b])
