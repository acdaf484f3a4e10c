"""The k largest entries of every row, for dense blocks and for CSR; ties go to the smaller column."""

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange

from ansgt.linalg import row_top_k

_JIT_PAYS = 2_000_000
_JIT_PAYS_DENSE = 16_000_000
"""Smaller work is done without numba: compiling a kernel takes seconds on the first run of a machine."""


@njit(cache=True)
def _sift_down(values: np.ndarray, columns: np.ndarray, size: int) -> None:
    """Restores the heap whose root is the worst entry: smallest value, among equals the largest column."""
    root = 0
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        right = child + 1
        if right < size and (
            values[right] < values[child]
            or (values[right] == values[child] and columns[right] > columns[child])
        ):
            child = right
        better = values[root] < values[child] or (
            values[root] == values[child] and columns[root] > columns[child]
        )
        if better:
            return
        values[root], values[child] = values[child], values[root]
        columns[root], columns[child] = columns[child], columns[root]
        root = child


@njit(cache=True)
def keep_largest(
    values: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray
) -> int:
    """Writes the len(out_values) largest of (values, columns) to the outputs, columns ascending; returns how many.

    Columns are distinct. Outputs are used as a heap while scanning.
    """
    k = len(out_values)
    size = 0
    for position in range(len(values)):
        value, column = values[position], columns[position]
        if size < k:
            child = size
            size += 1
            while child > 0:
                parent = (child - 1) // 2
                if value < out_values[parent] or (
                    value == out_values[parent] and column > out_columns[parent]
                ):
                    out_values[child] = out_values[parent]
                    out_columns[child] = out_columns[parent]
                    child = parent
                else:
                    break
            out_values[child] = value
            out_columns[child] = column
        elif value > out_values[0] or (value == out_values[0] and column < out_columns[0]):
            out_values[0] = value
            out_columns[0] = column
            _sift_down(out_values, out_columns, size)
    order = np.argsort(out_columns[:size])
    out_values[:size] = out_values[:size][order]
    out_columns[:size] = out_columns[:size][order]
    return size


@njit(cache=True, parallel=True)
def _csr_kernel(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    out_ptr: np.ndarray,
    out_data: np.ndarray,
    out_indices: np.ndarray,
) -> None:
    for row in prange(len(indptr) - 1):
        lo, hi = indptr[row], indptr[row + 1]
        a, b = out_ptr[row], out_ptr[row + 1]
        keep_largest(data[lo:hi], indices[lo:hi], out_data[a:b], out_indices[a:b])


@njit(cache=True, parallel=True)
def _dense_kernel(
    scores: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray
) -> None:
    for row in prange(len(scores)):
        keep_largest(scores[row], columns, out_values[row], out_columns[row])


def csr_top_k(matrix: sp.csr_array, k: int) -> sp.csr_array:
    """The k largest entries of every row, columns ascending (`linalg.row_top_k` in parallel for large matrices)."""
    if matrix.nnz < _JIT_PAYS:
        return row_top_k(matrix, k)
    out_ptr = np.concatenate([[0], np.cumsum(np.minimum(np.diff(matrix.indptr), k))])
    data = np.empty(out_ptr[-1], dtype=matrix.data.dtype)
    indices = np.empty(out_ptr[-1], dtype=np.int32)
    columns = matrix.indices.astype(np.int32, copy=False)
    _csr_kernel(matrix.indptr.astype(np.int64, copy=False), columns, matrix.data, out_ptr, data, indices)
    return sp.csr_array((data, indices, out_ptr), shape=matrix.shape)


def dense_top_k(
    scores: np.ndarray, columns: np.ndarray, k: int, compiled: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Values and columns [rows, min(k, cols)] of the largest scores.

    Args:
        scores: [rows, cols], float32.
        columns: names of the columns [cols], distinct integers; without `compiled` ascending.
        k: how many.
        compiled: use the numba kernel even if this block alone would not pay for compiling it.
    """
    k = min(k, scores.shape[1])
    if scores.size < _JIT_PAYS_DENSE and not compiled:
        order = torch.from_numpy(scores).sort(dim=1, descending=True, stable=True).indices[:, :k].numpy()
        order.sort(axis=1)
        return np.take_along_axis(scores, order, axis=1), columns[order].astype(np.int32)
    values = np.empty((len(scores), k), dtype=np.float32)
    chosen = np.empty((len(scores), k), dtype=np.int32)
    _dense_kernel(np.ascontiguousarray(scores, dtype=np.float32), columns.astype(np.int32), values, chosen)
    return values, chosen
