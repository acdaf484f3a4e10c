"""`Heuristic`: what a sampling strategy is (section 5.1).

Any class with `fit` and `rows` will do; this base does the bookkeeping.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics.topk import csr_top_k
from ansgt.linalg import inverse_or_zero, narrow
from ansgt.storage import DiskCache

SMALL = 6_000
"""Up to this many nodes complete rows of all nodes are computed at once, by `fit`, and kept."""
LARGE = 10_000_000
"""Above this many entries a copy of them in double precision is not worth its memory."""


@runtime_checkable
class HeuristicLike(Protocol):
    """The contract that the sampler relies on, for heuristics that do not derive from `Heuristic`."""

    def fit(self, graph: Graph) -> Any: ...

    def rows(self, nodes: np.ndarray) -> sp.csr_array: ...


class Heuristic(ABC):
    """A distribution over the other nodes for every centre: the rows Q_k of section 5.1.

    A subclass implements `_scores`; self-exclusion, bounding, normalisation and the disk cache are done here.

    Args:
        max_candidates: keep only this many of the largest entries of a row; ``None`` keeps all of them.
        cache: where tables are stored between runs, keyed by the graph's content and the settings.
    """

    block_size: int = 4096

    def __init__(self, max_candidates: int | None = None, cache: DiskCache | None = None) -> None:
        self.max_candidates = max_candidates
        self.cache = cache

    @abstractmethod
    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        """Unnormalised scores [len(nodes), n]; the diagonal, negative entries and row sums are taken care of."""

    def _prepare(self, graph: Graph) -> None:  # noqa: B027
        """What `_scores` needs for any node, computed before its first call; not called when the table is cached."""

    def fit(self, graph: Graph) -> Self:
        """Remembers the graph; computes the table of all rows when they are bounded or the graph is small."""
        self._check()
        self.graph_ = graph
        self._is_prepared = False
        tabulate = self.max_candidates is not None or graph.num_nodes <= SMALL
        self.table_ = self._load_table() if tabulate else None
        return self

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        """Rows of Q_k for `nodes` [len(nodes), n], float32: non-negative, self excluded, each summing to 1 or empty."""
        if not hasattr(self, "graph_"):
            raise InputError(f"{type(self).__name__} is not fitted: call fit(graph) first.")
        nodes = np.asarray(nodes, dtype=np.int64)
        n = self.graph_.num_nodes
        if nodes.size and (nodes.min() < 0 or nodes.max() >= n):
            raise InputError(f"nodes names node {int(nodes.max())}, but the graph has {n} nodes.")
        return self._compute(nodes) if self.table_ is None else sp.csr_array(self.table_[nodes])

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, which together with the graph decide the rows."""
        hidden = {"cache", "graph_", "table_"}
        return {k: v for k, v in vars(self).items() if k not in hidden and not k.startswith("_")}

    def _check(self) -> None:
        if self.max_candidates is not None and self.max_candidates < 1:
            raise InputError(f"max_candidates must be at least 1, not {self.max_candidates}.")

    def _load_table(self) -> sp.csr_array:
        n = self.graph_.num_nodes
        cache = self.cache or DiskCache(None)
        key = [
            1,
            type(self).__qualname__,
            self.settings(),
            self.graph_.content_hash if cache.directory else "",
        ]
        arrays = cache.fetch("heuristics", key, self._tabulate)
        return sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))

    def _tabulate(self) -> dict[str, np.ndarray]:
        blocks = [self._compute(nodes) for nodes in self._blocks()]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(b.indptr) for b in blocks]))])
        return {
            "data": np.concatenate([b.data for b in blocks]),
            "indices": np.concatenate([b.indices.astype(np.int32, copy=False) for b in blocks]),
            "indptr": indptr,
        }

    def _blocks(self) -> Iterator[np.ndarray]:
        n = self.graph_.num_nodes
        size = n if n <= SMALL else self.block_size
        for start in range(0, n, size):
            yield np.arange(start, min(start + size, n))

    def _compute(self, nodes: np.ndarray) -> sp.csr_array:
        if not self._is_prepared:
            self._prepare(self.graph_)
            self._is_prepared = True
        return normalized_rows(self._scores(nodes), nodes, self.max_candidates)


def normalized_rows(scores: sp.csr_array, nodes: np.ndarray, k: int | None = None) -> sp.csr_array:
    """Turns scores into distributions: self and non-positive entries out, the k largest kept, rows scaled to sum 1.

    >>> scores = sp.csr_array([[5.0, 3.0, 1.0], [0.0, 2.0, 0.0]])
    >>> normalized_rows(scores, np.array([0, 1])).toarray()
    array([[0.  , 0.75, 0.25],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """
    scores = sp.csr_array(scores)
    if scores.shape[0] != len(nodes):
        raise InputError(f"There are {scores.shape[0]} rows of scores for {len(nodes)} nodes.")
    scores = _without_self(scores, np.asarray(nodes, dtype=np.int64))
    scores = scores if k is None else csr_top_k(scores, k)
    scores.sort_indices()
    sums, data = np.empty(len(nodes)), np.empty(scores.nnz, dtype=np.float32)
    _row_sums(scores.indptr, scores.data, sums)
    _scale_rows(scores.indptr, scores.data, inverse_or_zero(sums), data)
    return sp.csr_array(
        (data, scores.indices.astype(np.int32, copy=False), scores.indptr), shape=scores.shape
    )


def _without_self(scores: sp.csr_array, nodes: np.ndarray) -> sp.csr_array:
    """The positive entries but those of the centre itself."""
    # One kind of numbers, as long as that costs little: numba compiles a kernel for every combination it meets.
    is_large = scores.nnz > LARGE and scores.dtype == np.float32
    data = scores.data if is_large else scores.data.astype(np.float64, copy=False)
    first, indices = scores.indptr.astype(np.int64, copy=False), scores.indices.astype(np.int32, copy=False)
    indptr = np.zeros(len(nodes) + 1, dtype=np.int64)
    _count_kept(first, indices, data, nodes, indptr[1:])
    np.cumsum(indptr, out=indptr)
    kept_indices, kept_data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=data.dtype)
    _take_kept(first, indices, data, nodes, indptr, kept_indices, kept_data)
    return sp.csr_array((kept_data, kept_indices, narrow(indptr)), shape=scores.shape)


@njit(cache=True, parallel=True)
def _count_kept(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, nodes: np.ndarray, counts: np.ndarray
) -> None:
    for row in prange(len(nodes)):
        count = 0
        for entry in range(indptr[row], indptr[row + 1]):
            count += indices[entry] != nodes[row] and data[entry] > 0
        counts[row] = count


@njit(cache=True, parallel=True)
def _take_kept(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    nodes: np.ndarray,
    kept_ptr: np.ndarray,
    kept_indices: np.ndarray,
    kept_data: np.ndarray,
) -> None:
    for row in prange(len(nodes)):
        place = kept_ptr[row]
        for entry in range(indptr[row], indptr[row + 1]):
            if indices[entry] != nodes[row] and data[entry] > 0:
                kept_indices[place] = indices[entry]
                kept_data[place] = data[entry]
                place += 1


@njit(cache=True, parallel=True)
def _row_sums(indptr: np.ndarray, data: np.ndarray, sums: np.ndarray) -> None:
    for row in prange(len(sums)):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += data[entry]
        sums[row] = total


@njit(cache=True, parallel=True)
def _scale_rows(indptr: np.ndarray, data: np.ndarray, scale: np.ndarray, out: np.ndarray) -> None:
    for row in prange(len(scale)):
        for entry in range(indptr[row], indptr[row + 1]):
            out[entry] = data[entry] * scale[row]
