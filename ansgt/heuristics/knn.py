"""Nearest neighbours by the cosine of node attributes (section 5.1)."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.heuristics.base import (
    CHECKED,
    SMALL,
    Heuristic,
    HeuristicLike,
    HeuristicSettings,
    candidate_limit,
)
from ansgt.heuristics.neighbors import Copies, Neighbors, Rows, cosine_rows, cosines_of, share_found, truth
from ansgt.heuristics.product import Product
from ansgt.heuristics.rows import dense_top_k
from ansgt.linalg import CSR, csr_array, inverse_or_zero
from ansgt.storage import DiskCache

INDEXES = ("auto", "exact")
EXACT_LIMIT = 50_000
"""Up to this many nodes all pairs are compared, whatever the features."""
MOST_VISITS = 2e11
"""Sparse non-negative features are compared exactly up to this many pairs that share a column, counted by column."""
_SPARSE_PAYS = 0.05
_ROWS = 8192
TIES = np.float32(2**20)
"""Of a few nodes cosines count in steps of 1 / TIES."""


class KNN(Heuristic):
    """Q_i proportional to max(cos(x_i, x_j), 0) over the k nodes nearest to i.

    The paper's score is over all pairs (``k=None``); on Cora its 14 nearest then hold 3 % of the mass, so the default
    does what the name says. Negative similarities cannot be probabilities and are dropped.

    Args:
        k: how many neighbours; ``None`` is the literal all-pairs score.
        index: "exact", or "auto": exact up to 50,000 nodes and for sparse words, else what reaches `wanted_recall` at
            least cost (`ansgt.heuristics.neighbors`).
        wanted_recall: of the approximate search, measured at every fit on 500 nodes; below it, a warning says so.
        max_candidates, cache: see `Heuristic`.

    >>> from ansgt.testing import random_graph
    >>> KNN(k=3).fit(random_graph()).rows(np.array([0, 7])).nnz
    6
    """

    block_size = 2048
    row_by_row = False  # a product of blocks rounds by their shape

    compares_features = True
    _copies: Copies | None = None
    _neighbors: Neighbors | None = None
    _product: Product | None = None

    def __init__(
        self,
        k: int | None = 20,
        index: str = "auto",
        wanted_recall: float = 0.95,
        max_candidates: int | None = None,
        cache: DiskCache | None = None,
    ) -> None:
        super().__init__(max_candidates, cache)
        self.k = k
        self.index = index
        self.wanted_recall = wanted_recall

    @classmethod
    def from_settings(
        cls, settings: HeuristicSettings, num_nodes: int, cache: DiskCache | None = None
    ) -> Self:
        k = settings.num_neighbors
        k = None if k is None else min(k, num_nodes - 1)
        return cls(k, max_candidates=candidate_limit(settings, num_nodes), cache=cache)

    def _check(self) -> None:
        super()._check()
        if self.index not in INDEXES:
            raise unknown_name("KNN index", self.index, INDEXES)
        if self.k is not None and self.k < 1:
            raise InputError(f"k must be at least 1 or None, not {self.k}.")
        if not 0 < self.wanted_recall <= 1:
            raise InputError(f"wanted_recall must be in (0, 1], not {self.wanted_recall}.")

    def _prepare(self, graph: Graph) -> None:
        self._copies, self._product, self._neighbors = None, None, None
        if self._few and self._limit is not None:
            self._pieces = _Pieces.of(_Scaled.of(graph.features))
            return
        self._unit = unit_rows(graph.features)
        if self._limit is None or graph.num_nodes <= SMALL:
            return
        self._copies = Copies.of(self._unit)
        unit: Any = self._unit if self._copies is None else self._copies.unit
        number = unit.shape[0]
        if number == 1:
            return
        if _shares_little(unit):
            places = np.arange(number)
            self._product = Product(
                CSR.of(unit), CSR.of(sp.csr_array(unit.T)), places.astype(np.int32), places
            )
            return
        exact = self.index == "exact" or number <= EXACT_LIMIT
        checked = self.checked_nodes()
        checked = checked if self._copies is None else np.unique(self._copies.group[checked])
        wanted = 1.0 if exact else self.wanted_recall
        self._neighbors = Neighbors(unit, min(self._num_kept, number - 1), checked, wanted)
        if not exact:
            self._say(self._neighbors.recall)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        if self._limit is None:
            return sp.csr_array(np.maximum(cosine_rows(self._unit, nodes), 0))
        number = self.graph_.num_nodes
        if self._few:
            return _to_csr(*_exact_top(self._pieces.cosines, number, nodes, self._num_kept, True), number)
        if self._copies is not None:
            found = self._copies.expanded(nodes, self._num_kept, self._nearest_distinct)
        elif self._product is not None:
            return self._product.top_rows(nodes, self._num_kept)
        elif self._neighbors is not None:
            found = self._neighbors.search(nodes)
        else:
            found = _exact_top(partial(cosine_rows, self._unit), number, nodes, self._num_kept)
        return _to_csr(*found, number)

    def _nearest_distinct(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inner products and numbers of the distinct rows nearest to some of them."""
        if self._neighbors is not None:
            return self._neighbors.search(rows)
        width = 0 if self._product is None else self._num_kept
        values = np.zeros((len(rows), width), dtype=np.float32)
        columns = np.full((len(rows), width), -1, dtype=np.int32)
        if self._product is not None:
            found = self._product.top_rows(rows, width)
            is_there = np.arange(width) < np.diff(found.indptr)[:, None]
            values[is_there], columns[is_there] = found.data, found.indices
        return values, columns

    def grown(self, graph: Graph, x: Tensor) -> Self:
        other = super().grown(graph, x)
        if self._few and self._limit is not None:
            self._ready()
            new = x.numpy() if x.layout == torch.strided else csr_array(x)
            other._pieces, other._is_prepared = _Pieces.of(*self._pieces.pieces, _Scaled.of(new)), True
        return other

    def measured(self, source: HeuristicLike | None = None) -> dict[str, Any]:
        """Recall of the rows on 500 nodes, ties aside; by definition 1 where all pairs are compared."""
        graph = self.graph_
        if self._limit is None or graph.num_nodes <= SMALL:
            return {"recall": 1.0, "index": "exact"}
        unit = unit_rows(graph.features)
        known = truth(unit, self._num_kept, self.checked_nodes())
        found = cosines_of(unit, known.nodes, (source or self).rows(known.nodes))
        recall = share_found(found, known)
        self._say(recall)
        facts: dict[str, Any] = {"recall": recall, "wanted": self.wanted_recall, "nodes": len(known.nodes)}
        return facts if self._neighbors is None else {**facts, **self._neighbors.effort._asdict()}

    @property
    def _limit(self) -> int | None:
        return min((v for v in (self.k, self.max_candidates) if v is not None), default=None)

    @property
    def _num_kept(self) -> int:
        assert self._limit is not None
        return min(self._limit, self.graph_.num_nodes - 1)

    def _say(self, recall: float) -> None:
        if recall < self.wanted_recall:
            warnings.warn(
                f"KNN finds {recall:.0%} of the nearest neighbours, measured on {CHECKED} nodes, not the "
                f"{self.wanted_recall:.0%} that are wanted: KNN(index='exact') compares all pairs.",
                stacklevel=2,
            )


def unit_rows(x: Rows) -> Rows:
    """Rows scaled to length 1 (all-zero rows stay), as CSR when few entries are not zero."""
    if not sp.issparse(x) and len(x) > _ROWS:  # as many at a time as a cache holds: the same numbers, sooner
        if np.count_nonzero(x) < _SPARSE_PAYS * x.size:
            return unit_rows(sp.csr_array(x))
        parts = [_dense_unit_rows(x[start : start + _ROWS]) for start in range(0, len(x), _ROWS)]
        return np.concatenate(parts)
    if not sp.issparse(x) and np.count_nonzero(x) < _SPARSE_PAYS * x.size:
        x = sp.csr_array(x)
    if not sp.issparse(x):
        return _dense_unit_rows(x)
    squares = x.multiply(x)  # type: ignore[union-attr]
    scale = inverse_or_zero(np.asarray(squares.sum(axis=1, dtype=np.float64)).ravel(), power=0.5)
    return sp.csr_array(sp.diags_array(scale) @ x).astype(np.float32)


def _dense_unit_rows(x: np.ndarray) -> np.ndarray:
    scale = inverse_or_zero((x * x).sum(axis=1, dtype=np.float64), power=0.5)
    unit: np.ndarray = (x * scale[:, None]).astype(np.float32)
    return unit


def _shares_little(unit: Any) -> bool:
    """Whether features are words: sparse, not negative, and few pairs of nodes share one."""
    if not sp.issparse(unit) or unit.data.min(initial=1.0) <= 0:
        return False
    return float(np.square(np.bincount(unit.indices), dtype=np.float64).sum()) <= MOST_VISITS


class _Scaled(NamedTuple):
    """Features of some nodes [b, p] and what makes their rows length 1 [b], so that no second copy of them is needed."""

    x: Any
    scale: np.ndarray

    @classmethod
    def of(cls, x: Rows) -> "_Scaled":
        if sp.issparse(x):
            squares = np.asarray(x.multiply(x).sum(axis=1, dtype=np.float64)).ravel()  # type: ignore[union-attr]
        else:
            squares = np.einsum("ij,ij->i", x, x, dtype=np.float64)
        return cls(x, inverse_or_zero(squares, power=0.5).astype(np.float32))

    def unit(self, rows: np.ndarray) -> np.ndarray:
        """Some rows, of length 1, dense."""
        x = self.x[rows].toarray() if sp.issparse(self.x) else self.x[rows]
        unit: np.ndarray = x * self.scale[rows, None]
        return unit

    def cosines(self, unit: np.ndarray) -> np.ndarray:
        """Cosines of some rows of length 1 [k, p] with all of these [k, b]."""
        if sp.issparse(self.x):
            products = (self.x @ unit.T).T
        else:
            products = (torch.from_numpy(self.x) @ torch.from_numpy(unit).T).T.numpy()
        found: np.ndarray = products * self.scale
        return found


class _Pieces(NamedTuple):
    """Features of all nodes, in pieces that lie apart; where each begins."""

    pieces: tuple[_Scaled, ...]
    first: np.ndarray

    @classmethod
    def of(cls, *pieces: _Scaled) -> "_Pieces":
        return cls(pieces, np.cumsum([0] + [len(one.scale) for one in pieces]))

    def cosines(self, nodes: np.ndarray) -> np.ndarray:
        """`cosine_rows` in steps of 1 / TIES: a product rounds by the shape of its factors, and without steps a graph in two
        pieces might have other neighbours than in one."""
        piece = np.searchsorted(self.first, nodes, side="right") - 1
        unit = np.empty((len(nodes), self.pieces[0].x.shape[1]), dtype=np.float32)
        for number, one in enumerate(self.pieces):
            unit[piece == number] = one.unit(nodes[piece == number] - self.first[number])
        scores = np.concatenate([one.cosines(unit) for one in self.pieces], axis=1, dtype=np.float32)
        np.rint(np.multiply(scores, TIES, out=scores), out=scores)
        return np.divide(scores, TIES, out=scores)


def _exact_top(
    cosines: Callable[[np.ndarray], np.ndarray],
    num_nodes: int,
    nodes: np.ndarray,
    k: int,
    compiled: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    values, columns = [], []
    for part in np.array_split(nodes, max(1, len(nodes) * num_nodes >> 25)):
        scores = cosines(part)
        scores[np.arange(len(part)), part] = -2.0  # self never takes one of the k places
        found = dense_top_k(scores, np.arange(num_nodes), k, compiled)
        values.append(found[0])
        columns.append(found[1])
    return np.concatenate(values), np.concatenate(columns)


def _to_csr(values: np.ndarray, columns: np.ndarray, num_nodes: int) -> sp.csr_array:
    found = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    return sp.csr_array((values[found], columns[found], indptr), shape=(len(values), num_nodes))
