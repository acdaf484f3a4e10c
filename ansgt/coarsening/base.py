"""What a coarsener takes and returns: `Coarsener.fit(graph) -> CoarseGraph` (section 3.3 of the paper)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ansgt.coarsening.clustering import Clustering, Stopwatch, steady_threads
from ansgt.coarsening.components import Plan, plan_components
from ansgt.coarsening.contraction import Contracted, coarse_adjacency, coarse_features, membership
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.storage import DiskCache


@dataclass(frozen=True, eq=False)
class CoarseGraph:
    """A graph of super-nodes; every field is derived from `assignment` alone.

    Args:
        assignment: super-node of every node [n], int64, 0..m-1.
        P: P = P̂ D^(-1/2), float64 CSR [n, m], with PᵀP = I.
        x: X' = PᵀX, float32 tensor [m, p], dense.
        x_mean: plain means of the features over each super-node [m, p], float32 tensor.
        adj: A' = PᵀAP, float64 CSR [m, m], with its diagonal (the edges inside a super-node).
        num_supernodes: m.
        rate, rate_reached: m / n as asked for, and as it came out.
        num_components: connected components of the original graph.
        largest_share: share of the nodes that the largest super-node holds.
        levels: contraction levels it took.
        seconds: wall-clock seconds per phase, and their "total".
        reason: why the number of super-nodes is not the one asked for; None when it is.
    """

    assignment: np.ndarray
    P: sp.csr_array
    x: Tensor
    x_mean: Tensor
    adj: sp.csr_array
    num_supernodes: int
    rate: float
    rate_reached: float
    num_components: int
    largest_share: float
    levels: int
    seconds: dict[str, float]
    reason: str | None = None


class Coarsener(ABC):
    """Base of the coarseners: a subclass turns a plan into an assignment, the rest is shared.

    Args:
        rate: c = m / n in (0, 1]; m is rounded up.
        num_supernodes: m itself, instead of a rate.
        seed: the same seed gives the same assignment, on any number of threads.
        below_components: what to do when fewer super-nodes than components are asked for: "merge" groups small components,
            "stop" ends at the number of components and says so in `reason`, "error" raises.
        cache: keeps the spectral subspace on disk between runs.
    """

    def __init__(
        self,
        rate: float = 0.1,
        num_supernodes: int | None = None,
        seed: int = 0,
        below_components: str = "merge",
        cache: DiskCache | None = None,
    ) -> None:
        if not 0 < rate <= 1:
            raise InputError(f"The coarsening rate must be in (0, 1], not {rate}.")
        if num_supernodes is not None and num_supernodes < 1:
            raise InputError(f"num_supernodes must be at least 1, not {num_supernodes}.")
        if below_components not in ("merge", "stop", "error"):
            raise InputError(f"below_components must be merge, stop or error, not {below_components!r}.")
        self.rate, self.num_supernodes, self.seed = rate, num_supernodes, seed
        self.below_components, self.cache = below_components, cache

    @abstractmethod
    def cluster(self, graph: Graph, start: Contracted, plan: Plan, watch: Stopwatch) -> Clustering:
        """Groups the nodes into `plan.target` clusters, or as near to it as the method gets."""

    def fit(self, graph: Graph) -> CoarseGraph:
        """Coarsens `graph`; its labels are never looked at."""
        watch = Stopwatch()
        with steady_threads(len(graph.indices)):
            with watch("components"):
                start = Contracted.from_graph(graph)
                plan = plan_components(graph, start, self._target(graph), self.below_components, self.seed)
            found = self.cluster(graph, start, plan, watch)
            with watch("coarse graph"):
                m, sizes = found.num_clusters, np.bincount(found.assignment)
                x, x_mean = coarse_features(graph, found.assignment, m)
                adj = coarse_adjacency(start, found.assignment, m)
        return CoarseGraph(
            assignment=found.assignment,
            P=membership(found.assignment, m),
            x=x,
            x_mean=x_mean,
            adj=adj,
            num_supernodes=m,
            rate=self.rate if self.num_supernodes is None else self.num_supernodes / graph.num_nodes,
            rate_reached=m / graph.num_nodes,
            num_components=start.num_components,
            largest_share=float(sizes.max() / graph.num_nodes),
            levels=found.levels,
            seconds=watch.seconds(),
            reason=found.reason or plan.reason,
        )

    def _target(self, graph: Graph) -> int:
        n = graph.num_nodes
        if self.num_supernodes is None:
            return max(1, math.ceil(self.rate * n - 1e-9))
        if self.num_supernodes > n:
            raise InputError(f"num_supernodes is {self.num_supernodes} but the graph has {n} nodes.")
        return self.num_supernodes

    def __repr__(self) -> str:
        size = f"rate={self.rate}" if self.num_supernodes is None else f"num_supernodes={self.num_supernodes}"
        return f"{type(self).__name__}({size}, seed={self.seed})"
