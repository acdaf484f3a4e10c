"""Laplacian eigenvectors as positional encoding (GT, SAN)."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from ansgt.graph import Graph
from ansgt.linalg import sym_norm
from ansgt.storage import DiskCache

DENSE_NODES = 600
"""Below this the whole spectrum is cheaper than a Lanczos run."""


def laplacian_eigenvectors(graph: Graph, count: int, cache: DiskCache) -> tuple[np.ndarray, np.ndarray]:
    """The `count` smallest non-trivial eigenpairs of L = I - D^(-1/2) A D^(-1/2).

    Trivial are the zero eigenvalues, one per connected component: their vectors say nothing but "which component", and
    on Cora (78 components) they alone would fill every slot. The sign is fixed by making the entry of largest
    magnitude positive; training flips signs at random.

    Returns:
        eigenvalues [k] and eigenvectors [n, k], float32, the largest entry of each vector being 1 (norm 1 would make
        entries vanish on large graphs, norm sqrt(n) would blow up those of localised vectors); k < count where the
        graph has fewer.
    """
    key = ["v2", graph.num_nodes, graph.indptr, graph.indices, count]
    stored = cache.fetch("laplacian", key, lambda: _eigenpairs(graph, count))
    return stored["values"], stored["vectors"]


def _eigenpairs(graph: Graph, count: int) -> dict[str, np.ndarray]:
    adj = sym_norm(graph.adj, self_loops=False)
    trivial = component_vectors(graph)
    count = min(count, graph.num_nodes - trivial.shape[1])
    if count == 0:
        empty = np.zeros((graph.num_nodes, 0), dtype=np.float32)
        return {"values": np.zeros(0, dtype=np.float32), "vectors": empty}
    values, vectors = _largest(adj, trivial, count)
    order = np.argsort(-values)
    vectors = peak_one(vectors[:, order])
    return {"values": (1 - values[order]).astype(np.float32), "vectors": vectors.astype(np.float32)}


def _largest(adj: sp.csr_array, trivial: sp.csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenpairs of the normalised adjacency with the trivial ones moved below all others."""
    n = adj.shape[0]
    if n <= DENSE_NODES or count >= n - 1:
        values, vectors = np.linalg.eigh(adj.toarray() - 3 * (trivial @ trivial.T).toarray())
        return values[-count:], vectors[:, -count:]
    operator = LinearOperator((n, n), matvec=lambda x: adj @ x - 3 * (trivial @ (trivial.T @ x)))
    start = np.random.default_rng(0).normal(size=n)
    return eigsh(operator, k=count, which="LA", v0=start, ncv=max(4 * count, 40), tol=1e-6)


def component_vectors(graph: Graph) -> sp.csr_array:
    """Unit vectors D^(1/2) 1_c of the connected components [n, components]; an isolated node is a component."""
    count, member = connected_components(graph.adj, directed=False)
    weight = np.maximum(graph.degree, 1).astype(np.float64)
    weight = np.sqrt(weight / np.bincount(member, weights=weight)[member])
    nodes = np.arange(graph.num_nodes)
    return sp.csr_array((weight, (nodes, member)), shape=(graph.num_nodes, count))


def peak_one(vectors: np.ndarray) -> np.ndarray:
    """Every column divided by its entry of largest magnitude, which becomes 1; that fixes the sign, too.

    >>> peak_one(np.array([[0.3], [-0.6]])).ravel().tolist()
    [-0.5, 1.0]
    """
    peak = np.abs(vectors).argmax(axis=0)
    return vectors / vectors[peak, np.arange(vectors.shape[1])]
