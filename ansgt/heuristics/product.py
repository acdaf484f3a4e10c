"""The largest entries of the rows of a product of two sparse matrices; the product itself is never there."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from ansgt.heuristics.rows import TopRows, keep_largest
from ansgt.linalg import CSR

_CHUNK = 1024
"""Rows that one thread makes with one buffer."""


class Product(NamedTuple):
    """first @ second, for positive entries, with rows and columns numbered so that those visited most lie together.

    Args:
        first, second: the factors.
        order, rank: the node of every number, and the number of every node [n].
    """

    first: CSR
    second: CSR
    order: np.ndarray
    rank: np.ndarray

    def top_rows(self, nodes: np.ndarray, k: int) -> sp.csr_array:
        """The k largest off-diagonal entries of the rows `nodes`, columns ascending [len(nodes), n]."""
        n = len(self.order)
        top = TopRows.empty(len(nodes), min(k, n))
        _top_rows(self.rank[nodes], self.first, self.second, self.order, *top)
        return top.to_csr(n)


@njit(cache=True, parallel=True)
def _top_rows(
    rows: np.ndarray,
    one: CSR,
    two: CSR,
    order: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
) -> None:
    n = len(order)
    for chunk in prange((len(rows) + _CHUNK - 1) // _CHUNK):
        total = np.zeros(n)
        touched = np.empty(n + 1, dtype=np.int32)  # what is written last may not count
        scores = np.empty(n + 1, dtype=np.float32)
        for b in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(rows))):
            count = np.uint64(0)  # of a signed place numba asks whether it is negative
            for first in range(one.indptr[rows[b]], one.indptr[rows[b] + 1]):
                middle, weight = one.indices[first], one.data[first]
                for second in range(np.uint64(two.indptr[middle]), np.uint64(two.indptr[middle + 1])):
                    other = two.indices[second]
                    before = total[other]
                    touched[count] = other
                    count += np.uint64(before == 0.0)
                    total[other] = before + weight * two.data[second]
            kept = np.uint64(0)
            for t in range(count):
                other = touched[t]
                scores[kept], touched[kept] = total[other], order[other]
                kept += np.uint64(other != rows[b])
                total[other] = 0.0
            lengths[b] = keep_largest(scores[:kept], touched[:kept], values[b], columns[b])
