"""Local variation (Loukas, "Graph reduction with spectral and cut guarantees", JMLR 2019): VN and VE of the paper."""

import numpy as np

from ansgt.coarsening.clustering import worker_threads
from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.eigen import laplacian_times
from ansgt.coarsening.matching import greedy_matching
from ansgt.coarsening.multilevel import Multilevel
from ansgt.coarsening.neighborhoods import edge_variation, neighborhood_costs, orient, select_neighborhoods
from ansgt.coarsening.subspace import smooth_subspace
from ansgt.graph import Graph
from ansgt.storage import DiskCache


class LocalVariation(Multilevel):
    """Merges sets of nodes on which the smooth subspace of the Laplacian varies least.

    Test vectors are A = U Λ^(-1/2) for the K smallest non-zero eigenpairs, so that AᵀLA = I: smooth directions weigh most.

    Args:
        subspace_dim: K.
        iterations: eigensolver iterations a level (see `ansgt.coarsening.eigen`).

    See `Coarsener` for the others.
    """

    def __init__(
        self,
        rate: float = 0.1,
        num_supernodes: int | None = None,
        seed: int = 0,
        below_components: str = "merge",
        cache: DiskCache | None = None,
        subspace_dim: int = 10,
        iterations: int = 5,
    ) -> None:
        super().__init__(rate, num_supernodes, seed, below_components, cache)
        self.subspace_dim, self.iterations = subspace_dim, iterations

    def test_vectors(self, graph: Graph, start: Contracted) -> np.ndarray:
        values, vectors = smooth_subspace(
            graph, start, self.subspace_dim, self.iterations, self.seed, self.cache
        )
        return vectors / np.sqrt(values)

    def next_vectors(self, level: Contracted, vectors: np.ndarray) -> np.ndarray:
        """Means of the subspace, turned and scaled so that AᵀLA = I again; directions that vanished are dropped."""
        energy = vectors.T @ laplacian_times(level, vectors)
        spectrum, rotation = np.linalg.eigh((energy + energy.T) / 2)
        kept = spectrum > 1e-10 * max(spectrum[-1:].sum(), 1e-300)
        return np.ascontiguousarray(vectors @ (rotation[:, kept] / np.sqrt(spectrum[kept])))


class VariationNeighborhoods(LocalVariation):
    """VN: contraction sets are closed neighbourhoods, the cheapest first, costed again when they lose members.

    >>> from ansgt.testing import path_graph
    >>> coarse = VariationNeighborhoods(num_supernodes=3).fit(path_graph(9))
    >>> coarse.num_supernodes, coarse.reason
    (3, None)
    """

    def merge(
        self, level: Contracted, vectors: np.ndarray, budget: int, cap: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        once = orient(*level.csr)
        variation = edge_variation(*once, vectors)
        about = (level.indptr, level.indices, *once, level.degree, level.size, vectors, variation)
        with worker_threads(int(np.diff(level.indptr) @ np.diff(once[0]))):
            costs = neighborhood_costs(*about, cap)
        return select_neighborhoods(*about, costs, rng.permutation(level.num_nodes), budget, cap)


class VariationEdges(LocalVariation):
    """VE: contraction sets are single edges; a matching, the cheapest first.

    >>> from ansgt.testing import path_graph
    >>> coarse = VariationEdges(num_supernodes=3).fit(path_graph(9))
    >>> coarse.num_supernodes, coarse.reason
    (3, None)
    """

    def merge(
        self, level: Contracted, vectors: np.ndarray, budget: int, cap: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        row, col, once = level.edges()
        weight = level.weights[once]
        spread = edge_variation(*level.csr, vectors)[once] / weight
        share = level.size[col] / (level.size[row] + level.size[col])
        outer = (level.degree[row] - weight) * share**2 + (level.degree[col] - weight) * (1 - share) ** 2
        cost = (weight + 2 * outer) * spread
        order = np.lexsort((rng.permutation(len(cost)), cost))
        return greedy_matching(row, col, order, level.size, budget, cap)
