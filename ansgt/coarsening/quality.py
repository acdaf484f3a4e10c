"""How good a coarse graph is: spectrum, subspace, cluster sizes, label purity; computed sparsely."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ansgt.coarsening.base import CoarseGraph, steady_threads
from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.spectrum import Eigenpairs, converged_eigenpairs
from ansgt.graph import Graph
from ansgt.storage import DiskCache


@dataclass(frozen=True)
class Quality:
    """Quality of a coarse graph against its original.

    Args:
        eigenvalue_error: mean over i <= k of |λ'_i - λ_i| / λ_i, for the non-zero eigenvalues λ of L and λ' of PᵀLP.
        eigenvalues_compared: the k used: the one asked for, or fewer where either spectrum has fewer.
        subspace_error: ε of Loukas (2019), definition 1: the smallest ε with ‖x - PPᵀx‖_L <= ε ‖x‖_L for every x in the
            span of the first `subspace_dim` non-trivial eigenvectors.
        subspace_dim: how many eigenvectors that is.
        size_mean, size_std, size_max, singletons: cluster sizes, and how many clusters hold one node.
        largest_share: share of the nodes in the largest cluster.
        purity: share of labelled nodes whose label is the most frequent one of their cluster; None without labels.
    """

    eigenvalue_error: float
    eigenvalues_compared: int
    subspace_error: float
    subspace_dim: int
    size_mean: float
    size_std: float
    size_max: int
    singletons: int
    largest_share: float
    purity: float | None

    def asdict(self) -> dict[str, Any]:
        return asdict(self)


def quality(
    graph: Graph,
    coarse: CoarseGraph,
    k: int = 40,
    subspace_dim: int = 10,
    tolerance: float = 5e-3,
    cache: DiskCache | None = None,
) -> Quality:
    """Compares `coarse` with the graph it came from.

    The coarse Laplacian is PᵀLP with PᵀP = I, so λ_i <= λ'_i by interlacing (Loukas 2019, theorem 13, measures the same).

    Args:
        k: eigenvalues to compare.
        subspace_dim: K of the subspace error.
        tolerance: relative residual at which an eigenpair counts as found; its eigenvalue is then far more precise.
        cache: keeps the original graph's spectrum on disk.

    >>> from ansgt.coarsening import VariationNeighborhoods
    >>> from ansgt.testing import path_graph
    >>> graph = path_graph(8)
    >>> quality(graph, VariationNeighborhoods(rate=1.0).fit(graph)).eigenvalue_error < 1e-9
    True
    """
    with steady_threads(len(graph.indices)):
        start = Contracted.from_graph(graph)
        values, vectors = spectrum(graph, start, max(k, subspace_dim), tolerance, cache or DiskCache(None))
        level = start.contract(coarse.assignment, coarse.num_supernodes)
        approximate, _ = converged_eigenpairs(level, k, tolerance)
        compared = min(k, len(values), len(approximate))
        error = np.abs(approximate[:compared] - values[:compared]) / values[:compared]
        dim = min(subspace_dim, len(values))
        epsilon = subspace_error(start, coarse, values[:dim], vectors[:, :dim])
    sizes = np.bincount(coarse.assignment)
    return Quality(
        eigenvalue_error=float(error.mean()) if compared else 0.0,
        eigenvalues_compared=compared,
        subspace_error=epsilon,
        subspace_dim=dim,
        size_mean=float(sizes.mean()),
        size_std=float(sizes.std()),
        size_max=int(sizes.max()),
        singletons=int((sizes == 1).sum()),
        largest_share=coarse.largest_share,
        purity=label_purity(coarse.assignment, graph.y.numpy()),
    )


def spectrum(graph: Graph, start: Contracted, k: int, tolerance: float, cache: DiskCache) -> Eigenpairs:
    """The k smallest non-zero eigenpairs of L, to `tolerance`."""
    key = ["v2", graph.indptr, graph.indices, k, tolerance, 0]
    return Eigenpairs(
        **cache.fetch("spectrum", key, lambda: converged_eigenpairs(start, k, tolerance)._asdict())
    )


def subspace_error(start: Contracted, coarse: CoarseGraph, values: np.ndarray, vectors: np.ndarray) -> float:
    """ε = ‖ Π^⊥ A ‖_L for A = U Λ^(-1/2) and Π = PPᵀ (Loukas 2019, proposition 17): 0 when the subspace survives whole."""
    if len(values) == 0:
        return 0.0
    lost = vectors - coarse.P @ (coarse.P.T @ vectors)
    lost = np.ascontiguousarray(lost / np.sqrt(values))
    energy = lost.T @ start.laplacian_times(lost)
    return float(np.sqrt(max(np.linalg.eigvalsh((energy + energy.T) / 2)[-1], 0.0)))


def label_purity(assignment: np.ndarray, y: np.ndarray) -> float | None:
    """Share of labelled nodes (y >= 0) that carry the most frequent label of their cluster.

    >>> label_purity(np.array([0, 0, 0, 1]), np.array([2, 2, 1, -1]))
    0.6666666666666666
    """
    known = y >= 0
    if not known.any():
        return None
    table = np.zeros((int(assignment.max()) + 1, int(y.max()) + 1), dtype=np.int64)
    np.add.at(table, (assignment[known], y[known]), 1)
    return float(table.max(axis=1).sum() / known.sum())
