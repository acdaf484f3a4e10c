"""From scores to rows of a heuristic: self left out, the k largest kept (ties: the smaller column), each scaled to sum 1."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange

from ansgt.errors import InputError
from ansgt.linalg import CSR, inverse_or_zero, narrow, row_top_k

LARGE = 1_000_000
"""Above this many entries a copy of them in double precision is not worth its time and memory."""
_JIT_PAYS = 2_000_000
_JIT_PAYS_DENSE = 16_000_000
"""Smaller work is done without numba: compiling a kernel takes seconds on the first run of a machine."""
_COARSE, _BINS, _FEW = 18, 1024, 32
"""Bits of a float that a bin leaves out at first, bins, and how many values are rather sorted."""


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
    if is_large and indptr[-1] == scores.nnz:
        return scores
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
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        data, indices = np.empty(indptr[-1], dtype=np.float32), np.empty(indptr[-1], dtype=np.int32)
        _pack(self.values, self.columns, indptr, data, indices)
        return sp.csr_array((data, indices, narrow(indptr)), shape=(len(self.lengths), num_columns))


@njit(cache=True, parallel=True)
def _pack(
    values: np.ndarray, columns: np.ndarray, indptr: np.ndarray, data: np.ndarray, indices: np.ndarray
) -> None:
    for row in prange(len(values)):
        first, last = indptr[row], indptr[row + 1]
        data[first:last] = values[row, : last - first]
        indices[first:last] = columns[row, : last - first]


@njit(cache=True)
def keep_largest(
    values: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray
) -> int:
    """Writes the len(out_values) largest of (values, columns) to the outputs, columns ascending; returns how many.

    Columns are distinct and not negative; among equal values the smaller column wins. Linear, whatever the order.
    """
    size = min(len(out_values), len(values))
    if size == len(values):
        out_values[:size], out_columns[:size] = values, columns
    else:
        _take_largest(values, columns, out_values, out_columns)
    for at in range(1, size):
        if out_columns[at] < out_columns[at - 1]:
            _sort_by_column(out_values[:size], out_columns[:size])
            break
    return size


@njit(cache=True)
def _take_largest(
    values: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray
) -> None:
    """Fills the outputs, in any order: whole bins of large values, then the best of the bin that is needed in part.

    The bits of a float, as an integer, rise with it; bins are 1/32 of an octave wide, and thinner in a bin of many.
    """
    filled, shift = 0, _COARSE
    while True:
        wanted = len(out_values) - filled
        if len(values) <= max(_FEW, wanted) or shift < 0:
            best = _best(values, columns, wanted)
            out_values[filled:], out_columns[filled:] = values[best], columns[best]
            return
        place = values.astype(np.float32).view(np.int32)  # rounding keeps the order, but for ties
        for at in range(len(place)):
            place[at] = (place[at] ^ ((place[at] >> 31) & 0x7FFFFFFF)) >> shift
        top = place.max()
        count = np.zeros(_BINS, dtype=np.int64)
        for at in range(len(place)):
            place[at] = min(np.int64(top) - place[at], _BINS - 1)
            count[place[at]] += 1
        edge = 0
        while count[edge] < wanted:
            wanted -= count[edge]
            edge += 1
        rest, left = np.empty(count[edge], dtype=np.int64), 0
        for at in range(len(place)):
            if place[at] < edge:
                out_values[filled], out_columns[filled] = values[at], columns[at]
                filled += 1
            elif place[at] == edge:
                rest[left] = at
                left += 1
        if left == len(values):
            shift -= _COARSE // 2
        values, columns = values[rest], columns[rest]


@njit(cache=True)
def _best(values: np.ndarray, columns: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` largest values, by sorting."""
    by_column = np.argsort(columns, kind="mergesort")
    return by_column[np.argsort(-values[by_column], kind="mergesort")[:count]]


@njit(cache=True)
def _sort_by_column(values: np.ndarray, columns: np.ndarray) -> None:
    """Sorts both by column, by counting its bytes from the lowest to the highest."""
    highest = columns.max()
    next_values, next_columns = np.empty_like(values), np.empty_like(columns)
    place = np.empty(257, dtype=np.int64)
    shift = 0
    while highest >> shift > 0:
        place[:] = 0
        for column in columns:
            place[((column >> shift) & 255) + 1] += 1
        for byte in range(256):
            place[byte + 1] += place[byte]
        for at in range(len(columns)):
            byte = (columns[at] >> shift) & 255
            next_values[place[byte]], next_columns[place[byte]] = values[at], columns[at]
            place[byte] += 1
        values[:], columns[:] = next_values, next_columns
        shift += 8


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
    if np.diff(matrix.indptr).max(initial=0) <= k:
        matrix.sort_indices()
        return matrix
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
