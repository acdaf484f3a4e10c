"""LOBPCG: block conjugate gradients for the smallest eigenpairs of a graph Laplacian (Knyazev 2001).

All kernels change columns of one array [X | W | P] in place: the vectors, their preconditioned residuals, the directions.
"""

import numpy as np
from numba import njit, prange

from ansgt.coarsening.contraction import Contracted, apply_laplacian


def lobpcg(
    graph: Contracted, block: np.ndarray, iterations: int, tolerance: float = 0.0, wanted: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest non-zero eigenpairs of PᵀLP; Jacobi preconditioner, kernel projected out.

    Args:
        block: start vectors [n, k].
        tolerance: stop once the first `wanted` residuals (default: all k) are below it, relative to their eigenvalues.

    Returns:
        Ritz values [k], increasing, and Ritz vectors [n, k].
    """
    n, k = block.shape
    root = np.sqrt(graph.size.astype(np.float64))
    laplacian = graph.laplacian(scale=1.0 / root)
    diagonal = np.where(graph.degree > 0, graph.degree, 1.0) / graph.size
    basis, image = np.empty((n, 3 * k)), np.empty((n, 3 * k))  # [X | W | P] and L times it, changed in place
    basis[:, :k] = block
    project_kernel(graph.component, graph.num_components, root, basis, 0, k)
    apply_laplacian(laplacian, basis, image, 0, k)
    values, mix = _ritz(basis[:, :k], image[:, :k], k)
    recombine(basis, mix, mix[:, :0])
    recombine(image, mix, mix[:, :0])
    width = 2 * k
    for _ in range(iterations):
        precondition(basis, image, values, diagonal, k)
        if tolerance and _settled(basis, diagonal, values[:wanted], tolerance):
            break
        project_kernel(graph.component, graph.num_components, root, basis, k, 2 * k)
        overlap = basis[:, :k].T @ basis[:, k : 2 * k]
        take_out(basis, overlap, k)
        apply_laplacian(laplacian, basis, image, k, 2 * k)
        values, mix = _ritz(basis[:, :width], image[:, :width], k)
        direction = _direction(mix, k)
        recombine(basis, mix, direction)
        recombine(image, mix, direction)
        width = 3 * k
    return values, np.ascontiguousarray(basis[:, :k])


def _settled(basis: np.ndarray, diagonal: np.ndarray, values: np.ndarray, tolerance: float) -> bool:
    """Whether the residuals of the first eigenvalues, preconditioned in W, are small against them."""
    k = basis.shape[1] // 3
    residual = np.linalg.norm(basis[:, k : 2 * k] * diagonal[:, None], axis=0)
    return bool(np.all(residual[: len(values)] <= tolerance * values))


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
