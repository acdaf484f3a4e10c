"""Super-nodes of a graph that grew: those it had, which new nodes join."""

import numpy as np

from ansgt.coarsening.base import Clustering, CoarseGraph, steady_threads
from ansgt.coarsening.contraction import Contracted, connected_components
from ansgt.graph import Graph

GROWTH = 0.1
"""Share of a graph's nodes that may be new; of a graph that grew more the super-nodes are found anew."""


class GrownCoarsener:
    """Gives a graph the super-nodes of the one it grew from, so that one more node moves nobody else to another super-node.

    A new node joins the super-node that most of its neighbours are in (ties: the smallest number), those next to old nodes
    first, then those next to these. New nodes that no path joins to an old one are a super-node per component.

    Args:
        assignment: super-node of every node of the old graph.
        ids: which node of the old graph a node is, or -1 [n].

    >>> from ansgt.testing import path_graph
    >>> GrownCoarsener(np.array([0, 0, 1]), np.array([0, 1, 2, -1])).fit(path_graph(4)).assignment
    array([0, 0, 1, 1])
    """

    def __init__(self, assignment: np.ndarray, ids: np.ndarray) -> None:
        self.assignment, self.ids = assignment, ids

    def fit(self, graph: Graph) -> CoarseGraph:
        """The super-nodes of the graph whose nodes `ids` names."""
        with steady_threads(len(graph.indices)):
            start = Contracted.from_graph(graph)
            assignment = self._joined(graph)
            number = int(assignment.max(initial=-1)) + 1
            return CoarseGraph.of(
                graph, start, Clustering(assignment, number), number / graph.num_nodes, {"total": 0.0}
            )

    def _joined(self, graph: Graph) -> np.ndarray:
        found = np.where(self.ids >= 0, self.assignment[np.maximum(self.ids, 0)], -1)
        waiting = np.flatnonzero(found < 0)
        while len(waiting):
            joins = np.array([_most_frequent(found[_neighbors(graph, node)]) for node in waiting.tolist()])
            found[waiting] = joins
            if (joins < 0).all():
                break
            waiting = waiting[joins < 0]
        if len(waiting):
            component, _ = connected_components(graph.indptr, graph.indices)
            found[waiting] = len(self.assignment) + component[waiting]
        numbers: np.ndarray = np.unique(found, return_inverse=True)[1]
        return numbers.astype(np.int64)


def _neighbors(graph: Graph, node: int) -> np.ndarray:
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]]


def _most_frequent(labels: np.ndarray) -> int:
    """-1 where none is known."""
    known = labels[labels >= 0]
    return int(np.bincount(known).argmax()) if len(known) else -1
