"""Algebraic distance (Ron, Safro, Brandt, "Relaxation-based coarsening", 2011): JC of the paper."""

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.matching import Limits, greedy_matching
from ansgt.coarsening.multilevel import Multilevel
from ansgt.coarsening.neighborhoods import edge_variation
from ansgt.graph import Graph
from ansgt.linalg import CSR


@dataclass(eq=False, repr=False)
class AlgebraicJC(Multilevel):
    """JC: random test vectors smoothed by Jacobi sweeps; the ends of an edge on which they agree are merged first.

    The algebraic distance of an edge is ρ_ij = ‖x_i - x_j‖ over the relaxed vectors. Edges are matched by increasing
    ρ² · min(d_i, d_j) · sqrt(s_i s_j / (s_i + s_j)): moving the lighter end (degree d) costs least, and small
    clusters (size s) go first. Distances are never clamped, and ties are broken by the seed.

    Args:
        num_vectors: number of test vectors.
        sweeps: Jacobi sweeps per level, on fresh random vectors; ``None`` is 20, and 30 at a mild rate.
        level_share: a level merges away at most this share of its clusters, so that later merges see fresh distances;
            ``None`` is 0.25, and 0.2 at a mild rate.

    See `Coarsener` for the others.

    >>> from ansgt.testing import path_graph
    >>> coarse = AlgebraicJC(num_supernodes=3).fit(path_graph(9))
    >>> coarse.num_supernodes, coarse.reason
    (3, None)
    """

    num_vectors: int = 10
    sweeps: int | None = None
    level_share: float | None = None

    def test_vectors(self, graph: Graph, start: Contracted) -> np.ndarray:
        return self._relaxed(start)

    def next_vectors(self, level: Contracted, vectors: np.ndarray) -> np.ndarray:
        return self._relaxed(level)

    def merge(
        self, level: Contracted, vectors: np.ndarray, limits: Limits, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        row, col, once = level.edges()
        distance = edge_variation(level.csr, vectors)[once] / level.weights[once]
        lighter = np.minimum(level.degree[row], level.degree[col])
        evenness = level.size[row] * level.size[col] / (level.size[row] + level.size[col])
        cost = distance * lighter * np.sqrt(evenness)
        order = np.lexsort((rng.permutation(len(cost)), cost))
        share = self.level_share or (0.2 if self.is_mild(int(level.size.sum())) else 0.25)
        most = max(1, int(share * level.num_nodes))
        return greedy_matching(row, col, order, level.size, Limits(min(limits.budget, most), limits.cap))

    def _relaxed(self, level: Contracted) -> np.ndarray:
        """Fresh random vectors after `sweeps` damped Jacobi sweeps, centred in each component, of largest entry 1 [n, k]."""
        rng = np.random.default_rng((self.seed, level.num_nodes))
        vectors = rng.random((level.num_nodes, self.num_vectors))
        for _ in range(self.sweeps or (30 if self.is_mild(int(level.size.sum())) else 20)):
            vectors = jacobi_sweep(level.csr, level.degree, vectors)
        vectors -= level.average(vectors, level.component, level.num_components)[level.component]
        return np.asarray(vectors / np.maximum(np.abs(vectors).max(axis=0), 1e-300))


@njit(parallel=True, cache=True)
def jacobi_sweep(adj: CSR, degree: np.ndarray, block: np.ndarray) -> np.ndarray:
    """(x + D^(-1) W x) / 2 for a block [n, k]; a node without edges keeps its value."""
    n, k = block.shape
    out = np.empty((n, k))
    for i in prange(n):
        if degree[i] == 0:
            out[i] = block[i]
            continue
        for c in range(k):
            out[i, c] = 0.0
        for e in range(adj.indptr[i], adj.indptr[i + 1]):
            factor = adj.data[e]
            j = adj.indices[e]
            for c in range(k):
                out[i, c] += factor * block[j, c]
        for c in range(k):
            out[i, c] = 0.5 * (block[i, c] + out[i, c] / degree[i])
    return out
