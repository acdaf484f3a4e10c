"""`Heuristic`: what a sampling strategy is (section 5.1).

Any class with `fit` and `rows` will do; this base does the bookkeeping.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ansgt.errors import InputError
from ansgt.graph import Graph, structure
from ansgt.heuristics.rows import Table, normalized_rows
from ansgt.linalg import narrow
from ansgt.settings import shown
from ansgt.stages import stage
from ansgt.storage import DiskCache
from ansgt.turns import check_threads

SMALL = 6_000
"""Up to this many nodes complete rows of all nodes are computed at once, by `fit`, and kept."""
ROWS_VERSION = 2
"""Rows that were stored before this number changed are computed again: raise it with what any heuristic computes."""
CHECKED = 500
"""Random nodes on which the error of approximate rows is measured."""
MAX_CANDIDATES = 256
"""What a heuristic may propose to a node of a larger graph, unless the settings say otherwise."""


@runtime_checkable
class HeuristicLike(Protocol):
    """The contract that the sampler relies on, for heuristics that do not derive from `Heuristic`."""

    def fit(self, graph: Graph) -> Any:
        """Learns what `rows` needs; returns the heuristic itself."""
        ...

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        """Rows of Q_k for `nodes` [len(nodes), n]: non-negative, self excluded, each summing to 1 or empty."""
        ...


class HeuristicSettings(Protocol):
    """The settings that heuristics read; `ansgt.sequences.SequenceSettings` says what they mean."""

    @property
    def active_heuristics(self) -> Sequence[str | HeuristicLike]: ...
    @property
    def max_candidates(self) -> int | None: ...
    @property
    def restart_prob(self) -> float: ...
    @property
    def num_neighbors(self) -> int | None: ...


class Heuristic(ABC):
    """A distribution over the other nodes for every centre: the rows Q_k of section 5.1.

    A subclass implements `_scores`; self-exclusion, bounding, normalisation and the disk cache are done here.

    Args:
        max_candidates: keep only this many of the largest entries of a row; ``None`` keeps all of them.
        cache: where tables are stored between runs, keyed by the graph's content and the settings.
    """

    block_size: int = 4096
    compares_features: bool = False
    table_: sp.csr_array | None = None
    """Rows of all nodes [n, n], where `fit` has computed them."""
    row_by_row: bool = True
    """Whether a row is the same, bit for bit, whatever other rows are computed with it."""
    _graph: Graph | None = None
    _few: bool

    def __init__(self, max_candidates: int | None = None, cache: DiskCache | None = None) -> None:
        self.max_candidates = max_candidates
        self.cache = cache

    @classmethod
    def from_settings(
        cls, settings: HeuristicSettings, num_nodes: int, cache: DiskCache | None = None
    ) -> Self:
        """The heuristic as the settings want it for a graph of `num_nodes` nodes; override to read more of them."""
        return cls(max_candidates=candidate_limit(settings, num_nodes), cache=cache)

    @abstractmethod
    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        """Unnormalised scores [len(nodes), n]; the diagonal, negative entries and row sums are taken care of."""

    def _prepare(self, graph: Graph) -> None:  # noqa: B027
        """What `_scores` needs for any node, computed before its first call; not called when the table is cached."""

    def fit(self, graph: Any) -> Self:
        """Remembers the graph; computes the table of all rows when they are bounded or the graph is small.

        Args:
            graph: a `Graph`; also a scipy adjacency or networkx graph where the heuristic compares no features.
        """
        if self.compares_features and not isinstance(graph, Graph):
            raise InputError(f"{type(self).__name__} compares features: give it a Graph, not {shown(graph)}.")
        graph = structure(graph)
        self.attach(graph)
        tabulate = self.max_candidates is not None or graph.num_nodes <= SMALL
        self.table_ = self._load_table() if tabulate else None
        return self

    def attach(self, graph: Graph, few: bool = False) -> Self:
        """Remembers the graph and computes nothing: each call of `rows` computes the rows it is asked for.

        Args:
            few: whether so few rows will be asked for that no index of all nodes pays.
        """
        check_threads()
        self._check()
        self._graph = graph
        self._is_prepared, self._few = False, few
        self.table_ = None
        return self

    def grown(self, graph: Graph, x: Tensor) -> Self:
        """The same heuristic on a graph that grew from this one's, for a few rows; what is known is not computed again.

        Args:
            graph: the older one's nodes come first; its own features are not read.
            x: what the heuristics see of its new nodes [k, p].
        """
        return copy.copy(self).attach(graph, few=True)

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        """Rows of Q_k for `nodes` [len(nodes), n], float32: non-negative, self excluded, each summing to 1 or empty."""
        nodes = self.checked(nodes)
        return self._compute(nodes) if self.table_ is None else sp.csr_array(self.table_[nodes])

    def checked(self, nodes: np.ndarray) -> np.ndarray:
        """Nodes of the graph, int64; raises `InputError` for others."""
        n = self.graph_.num_nodes
        nodes = np.asarray(nodes, dtype=np.int64)
        if nodes.size and (nodes.min() < 0 or nodes.max() >= n):
            wrong = nodes.min() if nodes.min() < 0 else nodes.max()
            raise InputError(f"nodes names node {int(wrong)}, but the graph has {n} nodes.")
        return nodes

    @property
    def graph_(self) -> Graph:
        """The graph that the heuristic is fitted on."""
        if self._graph is None:
            raise InputError(f"{type(self).__name__} is not fitted: call fit(graph) first.")
        return self._graph

    def is_fitted_on(self, graph: Graph) -> bool:
        """Whether the last `fit` was given this graph, or one of the same content."""
        known = self._graph
        return known is graph or (known is not None and known.content_hash == graph.content_hash)

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, which together with the graph decide the rows."""
        given = {name: value for name, value in vars(self).items() if name != "cache"}
        return {name: value for name, value in given.items() if not (name[0] == "_" or name[-1] == "_")}

    def measured(self, source: HeuristicLike | None = None) -> dict[str, Any]:
        """How near approximate rows are to exact ones, for the record; empty where there is nothing to say.

        Args:
            source: where the rows are read, if not computed here.
        """
        return {}

    def checked_nodes(self) -> np.ndarray:
        """The nodes that `measured` looks at: the same for every heuristic."""
        n = self.graph_.num_nodes
        return np.sort(np.random.default_rng(0).choice(n, min(CHECKED, n), replace=False))

    def key(self) -> list[Any]:
        """What decides the rows, beside the graph: under this they are stored between runs."""
        return [ROWS_VERSION, type(self).__qualname__, self.settings()]

    def blocks(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """Nodes from `start` to `stop`, in blocks of the size that the heuristic computes best."""
        size = stop - start if self.graph_.num_nodes <= SMALL else self.block_size
        for first in range(start, stop, size):
            yield np.arange(first, min(first + size, stop))

    def _check(self) -> None:
        if self.max_candidates is not None and self.max_candidates < 1:
            raise InputError(f"max_candidates must be at least 1, not {self.max_candidates}.")

    def _load_table(self) -> sp.csr_array:
        n = self.graph_.num_nodes
        cache = self.cache or DiskCache(None)
        key = [*self.key(), self.graph_.content_hash if cache.directory else ""]
        arrays = cache.fetch("heuristics", key, self._tabulate)
        indptr = narrow(
            arrays["indptr"]
        )  # with row pointers of 64 bits scipy makes a wide copy of all columns
        return sp.csr_array((arrays["data"], arrays["indices"], indptr), shape=(n, n))

    def _tabulate(self) -> dict[str, np.ndarray]:
        n = self.graph_.num_nodes
        table = Table(n)
        with stage(type(self).__name__, n) as at:
            for nodes in self._blocks():
                table.append(self._compute(nodes))
                at.advance(len(nodes))
        return table.arrays()

    def _blocks(self) -> Iterator[np.ndarray]:
        return self.blocks(0, self.graph_.num_nodes)

    def _ready(self) -> None:
        if not self._is_prepared:
            self._prepare(self.graph_)
            self._is_prepared = True

    def _compute(self, nodes: np.ndarray) -> sp.csr_array:
        self._ready()
        return normalized_rows(self._scores(nodes), nodes, self.max_candidates)


def candidate_limit(settings: HeuristicSettings, num_nodes: int) -> int | None:
    """How many candidates a heuristic may propose to a node: what the settings say, else all on a small graph."""
    if settings.max_candidates is not None or num_nodes <= SMALL:
        return settings.max_candidates
    return MAX_CANDIDATES
