"""Everything coarse, derived from an assignment of nodes to clusters: sums over clusters and the contracted graph."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.graph import Graph
from ansgt.linalg import CSR


@dataclass(frozen=True, eq=False)
class Contracted:
    """A graph whose nodes are clusters: P̂ᵀAP̂ without its diagonal, for a one-hot P̂.

    Args:
        indptr, indices, weights: CSR of the total weight between clusters.
        degree: weight that leaves each cluster [m], float64.
        size: number of original nodes in each cluster [m], int64.
        component: connected component of each cluster [m], 0..q-1.
        num_components: q.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    degree: np.ndarray
    size: np.ndarray
    component: np.ndarray
    num_components: int
    __repr__ = brief_repr

    @classmethod
    def from_graph(cls, graph: Graph) -> "Contracted":
        """Every node a cluster of its own."""
        component, count = connected_components(graph.indptr, graph.indices)
        ones = np.ones(len(graph.indices))
        size = np.ones(graph.num_nodes, dtype=np.int64)
        degree = graph.degree.astype(np.float64)
        return cls(graph.indptr, graph.indices, ones, degree, size, component, count)

    @property
    def num_nodes(self) -> int:
        return len(self.size)

    @property
    def csr(self) -> CSR:
        return CSR(self.indptr, self.indices, self.weights)

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both ends of every edge, each edge once, and which stored entries those are (a mask)."""
        row = np.repeat(np.arange(self.num_nodes), np.diff(self.indptr))
        once = row < self.indices
        return row[once], self.indices[once], once

    def contract(self, label: np.ndarray, count: int) -> "Contracted":
        """Merges nodes of equal label (0..count-1); components that a label joins become one."""
        indptr, indices, weights = contract_csr(self.csr, label, count, False)
        size = np.bincount(label, weights=self.size, minlength=count).astype(np.int64)
        degree = np.bincount(np.repeat(np.arange(count), np.diff(indptr)), weights=weights, minlength=count)
        component = np.empty(count, dtype=np.int64)
        component[label] = self.component
        component, num_components = relabel(component)
        return Contracted(indptr, indices, weights, degree, size, component, num_components)

    def average(self, block: np.ndarray, label: np.ndarray, count: int) -> np.ndarray:
        """Means of the rows of `block` [n, k] over each label, weighted by size [count, k]."""
        return cluster_means(*group_by_cluster(label, count), self.size, block)

    def laplacian(self, scale: np.ndarray) -> "Laplacian":
        """diag(scale) L diag(scale), for the combinatorial Laplacian L of the contracted graph."""
        return Laplacian(*self.csr, self.degree, scale)

    def laplacian_times(self, block: np.ndarray) -> np.ndarray:
        """L block [n, k]."""
        out = np.empty_like(block)
        apply_laplacian(self.laplacian(np.ones(self.num_nodes)), block, out, 0, block.shape[1])
        return out


class Laplacian(NamedTuple):
    """diag(scale) (diag(degree) - W) diag(scale) for the weights W, as `apply_laplacian` takes it."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    degree: np.ndarray
    scale: np.ndarray


def membership(assignment: np.ndarray, num_clusters: int) -> sp.csr_array:
    """P = P̂ D^(-1/2), CSR [n, m] (section 3.3): PᵀP = I."""
    n = len(assignment)
    scale = 1.0 / np.sqrt(np.maximum(np.bincount(assignment, minlength=num_clusters), 1))
    return sp.csr_array((scale[assignment], assignment, np.arange(n + 1)), shape=(n, num_clusters))


def coarse_adjacency(start: Contracted, assignment: np.ndarray, num_clusters: int) -> sp.csr_array:
    """A' = PᵀAP of section 3.3, CSR [m, m] with sorted columns."""
    indptr, indices, weights = contract_csr(start.csr, assignment, num_clusters, True)
    scale = 1.0 / np.sqrt(np.bincount(assignment, minlength=num_clusters))
    adj = sp.csr_array((weights, indices, indptr), shape=(num_clusters, num_clusters))
    adj = adj.T.tocsr()  # symmetric: this only sorts the columns, in linear time
    adj.data *= np.repeat(scale, np.diff(adj.indptr)) * scale[adj.indices]
    return adj


def coarse_features(graph: Graph, assignment: np.ndarray, num_clusters: int) -> tuple[Tensor, Tensor]:
    """X' = PᵀX of section 3.3 and the plain means of X over each cluster, float32 [m, p] both."""
    count = np.bincount(assignment, minlength=num_clusters)
    if isinstance(graph.features, np.ndarray):
        pointer, nodes = group_by_cluster(assignment, num_clusters)
        mean = cluster_means(pointer, nodes, np.ones(len(nodes), dtype=np.int64), graph.features)
    else:
        hot = sp.csr_array((1.0 / count[assignment], assignment, np.arange(len(assignment) + 1)))
        mean = (hot.T @ graph.features).toarray().astype(np.float32)
    means = torch.from_numpy(mean)
    root = torch.from_numpy(np.sqrt(count).astype(np.float32))
    return means * root[:, None], means


def relabel(assignment: np.ndarray) -> tuple[np.ndarray, int]:
    """Labels 0..m-1 in order of first appearance, and m; labels must lie in 0..n-1.

    >>> relabel(np.array([3, 2, 3, 0]))
    (array([0, 1, 0, 2]), 3)
    """
    return _relabel(np.asarray(assignment, dtype=np.int64))


@njit(cache=True)
def _relabel(assignment: np.ndarray) -> tuple[np.ndarray, int]:
    largest = -1
    for label in assignment:
        largest = max(largest, label)
    name = np.full(largest + 1, -1, dtype=np.int64)
    out = np.empty(len(assignment), dtype=np.int64)
    count = 0
    for i, label in enumerate(assignment):
        if name[label] < 0:
            name[label] = count
            count += 1
        out[i] = name[label]
    return out, count


@njit(cache=True)
def connected_components(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, int]:
    """Component of every node [n] of a symmetric CSR graph, numbered by first node, and their number."""
    n = len(indptr) - 1
    component = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    count = 0
    for source in range(n):
        if component[source] >= 0:
            continue
        component[source] = count
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                if component[j] < 0:
                    component[j] = count
                    queue[tail] = j
                    tail += 1
        count += 1
    return component, count


@njit(cache=True)
def group_by_cluster(assignment: np.ndarray, num_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """CSR of clusters: pointers [m + 1] and their nodes in increasing order [n] (a counting sort)."""
    pointer = np.zeros(num_clusters + 1, dtype=np.int64)
    for cluster in assignment:
        pointer[cluster + 1] += 1
    for c in range(num_clusters):
        pointer[c + 1] += pointer[c]
    nodes = np.empty(len(assignment), dtype=np.int64)
    place = pointer[:-1].copy()
    for i, cluster in enumerate(assignment):
        nodes[place[cluster]] = i
        place[cluster] += 1
    return pointer, nodes


@njit(cache=True)
def contract_csr(adj: CSR, assignment: np.ndarray, num_clusters: int, keep_loops: bool) -> CSR:
    """P̂ᵀ A P̂ for a one-hot P̂, with or without its diagonal. Linear in the number of edges."""
    indptr, indices, weights = adj
    pointer, nodes = group_by_cluster(assignment, num_clusters)
    where = np.full(num_clusters, -1, dtype=np.int64)  # position of a column in the row being built
    out_ptr = np.zeros(num_clusters + 1, dtype=np.int64)
    out_col = np.empty(len(indices), dtype=np.int32)
    out_val = np.empty(len(indices), dtype=np.float64)
    filled = 0
    for c in range(num_clusters):
        start = filled
        for at in range(pointer[c], pointer[c + 1]):
            i = nodes[at]
            for e in range(indptr[i], indptr[i + 1]):
                target = assignment[indices[e]]
                if target == c and not keep_loops:
                    continue
                if where[target] < start:
                    where[target] = filled
                    out_col[filled] = target
                    out_val[filled] = weights[e]
                    filled += 1
                else:
                    out_val[where[target]] += weights[e]
        out_ptr[c + 1] = filled
    return CSR(out_ptr, out_col[:filled].copy(), out_val[:filled].copy())


@njit(parallel=True, cache=True)
def cluster_means(pointer: np.ndarray, nodes: np.ndarray, size: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means, weighted by `size` [n], of the rows of `values` [n, p] over each cluster [m, p], summed in float64."""
    num_clusters, width = len(pointer) - 1, values.shape[1]
    out = np.empty((num_clusters, width), dtype=values.dtype)
    for c in prange(num_clusters):
        total = np.zeros(width, dtype=np.float64)
        mass = 0
        for at in range(pointer[c], pointer[c + 1]):
            i = nodes[at]
            mass += size[i]
            for k in range(width):
                total[k] += size[i] * values[i, k]
        for k in range(width):
            out[c, k] = total[k] / mass
    return out


@njit(parallel=True, cache=True)
def apply_laplacian(laplacian: Laplacian, block: np.ndarray, out: np.ndarray, first: int, last: int) -> None:
    """Columns first..last-1 of `out` become the Laplacian times those of `block`."""
    indptr, indices, weights, degree, scale = laplacian
    for i in prange(len(degree)):
        own = degree[i] * scale[i]
        for c in range(first, last):
            out[i, c] = own * block[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            factor = weights[e] * scale[j]
            for c in range(first, last):
                out[i, c] -= factor * block[j, c]
        for c in range(first, last):
            out[i, c] *= scale[i]
