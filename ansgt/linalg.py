"""Normalisations, propagation of dense blocks, row top-k: written once, here."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange
from scipy.sparse.linalg import splu
from torch import Tensor

from ansgt.graph import Graph

_RIGHT_SIDES = 32
"""Columns that `inverse_rows` solves for at once: few enough to stay in the cache."""

with warnings.catch_warnings():  # torch says so once per process, and no user of ansgt can act on it
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [1.0])


class CSR(NamedTuple):
    """The arrays of a CSR matrix, as numba kernels take them: row i has the entries indptr[i] to indptr[i + 1] - 1.

    For reading only: numba loses what a parallel loop writes into the arrays of a tuple.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    @classmethod
    def of(cls, matrix: sp.csr_array, dtype: Any = np.float64) -> "CSR":
        """Row pointers as int64, columns as int32 and entries as `dtype`; copied where the matrix has other types."""
        return cls(
            matrix.indptr.astype(np.int64, copy=False),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data.astype(dtype, copy=False),
        )


def sym_norm(adj: sp.csr_array, self_loops: bool = True) -> sp.csr_array:
    """Ã = D̂^(-1/2) Â D̂^(-1/2) with Â = A + I (section 5.1); float64 CSR. A may be weighted.

    >>> sym_norm(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])).toarray()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    adj = sp.csr_array(adj).astype(np.float64)
    if self_loops:
        adj = sp.csr_array(adj + sp.eye_array(adj.shape[0], format="csr"))
    scale = inverse_or_zero(np.asarray(adj.sum(axis=1)).ravel(), power=0.5)
    adj.sort_indices()
    data = scale[np.repeat(np.arange(len(scale)), np.diff(adj.indptr))] * adj.data
    data *= scale[adj.indices]
    return sp.csr_array((data, adj.indices, adj.indptr), shape=adj.shape)


def fingerprint(array: np.ndarray) -> int:
    """64 bits that change with any entry of a contiguous array, and almost surely where entries change places.

    sum over words w_i of (2i + 1) K w_i modulo 2^64: a tenth of the time of a cryptographic hash, for telling whether
    what is in memory is still what it was.

    >>> one = fingerprint(np.array([0, 1]))
    >>> one == fingerprint(np.arange(2)), one == fingerprint(np.array([1, 0]))
    (True, False)
    """
    flat = array.reshape(-1).view(np.uint8)
    whole = len(flat) // 8 * 8
    rest = int.from_bytes(flat[whole:].tobytes(), "little")
    return hash((array.shape, array.dtype.str, int(_word_sum(flat[:whole].view(np.uint64))), rest))


@njit(cache=True)
def _word_sum(words: np.ndarray) -> np.uint64:
    total, factor = np.uint64(0), np.uint64(0x9E3779B97F4A7C15)
    step = np.uint64(2) * factor
    for word in words:
        total += word * factor
        factor += step
    return total


def row_norm(matrix: sp.csr_array) -> sp.csr_array:
    """Rows scaled to sum 1; an all-zero row stays all-zero."""
    matrix = sp.csr_array(matrix)
    scale = inverse_or_zero(np.asarray(matrix.sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(scale) @ matrix)


def inverse_or_zero(values: np.ndarray, power: float = 1.0) -> np.ndarray:
    """values ** -power, with 0 where a value is 0 (isolated nodes)."""
    values = np.asarray(values, dtype=np.float64)
    out = np.zeros_like(values)
    np.power(values, -power, where=values > 0, out=out)
    return out


def row_top_k(matrix: sp.csr_array, k: int) -> sp.csr_array:
    """Keeps the k largest entries of every row (ties: the smaller column), columns sorted.

    >>> row_top_k(sp.csr_array([[0.1, 0.5, 0.4], [0.0, 0.0, 1.0]]), 2).toarray()
    array([[0. , 0.5, 0.4],
           [0. , 0. , 1. ]])
    """
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    lengths = np.diff(matrix.indptr)
    if len(lengths) == 0 or lengths.max(initial=0) <= k:
        return matrix
    row = np.repeat(np.arange(matrix.shape[0]), lengths)
    order = np.lexsort((matrix.indices, -matrix.data, row))
    rank = np.arange(len(order)) - matrix.indptr[row[order]]
    kept = np.sort(order[rank < k])
    indptr = np.concatenate([[0], np.cumsum(np.minimum(lengths, k))])
    return sp.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)


def to_torch(matrix: sp.csr_array, dtype: torch.dtype = torch.float32) -> Tensor:
    """A scipy CSR array as a `torch.sparse_csr` tensor."""
    return torch.sparse_csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int64)),
        torch.from_numpy(matrix.indices.astype(np.int64)),
        torch.from_numpy(np.ascontiguousarray(matrix.data)).to(dtype),
        size=matrix.shape,
    )


def csr_array(x: Tensor) -> sp.csr_array:
    """A `torch.sparse_csr` tensor as a scipy CSR array; on the CPU without a copy."""
    parts = (x.values(), x.col_indices(), x.crow_indices())
    return sp.csr_array(tuple(part.cpu().numpy() for part in parts), shape=tuple(x.shape))


def row_normalize_features(x: Tensor) -> Tensor:
    """Every row of X divided by the sum of its absolute values; an all-zero row stays all-zero.

    >>> row_normalize_features(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    if x.layout == torch.strided:
        sums = x.abs().sum(dim=1, keepdim=True)
        return x / torch.where(sums > 0, sums, 1.0)
    row = torch.repeat_interleave(torch.arange(x.shape[0]), x.crow_indices().diff())
    sums = torch.zeros(x.shape[0]).index_add_(0, row, x.values().abs())
    values = x.values() / torch.where(sums > 0, sums, 1.0)[row]
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, size=x.shape)


def gcn_norm(graph: Graph) -> sp.csr_array:
    """Ã of a graph (see `sym_norm`)."""
    return sym_norm(graph.adj)


def gcn_rows(graph: Graph, nodes: np.ndarray) -> sp.csr_array:
    """The rows `nodes` of Ã, without the others.

    >>> from ansgt.testing import path_graph
    >>> gcn_rows(path_graph(2), np.array([1])).toarray()
    array([[0.5, 0.5]])
    """
    lengths = graph.degree[nodes] + 1
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    row = np.repeat(np.arange(len(nodes)), lengths)
    at = np.arange(indptr[-1]) - indptr[row]  # the last place of a row is the node itself
    own = at == lengths[row] - 1
    places = np.where(own, 0, graph.indptr[nodes][row] + at)
    columns = np.where(own, nodes[row], graph.indices[places] if len(graph.indices) else 0)
    ends = (graph.degree[part].astype(np.float64) + 1.0 for part in (nodes[row], columns))
    data = np.multiply(*(inverse_or_zero(part, power=0.5) for part in ends))
    found = sp.csr_array(
        (data, columns.astype(np.int32), narrow(indptr)), shape=(len(nodes), graph.num_nodes)
    )
    found.sort_indices()
    return found


def inverse_rows(matrix: sp.csr_array, rows: np.ndarray) -> np.ndarray:
    """Rows [len(rows), n] of the inverse of a sparse symmetric positive definite matrix, float64.

    Its LDL^T factor stays sparse for most graphs, which makes this far cheaper than a dense solve.

    >>> inverse_rows(sp.csr_array([[2.0, 0.0, 0.0], [0.0, 1.0, -0.5], [0.0, -0.5, 1.0]]), np.array([0, 2])).round(3)
    array([[0.5  , 0.   , 0.   ],
           [0.   , 0.667, 1.333]])
    """
    options = {"SymmetricMode": True}
    factors = splu(sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    lower, place = sp.csc_array(sp.tril(factors.L, -1)), factors.perm_c  # U = D L^T, by symmetry
    order = np.argsort(place[rows], kind="stable")  # neighbours in the factor share their work
    out = np.empty((len(rows), matrix.shape[0]))
    _solve_for_units(CSR.of(lower.T), factors.U.diagonal(), place.astype(np.int64), rows[order], order, out)
    return out


@njit(cache=True, parallel=True)
def _solve_for_units(
    columns: CSR,
    pivots: np.ndarray,
    place: np.ndarray,
    units: np.ndarray,
    target: np.ndarray,
    out: np.ndarray,
) -> None:
    """Solves L D L^T x = e_u for every u of `units` into out[target]; `columns` are those of L without its unit diagonal."""
    indptr, indices, data = columns
    n = len(pivots)
    for block in prange((len(units) + _RIGHT_SIDES - 1) // _RIGHT_SIDES):
        first = block * _RIGHT_SIDES
        count = min(_RIGHT_SIDES, len(units) - first)
        x = np.zeros((n, _RIGHT_SIDES))
        reached = np.zeros(n, dtype=np.bool_)
        for b in range(count):
            x[place[units[first + b]], b] = 1.0
            reached[place[units[first + b]]] = True
        for j in range(n):
            if reached[j]:
                for entry in range(indptr[j], indptr[j + 1]):
                    i, value = indices[entry], data[entry]
                    reached[i] = True
                    for b in range(_RIGHT_SIDES):
                        x[i, b] -= value * x[j, b]
        for j in range(n - 1, -1, -1):
            for b in range(_RIGHT_SIDES):
                x[j, b] /= pivots[j]
            for entry in range(indptr[j], indptr[j + 1]):
                i, value = indices[entry], data[entry]
                if reached[i]:
                    reached[j] = True
                    for b in range(_RIGHT_SIDES):
                        x[j, b] -= value * x[i, b]
        for node in range(n):
            for b in range(count):
                out[target[first + b], node] = x[place[node], b]


def positive_csr(dense: np.ndarray) -> sp.csr_array:
    """The positive entries of a dense matrix, as CSR.

    >>> positive_csr(np.array([[0.5, -1.0], [0.0, 2.0]])).toarray()
    array([[0.5, 0. ],
           [0. , 2. ]])
    """
    indptr = np.zeros(len(dense) + 1, dtype=np.int64)
    _count_positive(dense, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=dense.dtype)
    _take_positive(dense, indptr, indices, data)
    return sp.csr_array((data, indices, narrow(indptr)), shape=dense.shape)


def narrow(indptr: np.ndarray) -> np.ndarray:
    """Row pointers as int32 where they fit: with int64 ones scipy would widen the column indices too."""
    return indptr.astype(sp.get_index_dtype(maxval=int(indptr[-1])), copy=False)


@njit(cache=True, parallel=True)
def _count_positive(dense: np.ndarray, counts: np.ndarray) -> None:
    for row in prange(len(dense)):
        count = 0
        for column in range(dense.shape[1]):
            count += dense[row, column] > 0
        counts[row] = count


@njit(cache=True, parallel=True)
def _take_positive(dense: np.ndarray, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> None:
    for row in prange(len(dense)):
        place = indptr[row]
        for column in range(dense.shape[1]):
            if dense[row, column] > 0:
                indices[place] = column
                data[place] = dense[row, column]
                place += 1
