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
_JIT_PAYS = 500_000
_JIT_PAYS_DENSE = 16_000_000
"""Smaller work is done without numba: compiling a kernel takes seconds on the first run of a machine."""
_BINS, _FEW = 1024, 32
"""Bins at most, and how many values are rather compared one by one."""


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
            lengths=np.empty(num_rows, dtype=np.int64),
        )

    def to_csr(self, num_columns: int) -> sp.csr_array:
        """The rows [b, num_columns]."""
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        data, indices = np.empty(indptr[-1], dtype=np.float32), np.empty(indptr[-1], dtype=np.int32)
        _pack(self.values, self.columns, indptr, data, indices)
        return sp.csr_array((data, indices, narrow(indptr)), shape=(len(self.lengths), num_columns))


class Table:
    """Rows of all nodes, from blocks of them, without a second copy: room for more is taken as blocks come.

    Args:
        num_rows: of all blocks.
    """

    def __init__(self, num_rows: int) -> None:
        self.lengths = np.zeros(num_rows, dtype=np.int64)
        self.data, self.indices = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int32)
        self.done = self.used = 0

    def append(self, block: sp.csr_array) -> None:
        """The rows that follow."""
        first, last = self.done, self.done + block.shape[0]
        self.lengths[first:last] = np.diff(block.indptr)
        end = self.used + block.nnz
        if end > len(self.data):
            # pages of main memory are taken when they are written to, so that what is too much costs nothing
            room = int(1.1 * end / last * len(self.lengths)) if last < len(self.lengths) else end
            self.data, self.indices = (_with_room(one, self.used, room) for one in (self.data, self.indices))
        self.data[self.used : end], self.indices[self.used : end] = block.data, block.indices
        self.done, self.used = last, end

    def arrays(self) -> dict[str, np.ndarray]:
        """data, indices and indptr."""
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        return {"data": self.data[: self.used], "indices": self.indices[: self.used], "indptr": indptr}


def _with_room(array: np.ndarray, used: int, room: int) -> np.ndarray:
    larger = np.empty(room, dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


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
    size = take_largest(values, columns, out_values, out_columns)
    for at in range(1, size):
        if out_columns[at] < out_columns[at - 1]:
            sort_by_column(out_values[:size], out_columns[:size])
            break
    return size


@njit(cache=True)
def take_largest(
    values: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray
) -> int:
    """`keep_largest` with the columns in any order."""
    size = min(len(out_values), len(values))
    if size == len(values):
        out_values[:size], out_columns[:size] = values, columns
    else:
        _take_largest(values, columns, out_values, out_columns)
    return size


@njit(cache=True)
def _take_largest(
    values: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray
) -> None:
    """Fills the outputs, in any order: whole bins of large values, then the best of the bin that is needed in part.

    The bits of a float, as an integer, rise with it; so does a bin, some hundreds of which span the range of the values.
    Where values are equal the negated columns are the integers.
    """
    filled, is_tie = 0, False
    key = values.astype(np.float32).view(np.int32)  # rounding keeps the order, but for ties
    for at in range(len(key)):
        key[at] ^= (key[at] >> 31) & 0x7FFFFFFF
    while True:
        wanted = len(out_values) - filled
        if len(values) <= max(_FEW, wanted):
            _pick(values.copy(), columns.copy(), out_values[filled:], out_columns[filled:])
            return
        top, least = np.int64(key.max()), np.int64(key.min())
        if top == least:
            if is_tie or values.min() < values.max():  # apart in double precision alone
                best = _best(values, columns, wanted)
                out_values[filled:], out_columns[filled:] = values[best], columns[best]
                return
            key, is_tie = -columns.astype(np.int32), True
            continue
        shift = 0
        while (top - least) >> shift >= _BINS:
            shift += 1
        count = np.zeros(_BINS, dtype=np.int32)
        for at in range(len(key)):
            count[np.uint64((top - key[at]) >> shift)] += 1
        edge = 0
        while count[edge] < wanted:
            wanted -= count[edge]
            edge += 1
        above, last = top - (edge << shift), top - ((edge + 1) << shift)
        best, rest = np.empty(len(key), dtype=np.int32), np.empty(len(key), dtype=np.int32)
        whole, left = np.uint64(0), np.uint64(0)  # of a signed place numba asks whether it is negative
        for at in range(len(key)):  # no branches: which way they go cannot be guessed
            best[whole] = at
            whole += np.uint64(key[at] > above)
            rest[left] = at
            left += np.uint64(key[at] <= above) & np.uint64(key[at] > last)
        for at in best[:whole]:
            out_values[filled], out_columns[filled] = values[at], columns[at]
            filled += 1
        values, columns, key = values[rest[:left]], columns[rest[:left]], key[rest[:left]]


@njit(cache=True)
def _pick(values: np.ndarray, columns: np.ndarray, out_values: np.ndarray, out_columns: np.ndarray) -> None:
    """The best of a few, one after the other; the inputs are used up."""
    if len(out_values) == len(values):
        out_values[:], out_columns[:] = values, columns
        return
    for place in range(len(out_values)):
        best = place
        for at in range(place + 1, len(values)):
            if values[at] > values[best] or (values[at] == values[best] and columns[at] < columns[best]):
                best = at
        out_values[place], out_columns[place] = values[best], columns[best]
        values[best], columns[best] = values[place], columns[place]


@njit(cache=True)
def _best(values: np.ndarray, columns: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` largest values, by sorting."""
    by_column = np.argsort(columns, kind="mergesort")
    return by_column[np.argsort(-values[by_column], kind="mergesort")[:count]]


@njit(cache=True)
def sort_by_column(values: np.ndarray, columns: np.ndarray) -> None:
    """Sorts both by column, by counting its digits of at most nine bits from the lowest to the highest."""
    highest, width = np.int64(columns.max()), np.int64(1)
    while highest >> width > 0:
        width += 1
    passes = (width + 8) // 9
    bits = (width + passes - 1) // passes
    mask = np.uint64((1 << bits) - 1)
    next_values, next_columns = np.empty_like(values), np.empty_like(columns)
    place = np.empty((1 << bits) + 1, dtype=np.int32)
    for number in range(passes):
        shift = np.uint64(number * bits)
        place[:] = 0
        for column in columns:
            place[((np.uint64(column) >> shift) & mask) + np.uint64(1)] += 1
        for digit in range(1 << bits):
            place[digit + 1] += place[digit]
        for at in range(len(columns)):
            own = (np.uint64(columns[at]) >> shift) & mask
            to = np.uint64(place[own])
            next_values[to], next_columns[to] = values[at], columns[at]
            place[own] = to + np.uint64(1)
        values[:], columns[:] = next_values, next_columns


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
    return sp.csr_array((data, indices, narrow(indptr)), shape=matrix.shape)


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
