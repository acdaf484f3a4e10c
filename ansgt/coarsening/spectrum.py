"""The smallest non-zero eigenpairs of a graph Laplacian, by LOBPCG started from coarser and coarser copies of the graph.

Plain LOBPCG needs dozens of iterations to see the smooth vectors that live on long paths. A cascade sees them at once:
aggregate nodes in pairs down to a few hundred, iterate there at almost no cost, carry the vectors up, and correct them with
a few iterations per level.

On a contracted graph the operator is S^(-1/2) L S^(-1/2) = PᵀLP, S the cluster sizes, so that all levels approximate
one spectrum.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numba import njit

from ansgt.coarsening.contraction import Contracted, apply_laplacian, relabel
from ansgt.coarsening.lobpcg import lobpcg
from ansgt.linalg import CSR


class Eigenpairs(NamedTuple):
    """Eigenvalues [k], increasing, and orthonormal eigenvectors [n, k]."""

    values: np.ndarray
    vectors: np.ndarray


def smallest_eigenpairs(
    graph: Contracted,
    k: int,
    iterations: int = 6,
    tolerance: float = 0.0,
    coarsest: int = 300,
    seed: int = 0,
) -> Eigenpairs:
    """The k smallest non-zero eigenpairs of PᵀLP; fewer where its rank is less.

    Args:
        iterations: LOBPCG iterations at each level of the cascade; the coarsest gets five times as many.
        tolerance: stop once every residual is below `tolerance` times its eigenvalue.
        coarsest: aggregation stops at this many nodes above the number of components.
    """
    if graph.degree.min(initial=1.0) == 0:
        return _among_linked(
            graph, lambda rest: smallest_eigenpairs(rest, k, iterations, tolerance, coarsest, seed)
        )
    k = min(k, graph.num_nodes - graph.num_components)
    if graph.num_nodes <= max(6 * k, 200):
        return dense_eigenpairs(graph, k)
    rng = np.random.default_rng(seed)
    levels, labels = _cascade(graph, max(coarsest, 5 * k), rng)
    block = rng.standard_normal((levels[-1].num_nodes, k))
    values, block = lobpcg(levels[-1], block, 5 * iterations, tolerance)
    for fine, coarse, label in zip(levels[-2::-1], levels[:0:-1], labels[::-1], strict=True):
        scale = np.sqrt(fine.size / coarse.size[label])
        values, block = lobpcg(fine, scale[:, None] * block[label], iterations, tolerance)
    return Eigenpairs(values, block)


def converged_eigenpairs(
    graph: Contracted, k: int, tolerance: float, seed: int = 0, guard: int = 8, dense_below: int = 1500
) -> Eigenpairs:
    """As `smallest_eigenpairs`, iterated to `tolerance` and checked for missed eigenvalues.

    A vector that lives on a few nodes can be invisible at the coarser levels. So fresh random vectors are added to the
    found ones and iterated until they turn up nothing new.
    """
    if graph.degree.min(initial=1.0) == 0:
        return _among_linked(
            graph, lambda rest: converged_eigenpairs(rest, k, tolerance, seed, guard, dense_below)
        )
    k = min(k, graph.num_nodes - graph.num_components)
    if graph.num_nodes <= max(dense_below, 6 * (k + guard)):
        return dense_eigenpairs(graph, k)
    rng = np.random.default_rng(seed)
    values, block = smallest_eigenpairs(graph, k, 10, tolerance, seed=seed)
    for _ in range(10):
        trial = np.hstack([block, rng.standard_normal((graph.num_nodes, guard))])
        _, trial = lobpcg(graph, trial, 20)
        found, trial = lobpcg(graph, trial, 200, tolerance, wanted=k)
        settled = np.allclose(values, found[:k], rtol=tolerance)
        values, block = found[:k], np.ascontiguousarray(trial[:, :k])
        if settled:
            break
    return Eigenpairs(values, block)


def _among_linked(graph: Contracted, solve: Callable[[Contracted], Eigenpairs]) -> Eigenpairs:
    """Solves without the nodes that have no edge: every eigenvector of a non-zero eigenvalue is zero there.

    What is left has rank at least half its nodes, so that a block of k vectors never runs out of directions.
    """
    linked = graph.degree > 0
    component, count = relabel(graph.component[linked])
    rest = Contracted(
        indptr=np.concatenate([[0], np.cumsum(np.diff(graph.indptr)[linked])]),
        indices=(np.cumsum(linked) - 1)[graph.indices].astype(np.int32),
        weights=graph.weights,
        degree=graph.degree[linked],
        size=graph.size[linked],
        component=component,
        num_components=count,
    )
    values, vectors = solve(rest)
    out = np.zeros((graph.num_nodes, len(values)))
    out[linked] = vectors
    return Eigenpairs(values, out)


def dense_eigenpairs(graph: Contracted, k: int) -> Eigenpairs:
    """The same by LAPACK, for small graphs; exact."""
    n = graph.num_nodes
    if k == 0:
        return Eigenpairs(np.zeros(0), np.zeros((n, 0)))
    laplacian = graph.laplacian(scale=1.0 / np.sqrt(graph.size.astype(np.float64)))
    matrix = np.empty((n, n))
    apply_laplacian(laplacian, np.eye(n), matrix, 0, n)
    q = graph.num_components
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=(q, q + k - 1))
    return Eigenpairs(values, np.ascontiguousarray(vectors))


def _cascade(
    graph: Contracted, coarsest: int, rng: np.random.Generator
) -> tuple[list[Contracted], list[np.ndarray]]:
    """Coarser and coarser copies, each by two rounds of pairing, and the node of the next copy for every node."""
    levels, labels = [graph], []
    while levels[-1].num_nodes > coarsest + graph.num_components:
        level, label = levels[-1], np.arange(levels[-1].num_nodes)
        for _ in range(2):
            pair, count = aggregate(level.csr, level.degree, rng.permutation(level.num_nodes))
            label, level = pair[label], level.contract(pair, count)
        if level.num_nodes > 0.9 * levels[-1].num_nodes:
            break
        levels.append(level)
        labels.append(label)
    return levels, labels


@njit(cache=True)
def aggregate(adj: CSR, degree: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, int]:
    """Pairs each node with its most strongly tied free neighbour; two that find none around the same hub form a pair."""
    indptr, indices, weights = adj
    n = len(indptr) - 1
    label = np.full(n, -1, dtype=np.int64)
    waiting = np.full(n, -1, dtype=np.int64)  # a node left alone at this hub
    count = 0
    for i in order:
        if label[i] >= 0:
            continue
        best, best_free = -1, -1
        tie, tie_free = 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            strength = weights[e] / degree[j]
            if strength > tie:
                best, tie = j, strength
            if label[j] < 0 and strength > tie_free:
                best_free, tie_free = j, strength
        if best_free < 0 and best >= 0:
            partner, waiting[best] = waiting[best], i
            if partner >= 0:
                label[i], waiting[best] = label[partner], -1
                continue
        label[i] = count
        if best_free >= 0:
            label[best_free] = count
        count += 1
    return label, count
