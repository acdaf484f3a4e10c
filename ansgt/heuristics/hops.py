"""1-hop and 2-hop neighbours: rows of Ã and Ã² (section 5.1)."""

import numpy as np
import scipy.sparse as sp

from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, Heuristic
from ansgt.heuristics.square import square_top_k
from ansgt.linalg import gcn_norm


class OneHop(Heuristic):
    """Q_i = Ã[i, :], self excluded and renormalised.

    >>> from ansgt.testing import path_graph
    >>> OneHop().fit(path_graph(3)).rows(np.array([1])).toarray()
    array([[0.5, 0. , 0.5]], dtype=float32)
    """

    block_size = 65_536

    def _prepare(self, graph: Graph) -> None:
        self._normalized = gcn_norm(graph)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        return self._normalized[nodes]


class TwoHop(Heuristic):
    """Q_i = Ã²[i, :], self excluded and renormalised; Ã² is made a block of rows at a time and never as a whole.

    Through the self-loops Ã² reaches 1-hop neighbours as well, as printed in the paper.

    >>> from ansgt.testing import path_graph
    >>> TwoHop().fit(path_graph(3)).rows(np.array([0])).toarray().round(3)
    array([[0.   , 0.671, 0.329]], dtype=float32)
    """

    block_size = 32_768

    def _prepare(self, graph: Graph) -> None:
        self._normalized = gcn_norm(graph)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        if self.max_candidates is not None and self.graph_.num_nodes > SMALL:
            return square_top_k(self._normalized, nodes, self.max_candidates)
        return sp.csr_array(self._normalized[nodes] @ self._normalized)
