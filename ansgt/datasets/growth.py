"""A graph that grew: told from another one that is in memory, and made without going over what both share.

A service asks about one more node of a large graph, again and again. What does not touch the new nodes is the same as
before, so that a question costs a few copies of arrays and a look at what they hold, and no sorting.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from ansgt.arrays import brief_repr, unfinite
from ansgt.datasets.sources import is_one_way, warn_left_out
from ansgt.device import is_main_memory
from ansgt.graph import Graph
from ansgt.linalg import fingerprint

_FEW_EDGES = 65_536
"""Edges of new nodes that are found without a second look."""
_FOREIGN = ("node_names", "class_names", "columns", "table", "adj_t")
"""Fields that say more of a graph than features, edges and labels."""


@dataclass(frozen=True, eq=False)
class Growth:
    """A graph beside the one it grew from, `graph.grown_from`.

    Args:
        graph: the older one's nodes come first.
        x: features of the new nodes [k, p].
        content: what tells it from other graphs that grew from the same one.
    """

    graph: Graph
    x: Tensor
    content: tuple[Any, ...]
    __repr__ = brief_repr


class Known:
    """A graph, and what tells that some other graph in memory is the same one, or that one grown.

    Told from what the arrays hold, by 64 bits for the features of the graph's nodes and 64 for the edges between them, in
    whatever order: as safe as a comparison, but for chance, and nobody's arrays have to be kept.

    Args:
        graph: its features are nobody else's.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._marks: dict[
            tuple[int, int, int], bool
        ] = {}  # and whether some edge between these nodes has one direction

    @classmethod
    def of(cls, source: Any, graph: Graph, first: int) -> "Known | None":
        """The `first` nodes of a graph, and what tells them in the data it was made of; None for what cannot be told.

        Args:
            source: a PyG `Data` or its like, or a `Graph`.
            graph: what `source` holds.
            first: how many.
        """
        if (
            isinstance(source, Graph)
            and source.grown_from is not None
            and source.grown_from.num_nodes == first
        ):
            return cls(source.grown_from)
        raw = _Raw.of(source)
        if raw is None or graph.x.layout != torch.strided:
            return None
        known = cls(_first_nodes(graph, first))
        seen = raw.seen(first)
        known._marks[seen.mark] = seen.differ and raw.is_one_way(first)
        return known

    def growth(self, source: Any) -> Growth | None:
        """The graph that `source` holds, if it is this one or this one with more nodes; else None."""
        first = self.graph.num_nodes
        if isinstance(source, Graph) and source.grown_from is self.graph:
            return Growth(source, source.x[first:], (source,))
        raw = _Raw.of(source)
        if raw is None or raw.x.shape[1] != self.graph.num_features or len(raw.x) < first:
            return None
        seen = raw.seen(first)
        if seen.mark not in self._marks:
            return None
        number, new = (
            len(raw.x),
            torch.from_numpy(raw.x[first:]).to(torch.float32, copy=True),
        )  # not a view of it all
        if unfinite(new) is not None:  # `Graph.from_data` says where
            return None
        raw.warn(self._marks[seen.mark], seen)
        y = raw.labels(self.graph)
        if number > first:
            whole = torch.from_numpy(np.asarray(raw.x, dtype=np.float32))  # of older nodes it was checked
            graph = self.graph.extended(whole, seen.row, seen.col, y)
        else:
            graph = replace(self.graph, y=y, grown_from=self.graph)
        content = (
            number,
            fingerprint(new.numpy()),
            fingerprint(np.stack([seen.row, seen.col])),
            fingerprint(y.numpy()),
        )
        return Growth(graph, new, content)


def _first_nodes(graph: Graph, first: int) -> Graph:
    """The graph between its first nodes, with features of its own."""
    x = graph.x[:first].clone()
    if first == graph.num_nodes:
        return replace(graph, x=x, data=None, grown_from=None)
    end = graph.indptr[first]
    kept = graph.indices[:end] < first
    count = np.concatenate([[0], np.cumsum(kept)])
    return replace(
        graph,
        x=x,
        indptr=count[graph.indptr[: first + 1]],
        indices=graph.indices[:end][kept],
        y=graph.y[:first],
        loops=graph.loops[:first],
        data=None,
        grown_from=None,
    )


@dataclass(frozen=True)
class _Seen:
    """Edges of a graph, parted: a mark of the older nodes and the edges between them, and those of new nodes.

    Args:
        mark: of features, of edges, and how many edges there are.
        row, col: edges with a new node.
        differ: whether the sum over the edges between older nodes is another one than that over their reverses.
    """

    mark: tuple[int, int, int]
    row: np.ndarray
    col: np.ndarray
    differ: bool
    __repr__ = brief_repr


@dataclass(frozen=True)
class _Raw:
    """What somebody else's graph holds, as it lies in memory.

    Args:
        x: features [n, p].
        row, col: edges.
        y: labels of any kind, or None.
        source: the graph.
    """

    x: np.ndarray
    row: np.ndarray
    col: np.ndarray
    y: Any
    source: Any
    __repr__ = brief_repr

    @classmethod
    def of(cls, source: Any) -> "_Raw | None":
        """None where anything is not as it mostly is."""
        if isinstance(source, Graph):
            if source.node_names is not None or source.links is not None or source.x.layout != torch.strided:
                return None
            row, col = source.edge_index.numpy()
            return cls(source.x.numpy(), row, col, source, source)
        if not (hasattr(source, "to_dict") and hasattr(source, "edge_index") and hasattr(source, "x")):
            return None
        if any(getattr(source, name, None) is not None for name in _FOREIGN):
            return None
        x, edges = source.x, source.edge_index
        if not (isinstance(x, Tensor) and isinstance(edges, Tensor) and _is_plain(x) and _is_plain(edges)):
            return None
        if edges.dtype != torch.int64 or len(edges) != 2 or not x.is_floating_point() or len(x) == 0:
            return None
        row, col = edges.detach().numpy()
        return cls(x.detach().numpy(), row, col, getattr(source, "y", None), source)

    def seen(self, first: int) -> _Seen:
        """The edges as a graph sees them whose nodes are the `first` ones."""
        buffer = np.empty((2, _FEW_EDGES), dtype=np.int64)
        low, high, there, back, number = _parted(self.row, self.col, first, buffer)
        if low < 0 or high >= len(self.x):  # `Graph.from_data` says so
            return _Seen((-1, -1, -1), self.row[:0], self.col[:0], False)
        if number > _FEW_EDGES:
            is_new = np.maximum(self.row, self.col) >= first
            buffer = np.stack([self.row[is_new], self.col[is_new]])
        row, col = buffer[:, :number].copy()
        mark = (fingerprint(self.x[:first]), int(there), len(self.row) - number)
        return _Seen(mark, row, col, bool(there != back))

    def is_one_way(self, first: int) -> bool:
        """Whether some edge between the first nodes lacks its reverse."""
        inner = np.maximum(self.row, self.col) < first
        return is_one_way(torch.from_numpy(np.stack([self.row[inner], self.col[inner]])))

    def warn(self, one_way: bool, seen: _Seen) -> None:
        """Says what is left out, as reading the graph as a whole does."""
        if not isinstance(self.source, Graph):
            new = torch.from_numpy(np.stack([seen.row, seen.col]))
            warn_left_out(self.source, one_way or is_one_way(new))

    def labels(self, known: Graph) -> Tensor:
        """Classes of all nodes [n], in those of another graph."""
        if isinstance(self.y, Graph):
            return self.y.with_classes_of(known).y
        return known.labels(self.y, len(self.x))


def _is_plain(tensor: Tensor) -> bool:
    is_here = tensor.layout == torch.strided and is_main_memory(tensor.device)
    return is_here and tensor.ndim == 2 and tensor.is_contiguous() and not tensor.is_quantized


@njit(cache=True)
def _mixed(one: int, other: int) -> np.uint64:
    """64 bits of an edge (the finaliser of splitmix64)."""
    z = (np.uint64(one) << np.uint64(32)) ^ np.uint64(other)
    z = (z + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def _parted(
    row: np.ndarray, col: np.ndarray, first: int, new: np.ndarray
) -> tuple[int, int, np.uint64, np.uint64, int]:
    """Smallest and largest node; sums over the edges between nodes below `first`, there and back; how many edges have
    another node, of which as many as fit go into `new` [2, ..]."""
    low, high, number = 0, -1, 0
    there, back = np.uint64(0), np.uint64(0)
    for at in range(len(row)):
        one, other = row[at], col[at]
        low, high = min(low, one, other), max(high, one, other)
        if one < first and other < first:
            there += _mixed(one, other)
            back += _mixed(other, one)
        else:
            if number < new.shape[1]:
                new[0, number], new[1, number] = one, other
            number += 1
    return low, high, there, back, number
