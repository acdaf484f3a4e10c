"""Links as features: a node's row of A beside its words, for the model alone; heuristics do not see it.

Who is linked to whom says something that a mean over neighbours does not: on some graphs a node's class is best told by
the very nodes it is linked to (LINKX, Lim et al., 2021). On others the columns only make learning by heart easier, so
`link_features=auto` asks the labels of the training part first (`LinkVote`).
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.device import multiplies_sparse
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.kernels.dropout import dropout
from ansgt.linalg import csr_array, to_torch
from ansgt.settings import DataSettings

MOST_VOTERS = 1500
"""Training nodes that vote; a matrix of that size is inverted six times: about a second."""
RIDGES = (0.03, 0.3, 3.0)
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class LinkVote:
    """What the labels of the training part say about links, by ridge regression that leaves each node out in turn.

    Args:
        without: share of the nodes that are told right from their words and the mean of their neighbours' words.
        with_links: the same with their links beside these.
        error: standard error of the difference.
    """

    without: float
    with_links: float
    error: float

    @property
    def in_favour(self) -> bool:
        """Links gain more than two standard errors."""
        return self.with_links - self.without > STANDARD_ERRORS * self.error

    @classmethod
    def of(cls, graph: Graph, nodes: Tensor) -> "LinkVote":
        """The vote of some labelled nodes, at most `MOST_VOTERS` of them.

        Three kernels over these nodes, each of unit rows and scaled to a mean diagonal of 1: words, the sum of the
        neighbours' words, links. Their mean, with and without the last, predicts one-hot labels; of three ridges the best
        one counts on either side. No label of another node is read.
        """
        voters = np.sort(np.random.RandomState(0).permutation(nodes.numpy())[:MOST_VOTERS])
        rows, x = graph.adj[voters], sp.csr_array(graph.features)
        words, around, links = (cosine_kernel(part) for part in (x[voters], rows @ x, rows))
        y = graph.y.numpy()[voters]
        without = left_out((words + around) / 2, y)
        beside = left_out((words + around + links) / 3, y)
        difference = beside.astype(float) - without
        return cls(
            float(without.mean()), float(beside.mean()), float(difference.std() / np.sqrt(len(voters)))
        )

    def as_dict(self) -> dict[str, Any]:
        """For a record."""
        return {"without": self.without, "with": self.with_links, "error": self.error}


def cosine_kernel(rows: sp.csr_array) -> np.ndarray:
    """Cosines of the rows [n, n], divided by their share of rows that are not empty; 0 for an empty row."""
    length = np.sqrt(rows.multiply(rows).sum(axis=1))
    unit = sp.csr_array(sp.diags_array(1 / np.maximum(length, 1e-12)) @ rows)
    return np.asarray((unit @ unit.T).toarray()) / max(float((length > 0).mean()), 1e-12)


def left_out(kernel: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which nodes a ridge regression tells right that was fitted to all the others [n], bool; of the best ridge.

    With G = (K + 1 1^T + lambda I)^-1 the residual of a node left out is (G Y)_i / G_ii.
    """
    labels = (y[:, None] == np.unique(y)).astype(float)
    best = np.zeros(len(y), dtype=bool)
    for ridge in RIDGES:
        inverse = np.linalg.inv(kernel + 1.0 + ridge * np.eye(len(y)))
        told = labels - inverse @ labels / np.diag(inverse)[:, None]
        right = told.argmax(axis=1) == labels.argmax(axis=1)
        best = right if right.mean() > best.mean() else best
    return best


@dataclass(frozen=True, eq=False)
class Origin:
    """Which nodes of the training graph the nodes of another one are.

    Args:
        ids: node of the training graph, or -1 [n], int64.
        num_nodes: nodes of the training graph.
    """

    ids: np.ndarray
    num_nodes: int
    __repr__ = brief_repr

    @classmethod
    def same(cls, graph: Graph) -> "Origin":
        """Of the training graph itself."""
        return cls(np.arange(graph.num_nodes), graph.num_nodes)

    @classmethod
    def of(cls, graph: Graph, trained_on: Graph) -> "Origin":
        """By name where both have names. Else node i is node i if `graph` is `trained_on` grown: its first rows have the
        same features, and at least half of the old edges are there; otherwise no node is known."""
        number, size = trained_on.num_nodes, graph.num_nodes
        ids = np.full(size, -1, dtype=np.int64)
        if graph.node_names is not None and trained_on.node_names is not None:
            places = {name: place for place, name in enumerate(trained_on.node_names.values)}
            ids[:] = [places.get(name, -1) for name in graph.node_names.values]
        elif size >= number and _same_rows(graph.features, trained_on.features, number):
            kept = graph.adj[:number, :number].multiply(trained_on.adj).sum()
            if 2 * kept >= len(trained_on.indices):
                ids[:number] = np.arange(number)
        return cls(ids, number)


def _same_rows(one: sp.csr_array | np.ndarray, other: sp.csr_array | np.ndarray, number: int) -> bool:
    """Whether the first `number` rows of features agree."""
    if sp.issparse(one) or sp.issparse(other):
        return bool((sp.csr_array(one[:number]) != sp.csr_array(other)).nnz == 0)
    return bool(np.array_equal(one[:number], other))


def link_columns(graph: Graph, data: DataSettings, origin: Origin | None = None) -> Tensor | None:
    """The columns of links [n, W], sparse CSR; None where `data` asks for none; those that the graph brings, if it does.

    Entry (i, h(j)) is `link_scale` for every link i - j. With at most `link_width` nodes h is the identity, and W their
    number; with more h spreads them over W = `link_width` columns.

    Args:
        origin: where the graph is not the one that the model was trained on: the columns are that one's, and those of nodes
            that were not there are empty.
    """
    if data.link_features == "none":
        return None
    if data.link_features == "auto":
        raise InputError(
            "Setting data.link_features=auto is decided per split: link_columns wants links or none."
        )
    if graph.links is not None:
        return graph.links
    known = Origin.same(graph) if origin is None else origin
    width = min(known.num_nodes, data.link_width)
    places = known.ids if known.num_nodes <= width else column_of(known.ids, width)
    column = np.where(known.ids < 0, -1, places)[graph.indices]
    row = np.repeat(np.arange(graph.num_nodes), graph.degree)[column >= 0]
    values = np.full(len(row), data.link_scale)
    return to_torch(sp.csr_array((values, (row, column[column >= 0])), shape=(graph.num_nodes, width)))


def moved_columns(graph: Graph, origin: Origin, data: DataSettings) -> Tensor | None:
    """The columns of links of a graph that a model was not trained on; warns where none of its nodes was there."""
    if data.link_features == "none":
        return None
    if not (origin.ids >= 0).any():
        warnings.warn(
            "The model reads a node's links, and this graph is not the one it was trained on, grown: the columns of "
            "links stay empty. Train with link_features=none to predict on other graphs.",
            stacklevel=4,
        )
    return link_columns(graph, data, origin)


def column_of(ids: np.ndarray, width: int) -> np.ndarray:
    """A column below `width` for every id, spread evenly (the finaliser of splitmix64), the same on every machine.

    >>> column_of(np.array([0, 1, 2]), 100).tolist()
    [0, 89, 30]
    """
    z = ids.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(width)).astype(np.int64)


def beside(x: Tensor, links: Tensor, device: torch.device) -> Tensor:
    """[x | links] for models that read one matrix: dense on a device that wants it so, else CSR."""
    if x.layout == torch.strided and not multiplies_sparse(device):
        return torch.cat([x, links.to_dense()], dim=1)
    left = csr_array(x) if x.layout != torch.strided else sp.csr_array(x.numpy())
    return to_torch(sp.csr_array(sp.hstack([left, csr_array(links)])))


def drop_links(x: Tensor, num_links: int, rate: float) -> Tensor:
    """Dropout of the last `num_links` columns of [x | links] alone."""
    if num_links == 0 or rate == 0.0:
        return x
    first = x.shape[1] - num_links
    if x.layout == torch.strided:
        return torch.cat([x[:, :first], dropout(x[:, first:], rate)], dim=1)
    values = torch.where(x.col_indices() >= first, dropout(x.values(), rate), x.values())
    return torch.sparse_csr_tensor(
        x.crow_indices(), x.col_indices(), values, size=x.shape, check_invariants=False
    )
