"""Approximate entries of Ã^m from sparse columns; parallel over columns, the same for any number of threads.

A column x_m = Ã^m e_u is kept sparse: after each product, entries with x_m(v) < eps * sqrt(d(v)) are dropped, d(v) being
the degree of v with its self-loop. sqrt(d) is the eigenvector of eigenvalue 1, hence

- error: 0 <= Ã^m[v, u] - x_m(v) <= m eps sqrt(d(v)), since D^(-1/2) Ã D^(1/2) averages and an average enlarges no error;
- work: the degrees of what is kept add up to at most sqrt(d(u)) / eps, since sum_v sqrt(d(v)) Ã^m[v, u] = sqrt(d(u));
- what was dropped in all, L = sqrt(d(u)) - sum_v sqrt(d(v)) x_m(v), is known. It is spread where long walks end, as
  L sqrt(d(v)) / (sum of d over u's component), which is at most sqrt(d(u) d(v)) / (sum of d): nothing on a large graph,
  except to the many small entries that it is there for. The error is at most the larger of the two bounds.
"""

import numpy as np
import scipy.sparse as sp
from numba import njit, prange
from scipy.sparse.csgraph import connected_components

_CHUNK = 64


def truncated_pairs(
    matrix: sp.csr_array, scale: np.ndarray, ids: np.ndarray, order: np.ndarray, num_powers: int, eps: float
) -> np.ndarray:
    """Entries for all pairs of tokens [B, T, T, M], float32.

    Args:
        matrix: Ã, symmetric CSR.
        scale: sqrt(d) [n], the degrees with self-loops.
        ids: [B, T], int64; pairs with a negative id get 0.
        order: places of the real tokens in the flattened ids, sorted by id.
        num_powers: M.
        eps: entries below eps * scale are dropped.
    """
    batch, length = ids.shape
    out = np.zeros((batch, length, length, num_powers), dtype=np.float32)
    sorted_ids = ids.ravel()[order]
    starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
    ends = np.append(starts[1:], len(order))
    csr = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64))
    _, component = connected_components(matrix, directed=False)
    volume = np.bincount(component, weights=scale**2)
    tokens = (np.ascontiguousarray(ids), order, sorted_ids, starts, ends)
    _kernel(*csr, scale, component, volume, *tokens, eps, out)
    return out


@njit(cache=True, parallel=True)
def _kernel(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    scale: np.ndarray,
    component: np.ndarray,
    volume: np.ndarray,
    ids: np.ndarray,
    order: np.ndarray,
    sorted_ids: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    eps: float,
    out: np.ndarray,
) -> None:
    n, length = len(indptr) - 1, ids.shape[1]
    for chunk in prange((len(starts) + _CHUNK - 1) // _CHUNK):
        x, y = np.zeros(n), np.zeros(n)
        support, fresh = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        for group in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(starts))):
            source = sorted_ids[starts[group]]
            support[0], size, far = source, 1, 0.0
            x[source] = 1.0
            for m in range(out.shape[3]):
                if m > 0:
                    size = _step(indptr, indices, data, scale, eps, x, y, support, fresh, size)
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
def _step(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    scale: np.ndarray,
    eps: float,
    x: np.ndarray,
    y: np.ndarray,
    support: np.ndarray,
    fresh: np.ndarray,
    size: int,
) -> int:
    """x <- the large entries of Ã x, with their places in `support`; y is all-zero before and after."""
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
        if y[node] >= eps * scale[node]:
            x[node] = y[node]
            support[kept] = node
            kept += 1
        y[node] = 0.0
    return kept
