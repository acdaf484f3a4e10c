"""Normalisations, propagation of dense blocks, row top-k: written once, here."""

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.graph import Graph

# torch says so once per process, of every CSR tensor; nothing a user of ansgt can act on
warnings.filterwarnings("ignore", message="Sparse (CSR tensor support is in beta|invariant checks are)")


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
    scaled = sp.csr_array(sp.diags_array(scale) @ adj @ sp.diags_array(scale))
    scaled.sort_indices()
    return scaled


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
