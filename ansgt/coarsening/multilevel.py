"""The loop over levels that VN, VE and JC share: merge some clusters, contract, carry the test vectors along, repeat."""

from abc import abstractmethod

import numpy as np

from ansgt.coarsening.base import Coarsener
from ansgt.coarsening.clustering import Clustering, Stopwatch
from ansgt.coarsening.components import Plan
from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.coarsening.matching import two_hop
from ansgt.graph import Graph

STALL = 0.05
"""A level that merges away less than this share of its clusters has stalled."""


class Multilevel(Coarsener):
    """Base of the coarseners that contract level by level until the target is met."""

    @abstractmethod
    def test_vectors(self, graph: Graph, start: Contracted) -> np.ndarray:
        """Vectors on the nodes of the original graph that merging should preserve [n, k]."""

    @abstractmethod
    def next_vectors(self, level: Contracted, vectors: np.ndarray) -> np.ndarray:
        """Test vectors for a contracted level, given their means over its clusters."""

    @abstractmethod
    def merge(
        self, level: Contracted, vectors: np.ndarray, budget: int, cap: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """Label of every cluster after one level of merging (equal = merged), and how many clusters that saves.

        At most `budget` are saved and no result holds more than `cap` nodes.
        """

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
            label, saved = self.merge(level, vectors, budget, cap, rng)
            if saved < min(budget, STALL * level.num_nodes):
                order = rng.permutation(level.num_nodes)
                saved += two_hop(
                    level.indptr, level.indices, level.size, vectors, label, order, budget - saved, cap
                )
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
