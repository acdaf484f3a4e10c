"""The largest entries of the rows of a squared sparse matrix, row by row, without the square."""

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from ansgt.heuristics.topk import keep_largest

_CHUNK = 256


@njit(cache=True, parallel=True)
def _kernel(
    nodes: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
) -> None:
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


def square_top_k(matrix: sp.csr_array, nodes: np.ndarray, k: int) -> sp.csr_array:
    """The k largest off-diagonal entries of the rows `nodes` of matrix², for positive entries; diagonal entries are 0."""
    k = min(k + 1, matrix.shape[0])  # the diagonal may take one place
    values = np.empty((len(nodes), k), dtype=np.float32)
    columns = np.empty((len(nodes), k), dtype=np.int32)
    lengths = np.zeros(len(nodes), dtype=np.int64)
    csr = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)
    _kernel(nodes, *csr, values, columns, lengths)
    kept = np.arange(k) < lengths[:, None]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_array((values[kept], columns[kept], indptr), shape=(len(nodes), matrix.shape[0]))
