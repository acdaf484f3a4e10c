"""What a preset is chosen by: facts of a graph and of its training part alone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.graph import Graph
from ansgt.links import MOST_VOTERS, LinkVote, cosine_kernel, left_out


@dataclass
class Facts:
    """Facts by name, each computed when it is first asked for.

    The shares that ridge regressions tell right are those of `LinkVote`: each training node in turn left out.

    Args:
        graph: the graph.
        train: the training nodes; no other label is read.
    """

    graph: Graph
    train: Tensor
    known: dict[str, float] = field(default_factory=dict)
    __repr__ = brief_repr

    def __getitem__(self, name: str) -> float:
        if name not in self.known:
            self.known[name] = float(FACTS[name](self.graph, self.train))
        return self.known[name]

    def all(self) -> dict[str, float]:
        """Every fact by its name."""
        return {name: self[name] for name in FACTS}


def _share_of_zeros(graph: Graph, train: Tensor) -> float:
    x: Any = graph.features
    entries = max(graph.num_nodes * graph.num_features, 1)
    return 1.0 - (x.count_nonzero() if sp.issparse(x) else int(np.count_nonzero(x))) / entries


def _homophily(graph: Graph, train: Tensor) -> float:
    """Share of the edges between two training nodes that join one class; chance (1 / C) where there is none."""
    inside = np.zeros(graph.num_nodes, dtype=bool)
    inside[train.numpy()] = True
    y = graph.y.numpy()
    rows = graph.adj[np.flatnonzero(inside)].tocoo()
    source, target = np.flatnonzero(inside)[rows.coords[0]], rows.coords[1]
    both = inside[target]
    if not both.any():
        return 1.0 / graph.num_classes
    return float((y[source[both]] == y[target[both]]).mean())


def _told_by_words(graph: Graph, train: Tensor) -> float:
    voters = np.sort(np.random.RandomState(0).permutation(train.numpy())[:MOST_VOTERS])
    words = cosine_kernel(sp.csr_array(graph.features[voters]))
    return float(left_out(words, graph.y.numpy()[voters]).mean())


FACTS: dict[str, Callable[[Graph, Tensor], float]] = {
    "num_nodes": lambda graph, _: graph.num_nodes,
    "mean_degree": lambda graph, _: len(graph.indices) / graph.num_nodes,
    "num_features": lambda graph, _: graph.num_features,
    "share_of_zeros": _share_of_zeros,
    "homophily": _homophily,
    "told_by_words": _told_by_words,
    "told_by_words_around": lambda graph, train: LinkVote.of(graph, train).without,
}
"""Name of a fact -> how it is found. `told_by_words`: share of (at most 1,500) training nodes that a ridge regression on
words tells right; `told_by_words_around`: on words and the sum of the neighbours' words."""
