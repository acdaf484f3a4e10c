"""Level by level: the loop that VN, VE and JC share, and local variation, which is VN and VE of the paper.

Local variation is Loukas, "Graph reduction with spectral and cut guarantees", JMLR 2019.
"""

from abc import abstractmethod
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ansgt.coarsening.base import Clustering, Coarsener, Stopwatch, worker_threads
from ansgt.coarsening.components import Plan
from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.coarsening.matching import Limits, greedy_matching, two_hop
from ansgt.coarsening.neighborhoods import (
    Neighborhoods,
    edge_variation,
    neighborhood_costs,
    orient,
    select_neighborhoods,
)
from ansgt.coarsening.spectrum import Eigenpairs, smallest_eigenpairs
from ansgt.graph import Graph
from ansgt.storage import DiskCache

STALL = 0.05
"""A level that merges away less than this share of its clusters has stalled."""
MILD = 0.3
"""Above this rate more than the smallest end of the spectrum can be kept, and with few levels care costs little."""


class Multilevel(Coarsener):
    """Base of the coarseners that merge some clusters, contract, carry test vectors along, and repeat down to the target."""

    def is_mild(self, num_nodes: int) -> bool:
        """Whether the rate asked for, on a graph of `num_nodes` nodes, is above `MILD`."""
        wanted = self.num_supernodes
        return (self.rate if wanted is None else wanted / num_nodes) > MILD

    @abstractmethod
    def test_vectors(self, graph: Graph, start: Contracted) -> np.ndarray:
        """Vectors on the nodes of the original graph that merging should preserve [n, k]."""

    @abstractmethod
    def next_vectors(self, level: Contracted, vectors: np.ndarray) -> np.ndarray:
        """Test vectors for a contracted level, given their means over its clusters."""

    @abstractmethod
    def merge(
        self, level: Contracted, vectors: np.ndarray, limits: Limits, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """Label of every cluster after one level of merging (equal = merged), and how many clusters that saves."""

    def cluster(self, graph: Graph, start: Contracted, plan: Plan, watch: Stopwatch) -> Clustering:
        with watch("subspace"):
            vectors = self.test_vectors(graph, start)
        with watch("levels"):
            level, assignment = start, plan.label
            if plan.num_labels < start.num_nodes:
                vectors = start.average(vectors, assignment, plan.num_labels)
                level = start.contract(assignment, plan.num_labels)
            return self._descend(level, assignment, vectors, plan)

    def _descend(
        self, level: Contracted, assignment: np.ndarray, vectors: np.ndarray, plan: Plan
    ) -> Clustering:
        rng = np.random.default_rng(self.seed)
        cap, levels, reason = plan.cap, 0, None
        while level.num_nodes > plan.target:
            budget = level.num_nodes - plan.target
            label, saved = self.merge(level, vectors, Limits(budget, cap), rng)
            if saved < min(budget, STALL * level.num_nodes):
                order = rng.permutation(level.num_nodes)
                saved += two_hop(level.csr, level.size, vectors, label, order, Limits(budget - saved, cap))
            if saved == 0:
                if cap >= len(assignment):
                    reason = (
                        f"no two of the {level.num_nodes} clusters left are within two hops of each other"
                    )
                    break
                cap = min(cap + cap // 3 + 1, len(assignment))  # only now may a cluster grow beyond its share
                continue
            label, count = relabel(label)
            vectors = level.average(vectors, label, count)
            level = level.contract(label, count)
            vectors = self.next_vectors(level, vectors)
            assignment = label[assignment]
            levels += 1
        assignment, count = relabel(assignment)
        return Clustering(assignment, count, levels, reason)


@dataclass(eq=False, repr=False)
class LocalVariation(Multilevel):
    """Merges sets of nodes on which the smooth subspace of the Laplacian varies least.

    Test vectors are A = U Λ^(-1/2) for the K smallest non-zero eigenpairs, so that AᵀLA = I: smooth directions weigh most.

    Args:
        subspace_dim: K; ``None`` is 10, and 20 at a mild rate: of the first 40 eigenvalues those beyond K err most.
        iterations: eigensolver iterations per level (see `ansgt.coarsening.spectrum`).

    See `Coarsener` for the others.
    """

    subspace_dim: int | None = None
    iterations: int = 5

    def test_vectors(self, graph: Graph, start: Contracted) -> np.ndarray:
        values, vectors = self._subspace(graph, start)
        return np.asarray(vectors / np.sqrt(values))

    def next_vectors(self, level: Contracted, vectors: np.ndarray) -> np.ndarray:
        """Means of the subspace, turned and scaled so that AᵀLA = I again; directions that vanished are dropped."""
        energy = vectors.T @ level.laplacian_times(vectors)
        spectrum, rotation = np.linalg.eigh((energy + energy.T) / 2)
        kept = spectrum > 1e-10 * max(spectrum[-1:].sum(), 1e-300)
        return np.ascontiguousarray(vectors @ (rotation[:, kept] / np.sqrt(spectrum[kept])))

    def _subspace(self, graph: Graph, start: Contracted) -> Eigenpairs:
        """The smooth subspace, computed once for both methods and all rates of one K: kept with the graph, and on disk."""
        kept = _memory.setdefault(graph, {})
        dim = self.subspace_dim or (20 if self.is_mild(graph.num_nodes) else 10)
        key = (dim, self.iterations, self.seed)
        if key not in kept:
            stored = (self.cache or DiskCache(None)).fetch(
                "subspace",
                ["v2", graph.indptr, graph.indices, *key],
                lambda: smallest_eigenpairs(start, dim, self.iterations, seed=self.seed)._asdict(),
            )
            kept[key] = Eigenpairs(**stored)
        return kept[key]


_memory: "WeakKeyDictionary[Graph, dict[tuple[int, int, int], Eigenpairs]]" = WeakKeyDictionary()


def forget(graph: Graph) -> None:
    """Drops what is kept for a graph, so that the next `fit` computes it again (for timing)."""
    _memory.pop(graph, None)


class VariationNeighborhoods(LocalVariation):
    """VN: contraction sets are closed neighbourhoods, the cheapest first, costed again when they lose members.

    >>> from ansgt.testing import path_graph
    >>> coarse = VariationNeighborhoods(num_supernodes=3).fit(path_graph(9))
    >>> coarse.num_supernodes, coarse.reason
    (3, None)
    """

    def merge(
        self, level: Contracted, vectors: np.ndarray, limits: Limits, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        sets = neighborhoods_of(level, vectors)
        with worker_threads(int(np.diff(level.indptr) @ np.diff(sets.edge_ptr))):
            costs = neighborhood_costs(sets, limits.cap)
        return select_neighborhoods(sets, costs, rng.permutation(level.num_nodes), limits)


def neighborhoods_of(level: Contracted, vectors: np.ndarray) -> Neighborhoods:
    """The closed neighbourhoods of a level, with the variation of the test vectors along its edges."""
    once = orient(level.csr)
    variation = edge_variation(once, vectors)
    return Neighborhoods(level.indptr, level.indices, *once, level.degree, level.size, vectors, variation)


class VariationEdges(LocalVariation):
    """VE: contraction sets are single edges; a matching, the cheapest first.

    >>> from ansgt.testing import path_graph
    >>> coarse = VariationEdges(num_supernodes=3).fit(path_graph(9))
    >>> coarse.num_supernodes, coarse.reason
    (3, None)
    """

    def merge(
        self, level: Contracted, vectors: np.ndarray, limits: Limits, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        row, col, once = level.edges()
        weight = level.weights[once]
        spread = edge_variation(level.csr, vectors)[once] / weight
        share = level.size[col] / (level.size[row] + level.size[col])
        outer = (level.degree[row] - weight) * share**2 + (level.degree[col] - weight) * (1 - share) ** 2
        cost = (weight + 2 * outer) * spread
        order = np.lexsort((rng.permutation(len(cost)), cost))
        return greedy_matching(row, col, order, level.size, limits)
