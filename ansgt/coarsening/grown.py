"""Super-nodes of a graph that grew: those it had, which new nodes join."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.coarsening.base import CoarseGraph
from ansgt.coarsening.contraction import membership
from ansgt.graph import Graph
from ansgt.linalg import csr_array

GROWTH = 0.1
"""Share of a graph's nodes that may be new; of a graph that grew more the super-nodes are found anew."""


class GrownCoarsener:
    """Gives a graph the super-nodes of the one it grew from, so that one more node changes nothing for nodes far from it.

    A new node joins the super-node that most of its neighbours are in (ties: the smallest number), those next to old nodes
    first, then those next to these. The super-nodes' features and links stay those of the older graph. New nodes that no
    path joins to an old one are a super-node per component, which has their features and no link.

    Args:
        known: the super-nodes of the old graph.
        ids: which node of the old graph a node is, or -1 [n].

    >>> from ansgt.coarsening import HeavyEdge
    >>> from ansgt.testing import path_graph
    >>> known = HeavyEdge(num_supernodes=2).fit(path_graph(3))
    >>> known.assignment, GrownCoarsener(known, np.array([0, 1, 2, -1])).fit(path_graph(4)).assignment
    (array([0, 0, 1]), array([0, 0, 1, 1]))
    """

    def __init__(self, known: CoarseGraph, ids: np.ndarray) -> None:
        self.known, self.ids = known, ids

    def fit(self, graph: Graph) -> CoarseGraph:
        """The super-nodes of the graph whose nodes `ids` names."""
        new = np.flatnonzero(self.ids < 0)
        return self.joined(graph, _rows(graph.x, new))

    def joined(self, graph: Graph, x: Tensor) -> CoarseGraph:
        """The same from the features of the new nodes alone [k, p], dense or sparse."""
        known, assignment = self.known, self._joined(graph)
        number = max(known.num_supernodes, int(assignment.max(initial=-1)) + 1)
        if number > known.num_supernodes:
            known = self._with_lone(graph, x, assignment, number)
        return replace(
            known,
            assignment=assignment,
            P=membership(assignment, number),
            num_supernodes=number,
            rate=number / graph.num_nodes,
            rate_reached=number / graph.num_nodes,
            largest_share=float(np.bincount(assignment).max() / graph.num_nodes),
            seconds={"total": 0.0},
            reason=None,
        )

    def _joined(self, graph: Graph) -> np.ndarray:
        found = np.where(self.ids >= 0, self.known.assignment[np.maximum(self.ids, 0)], -1)
        waiting = np.flatnonzero(found < 0)
        while len(waiting):
            joins = np.array([_most_frequent(found[_neighbors(graph, node)]) for node in waiting.tolist()])
            found[waiting] = joins
            if (joins < 0).all():
                break
            waiting = waiting[joins < 0]
        if len(waiting):
            groups = np.unique(graph.component[waiting], return_inverse=True)[1]
            found[waiting] = self.known.num_supernodes + groups
        assignment: np.ndarray = found.astype(np.int64)
        return assignment

    def _with_lone(self, graph: Graph, x: Tensor, assignment: np.ndarray, number: int) -> CoarseGraph:
        """With super-nodes for the components of new nodes."""
        known, first = self.known, self.known.num_supernodes
        alone = np.flatnonzero(assignment >= first)
        place = np.searchsorted(np.flatnonzero(self.ids < 0), alone)
        own, size = assignment[alone] - first, np.bincount(assignment[alone] - first)
        features = _rows(x, place).to_dense()
        mean = torch.zeros(len(size), features.shape[1]).index_add_(0, torch.from_numpy(own), features)
        mean /= torch.from_numpy(size)[:, None]
        inside = np.bincount(own, weights=graph.degree[alone], minlength=len(size)) / size
        return replace(
            known,
            x=torch.cat([known.x, (mean * torch.from_numpy(np.sqrt(size))[:, None]).to(known.x.dtype)]),
            x_mean=torch.cat([known.x_mean, mean.to(known.x_mean.dtype)]),
            adj=sp.csr_array(sp.block_diag([known.adj, sp.diags_array(inside)], format="csr")),
        )


def _rows(x: Tensor, nodes: np.ndarray) -> Tensor:
    if x.layout == torch.strided:
        return x[torch.from_numpy(nodes)]
    return torch.from_numpy(csr_array(x)[nodes].toarray())


def _neighbors(graph: Graph, node: int) -> np.ndarray:
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]]


def _most_frequent(labels: np.ndarray) -> int:
    """-1 where none is known."""
    known = labels[labels >= 0]
    return int(np.bincount(known).argmax()) if len(known) else -1
