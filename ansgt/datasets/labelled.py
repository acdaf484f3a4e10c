"""`LabelledNodes`: the labelled nodes of a graph as rows, which scikit-learn's splitters and searches can take apart."""

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ansgt.datasets.masks import given_split
from ansgt.datasets.sources import as_graph
from ansgt.graph import Split


class LabelledNodes:
    """Rows for `GridSearchCV`, `cross_val_score` and their like: `search.fit(LabelledNodes(data))`.

    A part of the rows is the same graph of which fewer labels may be used: `NodeClassifier.fit` trains on these nodes and
    holds some out for validation, `predict` and `score` answer for them. Nodes of `test_mask` are no rows: what picks
    settings must not see them.

    Args:
        data: whatever `NodeClassifier.fit` takes.

    >>> import ansgt
    >>> rows = LabelledNodes(ansgt.load_dataset("newman"))
    >>> len(rows), len(rows[:10]), rows.y[:3]
    (102, 10, array([0, 0, 0]))
    """

    def __init__(self, data: Any) -> None:
        self.graph, given = as_graph(data)
        test = getattr(given, "test_mask", None)
        hidden = (
            torch.zeros(self.graph.num_nodes, dtype=torch.bool)
            if test is None
            else torch.as_tensor(test).bool()
        )
        self.nodes: np.ndarray = ((self.graph.y >= 0) & ~hidden).nonzero().flatten().numpy()

    @property
    def y(self) -> np.ndarray:
        """The rows' classes, by their names."""
        found: np.ndarray = self.graph.classes[self.graph.y[self.nodes].numpy()]
        return found

    @property
    def shape(self) -> tuple[int]:
        return (len(self.nodes),)

    def split(self, val_fraction: float, seed: int) -> Split:
        """Trains on the rows but for a share of them, which is held out for validation."""
        return given_split(_Masked(self._mask()), self.graph, None, val_fraction, seed)

    def tolist(self) -> list[Any]:
        """The rows' nodes, by their names."""
        return [self.graph.node_name(node) for node in self.nodes]

    def _mask(self) -> Tensor:
        mask = torch.zeros(self.graph.num_nodes, dtype=torch.bool)
        mask[self.nodes] = True
        return mask

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, rows: Any) -> Self:
        chosen = type(self).__new__(type(self))
        chosen.graph, chosen.nodes = self.graph, self.nodes[rows]
        return chosen

    def __repr__(self) -> str:
        return f"LabelledNodes({len(self)} of {self.graph!r})"


class _Masked:
    """Masks alone."""

    def __init__(self, train_mask: Tensor) -> None:
        self.train_mask = train_mask
