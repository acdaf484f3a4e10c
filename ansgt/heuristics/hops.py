"""1-hop and 2-hop neighbours: rows of Ã and Ã² (section 5.1)."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, Heuristic, HeuristicLike
from ansgt.heuristics.product import Product
from ansgt.heuristics.rows import csr_top_k, normalized_rows
from ansgt.linalg import CSR, gcn_norm, gcn_rows

_BREADTH = 512
"""Neighbours of a hub that count, at least; twice as many as candidates are by default."""
_DENSE = 1 / 32
"""A dense product of small matrices is that much faster per multiplication than a sparse one, about."""


class OneHop(Heuristic):
    """Q_i = Ã[i, :], self excluded and renormalised.

    >>> from ansgt.testing import path_graph
    >>> OneHop().fit(path_graph(3)).rows(np.array([1])).toarray()
    array([[0.5, 0. , 0.5]], dtype=float32)
    """

    block_size = 65_536

    def _prepare(self, graph: Graph) -> None:
        self._normalized = None if self._few else gcn_norm(graph)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        return gcn_rows(self.graph_, nodes) if self._normalized is None else self._normalized[nodes]


class TwoHop(Heuristic):
    """Q_i = Ã²[i, :], self excluded and renormalised; Ã² is made a block of rows at a time and never as a whole.

    Through the self-loops Ã² reaches 1-hop neighbours as well, as printed in the paper.

    Bounded rows of a larger graph go through a hub m to its heaviest neighbours alone, max(512, 2 max_candidates) of them:
    Ã[m, j] = 1 / sqrt(d_m d_j), so what is left out are large nodes, each with less than what is kept. The work of all rows
    is then at most that many visits per edge, whatever the degrees. Where no node has more neighbours rows are exact.

    >>> from ansgt.testing import path_graph
    >>> TwoHop().fit(path_graph(3)).rows(np.array([0])).toarray().round(3)
    array([[0.   , 0.671, 0.329]], dtype=float32)
    """

    block_size = 16_384

    def _prepare(self, graph: Graph) -> None:
        if self._is_bounded and self._few:
            return
        self._normalized = gcn_norm(graph)
        if self._is_bounded:
            self._square = square(self._normalized, self._breadth)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        if self._is_bounded:
            assert self.max_candidates is not None
            if self._few:
                return _few_rows_of_square(self.graph_, nodes, self._breadth)
            return self._square.top_rows(nodes, self.max_candidates)
        if self._fills_up:
            return sp.csr_array(self._normalized[nodes].toarray() @ self._normalized.toarray())
        return sp.csr_array(self._normalized[nodes] @ self._normalized)

    def measured(self, source: HeuristicLike | None = None) -> dict[str, Any]:
        """Where hubs are cut: recall of the bounded rows on 500 nodes, and their mean L1 distance from exact ones."""
        hub = int(self.graph_.degree.max(initial=0)) + 1
        if not self._is_bounded or hub <= self._breadth:
            return {}
        nodes = self.checked_nodes()
        exact = square(gcn_norm(self.graph_)).top_rows(nodes, self.max_candidates or hub)
        exact = normalized_rows(exact, nodes)
        found = (source or self).rows(nodes)
        recall = found.astype(bool).multiply(exact.astype(bool)).sum() / max(exact.nnz, 1)
        return {
            "recall": float(recall),
            "l1": float(abs(found - exact).sum() / len(nodes)),
            "nodes": len(nodes),
        }

    @property
    def _breadth(self) -> int:
        """Through how many neighbours of a hub a row goes."""
        return max(_BREADTH, 2 * (self.max_candidates or 0))

    @property
    def _is_bounded(self) -> bool:
        return self.max_candidates is not None and self.graph_.num_nodes > SMALL

    @property
    def _fills_up(self) -> bool:
        """Whether a dense product is the cheaper one; it takes n^2 numbers."""
        n = self.graph_.num_nodes
        return n <= SMALL and float(np.square(self.graph_.degree, dtype=np.float64).sum()) > _DENSE * n**3


def _few_rows_of_square(graph: Graph, nodes: np.ndarray, breadth: int) -> sp.csr_array:
    """Some rows of what `square` gives of Ã, without the rest of it."""
    first = gcn_rows(graph, nodes)
    middle, place = np.unique(first.indices, return_inverse=True)
    left = sp.csr_array((first.data, place, first.indptr), shape=(len(nodes), len(middle)))
    return sp.csr_array(left @ csr_top_k(gcn_rows(graph, middle), breadth))


def square(matrix: sp.csr_array, breadth: int | None = None) -> Product:
    """matrix², for a symmetric matrix of positive entries.

    Args:
        breadth: a row of the right factor counts by its largest entries alone, this many; None: by all.
    """
    order = np.argsort(-np.diff(matrix.indptr), kind="stable")
    right = matrix if breadth is None else csr_top_k(matrix, breadth)  # ties go to the smaller node
    first, second = (CSR.of(factor[order][:, order]) for factor in (matrix, right))
    return Product(first, second, order.astype(np.int32), np.argsort(order))
