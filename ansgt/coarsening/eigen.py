"""The smallest non-zero eigenpairs of a graph Laplacian, by LOBPCG started from coarser and coarser copies of the graph.

Plain LOBPCG needs dozens of iterations to see the smooth vectors that live on long paths. A cascade sees them at once:
aggregate nodes in pairs down to a few hundred, iterate there at almost no cost, carry the vectors up, and correct them with
a few iterations a level.

On a contracted graph the operator is S^(-1/2) L S^(-1/2) = PᵀLP, S the cluster sizes, so that all levels approximate
one spectrum.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numba import njit, prange

from ansgt.coarsening.contraction import Contracted, relabel


def smallest_eigenpairs(
    graph: Contracted,
    k: int,
    iterations: int = 6,
    tolerance: float = 0.0,
    coarsest: int = 300,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest non-zero eigenvalues [k'] and orthonormal eigenvectors [n, k'] of PᵀLP, k' = min(k, its rank).

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
    return values, block


def converged_eigenpairs(
    graph: Contracted, k: int, tolerance: float, seed: int = 0, guard: int = 8, dense_below: int = 1500
) -> tuple[np.ndarray, np.ndarray]:
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
    return values, block


def _among_linked(
    graph: Contracted, solve: Callable[[Contracted], tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
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
    return values, out


def lobpcg(
    graph: Contracted, block: np.ndarray, iterations: int, tolerance: float = 0.0, wanted: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Block conjugate gradients for the smallest eigenpairs (Knyazev 2001), Jacobi preconditioner, kernel projected out.

    Args:
        block: start vectors [n, k].
        tolerance: stop once the first `wanted` residuals (default: all k) are below it, relative to their eigenvalues.

    Returns:
        Ritz values [k], increasing, and Ritz vectors [n, k].
    """
    n, k = block.shape
    root = np.sqrt(graph.size.astype(np.float64))
    inverse = 1.0 / root
    diagonal = np.where(graph.degree > 0, graph.degree, 1.0) / graph.size
    basis, image = np.zeros((n, 3 * k)), np.zeros((n, 3 * k))  # [X | W | P] and L times it, changed in place
    basis[:, :k] = block
    project_kernel(graph.component, graph.num_components, root, basis, 0, k)
    apply_laplacian(*graph.csr, graph.degree, inverse, basis, image, 0, k)
    values, mix = _ritz(basis[:, :k], image[:, :k], k)
    recombine(basis, mix, mix[:, :0])
    recombine(image, mix, mix[:, :0])
    width = 2 * k
    for _ in range(iterations):
        precondition(basis, image, values, diagonal, k)
        if tolerance and _settled(basis, diagonal, values, tolerance, k, wanted):
            break
        project_kernel(graph.component, graph.num_components, root, basis, k, 2 * k)
        overlap = basis[:, :k].T @ basis[:, k : 2 * k]
        take_out(basis, overlap, k)
        apply_laplacian(*graph.csr, graph.degree, inverse, basis, image, k, 2 * k)
        values, mix = _ritz(basis[:, :width], image[:, :width], k)
        direction = _direction(mix, k)
        recombine(basis, mix, direction)
        recombine(image, mix, direction)
        width = 3 * k
    return values, np.ascontiguousarray(basis[:, :k])


def _settled(
    basis: np.ndarray, diagonal: np.ndarray, values: np.ndarray, tolerance: float, k: int, wanted: int | None
) -> bool:
    """Whether the first `wanted` residuals, preconditioned in basis[:, k:2k], are small against their eigenvalues."""
    residual = np.linalg.norm(basis[:, k : 2 * k] * diagonal[:, None], axis=0)
    return bool(np.all(residual[:wanted] <= tolerance * values[:wanted]))


def _ritz(basis: np.ndarray, image: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest k Ritz values over the span of `basis`, and the coefficients of their vectors; survives a dependent basis."""
    gram, energy = basis.T @ basis, basis.T @ image
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    gram, energy = gram * np.outer(scale, scale), (energy + energy.T) * np.outer(scale, scale) / 2
    spread, rotation = np.linalg.eigh(gram)
    kept = spread > 1e-13 * spread[-1]
    white = rotation[:, kept] / np.sqrt(spread[kept])
    values, vectors = np.linalg.eigh(white.T @ energy @ white)
    return values[:k], scale[:, None] * (white @ vectors[:, :k])


def _direction(mix: np.ndarray, k: int) -> np.ndarray:
    """Coefficients of P: the part of the new vectors outside the old ones."""
    direction = mix.copy()
    direction[:k] = 0.0
    return direction


def dense_eigenpairs(graph: Contracted, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by LAPACK, for small graphs; exact."""
    n = graph.num_nodes
    if k == 0:
        return np.zeros(0), np.zeros((n, 0))
    inverse = 1.0 / np.sqrt(graph.size.astype(np.float64))
    matrix = np.empty((n, n))
    apply_laplacian(*graph.csr, graph.degree, inverse, np.eye(n), matrix, 0, n)
    q = graph.num_components
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=(q, q + k - 1))
    return values, np.ascontiguousarray(vectors)


def laplacian_times(graph: Contracted, block: np.ndarray) -> np.ndarray:
    """L block, for the combinatorial Laplacian L of the contracted graph [n, k]."""
    out = np.empty_like(block)
    ones = np.ones(graph.num_nodes)
    apply_laplacian(*graph.csr, graph.degree, ones, block, out, 0, block.shape[1])
    return out


def _cascade(
    graph: Contracted, coarsest: int, rng: np.random.Generator
) -> tuple[list[Contracted], list[np.ndarray]]:
    """Coarser and coarser copies, each by two rounds of pairing, and the node of the next copy for every node."""
    levels, labels = [graph], []
    while levels[-1].num_nodes > coarsest + graph.num_components:
        level, label = levels[-1], np.arange(levels[-1].num_nodes)
        for _ in range(2):
            pair, count = aggregate(*level.csr, level.degree, rng.permutation(level.num_nodes))
            label, level = pair[label], level.contract(pair, count)
        if level.num_nodes > 0.9 * levels[-1].num_nodes:
            break
        levels.append(level)
        labels.append(label)
    return levels, labels


@njit(cache=True)
def aggregate(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, degree: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, int]:
    """Pairs each node with its most strongly tied free neighbour; two that find none around the same hub form a pair."""
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


@njit(parallel=True, cache=True)
def apply_laplacian(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    degree: np.ndarray,
    scale: np.ndarray,
    block: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Columns first..last-1 of `out` become diag(scale) L diag(scale) times those of `block`."""
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


@njit(parallel=True, cache=True)
def project_kernel(
    component: np.ndarray, num_components: int, root: np.ndarray, block: np.ndarray, first: int, last: int
) -> None:
    """Takes the kernel of PᵀLP, root (= sqrt(size)) times the component indicators, out of the given columns."""
    total = np.zeros((num_components, last - first))
    mass = np.zeros(num_components)
    for i in range(len(component)):
        own = component[i]
        mass[own] += root[i] * root[i]
        for c in range(first, last):
            total[own, c - first] += root[i] * block[i, c]
    for i in prange(len(component)):
        own = component[i]
        for c in range(first, last):
            block[i, c] -= root[i] * total[own, c - first] / mass[own]


@njit(parallel=True, cache=True)
def precondition(
    basis: np.ndarray, image: np.ndarray, values: np.ndarray, diagonal: np.ndarray, k: int
) -> None:
    """W = (L X - X diag(values)) / diagonal, for basis = [X | W | P]."""
    for i in prange(len(basis)):
        for c in range(k):
            basis[i, k + c] = (image[i, c] - basis[i, c] * values[c]) / diagonal[i]


@njit(parallel=True, cache=True)
def take_out(basis: np.ndarray, overlap: np.ndarray, k: int) -> None:
    """W -= X overlap, for basis = [X | W | P]."""
    for i in prange(len(basis)):
        for a in range(k):
            x = basis[i, a]
            for c in range(k):
                basis[i, k + c] -= x * overlap[a, c]


@njit(parallel=True, cache=True)
def recombine(block: np.ndarray, mix: np.ndarray, direction: np.ndarray) -> None:
    """Rows [X | W | P] become [X' | . | P']: X' by the coefficients `mix`, P' by `direction` (none: P stays)."""
    width, k = mix.shape
    for i in prange(len(block)):
        new = np.zeros(2 * k)
        for a in range(width):
            value = block[i, a]
            for c in range(k):
                new[c] += value * mix[a, c]
            for c in range(direction.shape[1]):
                new[k + c] += value * direction[a, c]
        for c in range(k):
            block[i, c] = new[c]
        for c in range(direction.shape[1]):
            block[i, 2 * k + c] = new[k + c]
