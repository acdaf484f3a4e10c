"""What a coarsener takes and returns: `Coarsener.fit(graph) -> CoarseGraph` (section 3.3 of the paper)."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numba
import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.coarsening.components import BELOW_COMPONENTS, Plan, plan_components
from ansgt.coarsening.contraction import Contracted, coarse_adjacency, coarse_features, membership
from ansgt.errors import InputError
from ansgt.graph import Graph, structure
from ansgt.storage import DiskCache
from ansgt.table import Table
from ansgt.turns import check_threads

SERIAL_BELOW = 1_000_000
"""Steps of work (stored edges times visits) below which a second thread costs more than it brings."""


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
    __repr__ = brief_repr

    def table(self) -> Table:
        """How many super-nodes there are, and what they cost."""
        facts = {
            "super-nodes": self.num_supernodes,
            "nodes": len(self.assignment),
            "rate reached": f"{self.rate_reached:.4f} (asked for: {self.rate:.4f})",
            "components of the graph": self.num_components,
            "share of the largest": f"{self.largest_share:.1%}",
            "levels": self.levels,
            "seconds": f"{self.seconds.get('total', 0.0):.3f}",
            "not as asked for": self.reason,
        }
        rows = [[name, value] for name, value in facts.items() if value is not None]
        return Table(["coarse graph", ""], rows)

    def _repr_html_(self) -> str:
        return self.table().html()

    @classmethod
    def of(
        cls, graph: Graph, start: Contracted, found: "Clustering", rate: float, seconds: dict[str, float]
    ) -> "CoarseGraph":
        """The super-nodes that an assignment of the nodes makes."""
        m, sizes = found.num_clusters, np.bincount(found.assignment)
        x, x_mean = coarse_features(graph, found.assignment, m)
        return cls(
            assignment=found.assignment,
            P=membership(found.assignment, m),
            x=x,
            x_mean=x_mean,
            adj=coarse_adjacency(start, found.assignment, m),
            num_supernodes=m,
            rate=rate,
            rate_reached=m / graph.num_nodes,
            num_components=start.num_components,
            largest_share=float(sizes.max() / graph.num_nodes),
            levels=found.levels,
            seconds=seconds,
            reason=found.reason,
        )

    def with_means(self) -> "CoarseGraph":
        """The same graph whose features `x` are the plain means."""
        return replace(self, x=self.x_mean)


@runtime_checkable
class CoarsenerLike(Protocol):
    """The contract that the way to sequences relies on, for coarseners that do not derive from `Coarsener`."""

    def fit(self, graph: Graph) -> CoarseGraph:
        """Coarsens `graph`; its labels must not be looked at."""
        ...


@dataclass(frozen=True, eq=False)
class Clustering:
    """An assignment of nodes to clusters 0..num_clusters-1 [n], the levels it took, and why it missed its target."""

    assignment: np.ndarray
    num_clusters: int
    levels: int = 1
    reason: str | None = None
    __repr__ = brief_repr


@dataclass(eq=False, repr=False)
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

    rate: float = 0.1
    num_supernodes: int | None = None
    seed: int = 0
    below_components: str = "merge"
    cache: DiskCache | None = None

    @abstractmethod
    def cluster(self, graph: Graph, start: Contracted, plan: Plan, watch: "Stopwatch") -> Clustering:
        """Groups the nodes into `plan.target` clusters, or as near to it as the method gets."""

    def fit(self, graph: Any) -> CoarseGraph:
        """Coarsens a `Graph` (its labels are never looked at), a scipy adjacency or a networkx graph."""
        check_threads()
        graph = structure(graph)
        target = self._target(graph)
        watch = Stopwatch()
        with steady_threads(len(graph.indices)):
            with watch("components"):
                start = Contracted.from_graph(graph)
                plan = plan_components(graph, start, target, self.below_components, self.seed)
            found = self.cluster(graph, start, plan, watch)
            found = replace(found, reason=found.reason or plan.reason)
            rate = self.rate if self.num_supernodes is None else self.num_supernodes / graph.num_nodes
            with watch("coarse graph"):
                coarse = CoarseGraph.of(graph, start, found, rate, {})
        return replace(coarse, seconds=watch.seconds())

    def _target(self, graph: Graph) -> int:
        """The number of super-nodes that the settings ask for, once they are checked."""
        n, wanted = graph.num_nodes, self.num_supernodes
        if not 0 < self.rate <= 1:
            raise InputError(f"The coarsening rate must be in (0, 1], not {self.rate}.")
        if self.below_components not in BELOW_COMPONENTS:
            raise InputError(f"below_components must be merge, stop or error, not {self.below_components!r}.")
        if wanted is None:
            return max(1, math.ceil(self.rate * n - 1e-9))
        if wanted < 1:
            raise InputError(f"num_supernodes must be at least 1, not {wanted}.")
        if wanted > n:
            raise InputError(f"num_supernodes is {wanted} but the graph has {n} nodes.")
        return wanted

    def __repr__(self) -> str:
        size = f"rate={self.rate}" if self.num_supernodes is None else f"num_supernodes={self.num_supernodes}"
        return f"{type(self).__name__}({size}, seed={self.seed})"


class Stopwatch:
    """Adds up wall-clock seconds per phase.

    >>> watch = Stopwatch()
    >>> with watch("levels"):
    ...     pass
    >>> sorted(watch.seconds())
    ['levels', 'total']
    """

    def __init__(self) -> None:
        self._phases: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._phases[phase] = self._phases.get(phase, 0.0) + time.perf_counter() - began

    def seconds(self) -> dict[str, float]:
        return {**self._phases, "total": sum(self._phases.values())}


_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)
_known: list[ThreadpoolController] = []


@contextmanager
def steady_threads(work: int) -> Iterator[None]:
    """One BLAS thread (its sums depend on the number of threads, ours do not), and numba threads as `work` deserves."""
    threads = numba.get_num_threads()
    token = _allowed.set(threads)
    try:
        with _controller().limit(limits=1, user_api="blas"), worker_threads(work):
            yield
    finally:
        _allowed.reset(token)
        numba.set_num_threads(threads)


@contextmanager
def worker_threads(work: int) -> Iterator[None]:
    """All numba threads the caller of `steady_threads` had, or one where the work is small."""
    before = numba.get_num_threads()
    numba.set_num_threads((_allowed.get() or before) if work >= SERIAL_BELOW else 1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _controller() -> ThreadpoolController:
    """Looking for the loaded BLAS libraries takes milliseconds, so it is done once."""
    if not _known:
        _known.append(ThreadpoolController())
    return _known[0]
