"""From scores to rows of a heuristic: self left out, the k largest kept (ties: the smaller column), each scaled to sum 1."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange

from ansgt.errors import InputError
from ansgt.linalg import CSR, inverse_or_zero, narrow, row_top_k

LARGE = 10_000_000
"""Above this many entries a copy of them in double precision is not worth its memory."""
_JIT_PAYS = 2_000_000
_JIT_PAYS_DENSE = 16_000_000
"""Smaller work is done without numba: compiling a kernel takes seconds on the first run of a machine."""


def normalized_rows(scores: sp.csr_array, nodes: np.ndarray, k: int | None = None) -> sp.csr_array:
    """Turns scores into distributions: self and non-positive entries out, the k largest kept, rows scaled to sum 1.

    >>> scores = sp.csr_array([[5.0, 3.0, 1.0], [0.0, 2.0, 0.0]])
    >>> normalized_rows(scores, np.array([0, 1])).toarray()
    array([[0.  , 0.75, 0.25],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """
    scores = sp.csr_array(scores)
    if scores.shape[0] != len(nodes):
        raise InputError(f"There are {scores.shape[0]} rows of scores for {len(nodes)} nodes.")
    scores = _without_self(scores, np.asarray(nodes, dtype=np.int64))
    scores = scores if k is None else csr_top_k(scores, k)
    scores.sort_indices()
    sums, data = np.empty(len(nodes)), np.empty(scores.nnz, dtype=np.float32)
    _row_sums(scores.indptr, scores.data, sums)
    _scale_rows(scores.indptr, scores.data, inverse_or_zero(sums), data)
    return sp.csr_array(
        (data, scores.indices.astype(np.int32, copy=False), scores.indptr), shape=scores.shape
    )


def _without_self(scores: sp.csr_array, nodes: np.ndarray) -> sp.csr_array:
    """The positive entries but those of the centre itself."""
    # One kind of numbers, as long as that costs little: numba compiles a kernel for every combination it meets.
    is_large = scores.nnz > LARGE and scores.dtype == np.float32
    entries = CSR.of(scores, dtype=np.float32 if is_large else np.float64)
    indptr = np.zeros(len(nodes) + 1, dtype=np.int64)
    _count_kept(entries, nodes, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=entries.data.dtype)
    _take_kept(entries, nodes, indptr, indices, data)
    return sp.csr_array((data, indices, narrow(indptr)), shape=scores.shape)


@njit(cache=True, parallel=True)
def _count_kept(scores: CSR, nodes: np.ndarray, counts: np.ndarray) -> None:
    for row in prange(len(nodes)):
        count = 0
        for entry in range(scores.indptr[row], scores.indptr[row + 1]):
            count += scores.indices[entry] != nodes[row] and scores.data[entry] > 0
        counts[row] = count


@njit(cache=True, parallel=True)
def _take_kept(
    scores: CSR, nodes: np.ndarray, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray
) -> None:
    for row in prange(len(nodes)):
        place = indptr[row]
        for entry in range(scores.indptr[row], scores.indptr[row + 1]):
            if scores.indices[entry] != nodes[row] and scores.data[entry] > 0:
                indices[place] = scores.indices[entry]
                data[place] = scores.data[entry]
                place += 1


@njit(cache=True, parallel=True)
def _row_sums(indptr: np.ndarray, data: np.ndarray, sums: np.ndarray) -> None:
    for row in prange(len(sums)):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += data[entry]
        sums[row] = total


@njit(cache=True, parallel=True)
def _scale_rows(indptr: np.ndarray, data: np.ndarray, scale: np.ndarray, out: np.ndarray) -> None:
    for row in prange(len(scale)):
        for entry in range(indptr[row], indptr[row + 1]):
            out[entry] = data[entry] * scale[row]


class TopRows(NamedTuple):
    """Room for at most k scores per row: values and columns [b, k], of which the first `lengths` [b] of a row count."""

    values: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray

    @classmethod
    def empty(cls, num_rows: int, k: int) -> "TopRows":
        return cls(
            values=np.empty((num_rows, k), dtype=np.float32),
            columns=np.empty((num_rows, k), dtype=np.int32),
            lengths=np.zeros(num_rows, dtype=np.int64),
        )

    def to_csr(self, num_columns: int) -> sp.csr_array:
        """The rows [b, num_columns]."""
        filled = np.arange(self.values.shape[1]) < self.lengths[:, None]
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        shape = (len(self.lengths), num_columns)
        return sp.csr_array((self.values[filled], self.columns[filled], indptr), shape=shape)


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
def _csr_kernel(matrix: CSR, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> None:
    for row in prange(len(indptr) - 1):
        lo, hi = matrix.indptr[row], matrix.indptr[row + 1]
        a, b = indptr[row], indptr[row + 1]
        keep_largest(matrix.data[lo:hi], matrix.indices[lo:hi], data[a:b], indices[a:b])


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
    indptr = np.concatenate([[0], np.cumsum(np.minimum(np.diff(matrix.indptr), k))])
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=matrix.dtype)
    _csr_kernel(CSR.of(matrix, dtype=matrix.dtype), indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=matrix.shape)


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
