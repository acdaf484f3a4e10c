"""Why nodes got their classes: the nodes they attended to, and the heuristic that brought each of them."""

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch

from ansgt.arrays import brief_repr
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.prediction import TrainedModel
from ansgt.prediction.focus import Focus
from ansgt.table import Table, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NEIGHBOURS = 50
"""Neighbours that an explanation lists by name."""


@dataclass(frozen=True)
class Attended:
    """One node that the centre attended to.

    Args:
        node: its name; its number where nodes have no names. So are `label` and `prediction` for classes.
        significance: its share of s_i = A_{1,i} ‖V_i‖ (section 5.1) over all tokens and sequences.
        label: known class, or None.
        prediction: class that the model gives it.
        distance: hops from the centre; None when no path leads there.
        drawn: share of the S sequences it is in.
        heuristics: share that each heuristic had in drawing it, p_k Q_ki / psi_i; sums to 1. {} for a baseline.
        trained: whether the model was trained on its label; None where that is not known.
    """

    node: Any
    significance: float
    label: Any
    prediction: Any
    distance: int | None
    drawn: float
    heuristics: dict[str, float]
    trained: bool | None = None

    @property
    def brought_by(self) -> str | None:
        """The heuristic with the largest part; None for a baseline."""
        return max(self.heuristics, key=lambda name: self.heuristics[name], default=None)


@dataclass(frozen=True)
class Neighbour:
    """A direct neighbour of the centre, attended to or not.

    Args:
        node: its name; its number where nodes have no names.
        label: known class, or None.
        significance: its share of the attention.
        trained: whether the model was trained on its label; None where that is not known.
    """

    node: Any
    label: Any
    significance: float
    trained: bool | None = None


@dataclass(frozen=True)
class Explanation:
    """What `explain` returns of one node; `str()` is a table, `as_dict()` goes into JSON, `plot()` draws it.

    Args:
        node, label, prediction, probabilities: the centre and what the model says of it.
        kinds: share of significance that went to the centre itself, sampled nodes, super-nodes, global nodes.
        heuristics: the same for sampled nodes, by the heuristic that brought them; {} for a baseline.
        attended: nodes by falling significance.
        trained: whether the model was trained on the centre's label; None where that is not known.
        num_neighbours, num_trained: neighbours of the centre in the graph, and how many of them were trained on.
        neighbours: the first of them, those trained on and attended to most in front.
        edges: links between the centre, the attended nodes and the listed neighbours.
    """

    node: Any
    label: Any
    prediction: Any
    probabilities: list[float]
    kinds: dict[str, float]
    heuristics: dict[str, float]
    attended: list[Attended]
    trained: bool | None = None
    num_neighbours: int = 0
    num_trained: int | None = None
    neighbours: tuple[Neighbour, ...] = ()
    edges: tuple[tuple[Any, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def plot(self, path: Path | str | None = None) -> "Figure":
        """A picture of two parts: the attended nodes as bars, and the centre's surroundings with attention as lines.

        Args:
            path: also write it there (.png, .pdf or .svg).

        Returns:
            A figure of matplotlib, which a notebook draws inline.
        """
        from ansgt.prediction.picture import draw_explanation

        return draw_explanation(self, path)

    def table(self) -> Table:
        """The attended nodes; the first column is the centre."""
        return Explanations([self]).table()

    def to_frame(self) -> Any:
        """`table` as a pandas DataFrame."""
        return Explanations([self]).to_frame()

    @property
    def measured(self) -> str:
        """What a share is a share of."""
        return "attention" if self.heuristics else "importance by PyG's Explainer"

    @property
    def sentences(self) -> list[str]:
        """What the model says of the node, where attention went, which neighbours it was trained on."""
        label = "unknown" if self.label is None else self.label
        seen = {None: "", True: ", trained on", False: ", not trained on"}[self.trained]
        lines = [
            f"node {self.node}: class {self.prediction} (p = {max(self.probabilities):.3f}), label {label}{seen}",
            f"{self.measured} went to "
            + ", ".join(f"{name} {100 * v:.0f} %" for name, v in self.kinds.items()),
        ]
        if self.heuristics:
            lines.append(
                "brought by " + ", ".join(f"{name} {100 * v:.0f} %" for name, v in self.heuristics.items())
            )
        if self.num_trained is not None:
            lines.append(self._neighbours_in_words(self.num_trained))
        return lines

    def _neighbours_in_words(self, number: int, longest: int = 8) -> str:
        if self.num_neighbours == 0:
            return "it has no neighbours"
        named = [short(one.node) for one in self.neighbours if one.trained][:longest]
        more = f" and {number - len(named)} more" if number > len(named) else ""
        names = f": {', '.join(named)}{more}" if named else ""
        return f"of its {self.num_neighbours} neighbours {number} were trained on{names}"

    def __repr__(self) -> str:
        return f"Explanation({self.sentences[0]}; {len(self.attended)} attended)"

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", self._shown().text().rstrip("\n")])

    def _repr_html_(self) -> str:
        lines = "<br>".join(html.escape(line) for line in self.sentences)
        return f"<div>{lines}</div>{self._shown().html()}"

    def _shown(self) -> Table:
        """The attended nodes for somebody who knows which node it is about."""
        names, known = list(self.heuristics), self.num_trained is not None
        head = ["node", "share", "label", "class", "hops", *names, *(["trained"] if known else [])]
        words = {None: None, True: "yes", False: "no"}
        rows = [
            [row.node, row.significance, row.label, row.prediction, row.distance]
            + [row.heuristics[name] for name in names]
            + ([words[row.trained]] if known else [])
            for row in self.attended
        ]
        return Table(head, rows, formats={"share": ".1%", **dict.fromkeys(names, ".0%")}, missing="-")


class Explanations(Sequence[Explanation]):
    """What `explain` returns of several nodes: a sequence of explanations, and a table of all of them.

    Args:
        each: one explanation per node.
    """

    def __init__(self, each: Sequence[Explanation]) -> None:
        self._each = list(each)

    @overload
    def __getitem__(self, place: int) -> Explanation: ...
    @overload
    def __getitem__(self, place: slice) -> "Explanations": ...
    def __getitem__(self, place: int | slice) -> "Explanation | Explanations":
        return Explanations(self._each[place]) if isinstance(place, slice) else self._each[place]

    def __len__(self) -> int:
        return len(self._each)

    def table(self) -> Table:
        """One row per centre and attended node."""
        names = list(dict.fromkeys(name for one in self._each for name in one.heuristics))
        head = ["node", "prediction", "probability", "label", "attended", "share", "attended_label"]
        head += ["attended_prediction", "hops", "drawn", "trained", *names]
        rows = [
            [one.node, one.prediction, max(one.probabilities), one.label]
            + [row.node, row.significance, row.label, row.prediction, row.distance, row.drawn, row.trained]
            + [row.heuristics.get(name) for name in names]
            for one in self._each
            for row in one.attended
        ]
        shares = dict.fromkeys(["share", "drawn", *names], ".1%")
        return Table(head, rows, formats={"probability": ".3f", **shares})

    def to_frame(self) -> Any:
        """`table` as a pandas DataFrame (extra ``ansgt[tables]``)."""
        try:
            import pandas
        except ImportError:
            raise InputError("A DataFrame needs pandas: pip install 'ansgt[tables]'.") from None
        table = self.table()
        frame = pandas.DataFrame(table.rows, columns=list(table.head))
        return frame.astype({"hops": "Int64", "trained": "boolean"})

    def as_dict(self) -> dict[str, Any]:
        return {"explanations": [one.as_dict() for one in self._each]}

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._each))

    def __repr__(self) -> str:
        return f"Explanations of {len(self)} nodes"

    def _repr_html_(self) -> str:
        return self.table().html()


def explain(trained: TrainedModel, nodes: Sequence[int], top: int) -> Explanations:
    """Explains the predictions of some nodes by what their sequences attended to, or by how much other nodes matter.

    Args:
        trained: the model, on the graph in question.
        nodes: indices.
        top: how many attended nodes to list of each.
    """
    graph = trained.graph
    focuses = trained.focuses(torch.tensor(nodes, dtype=torch.int64), top)
    attended = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(focus.ids for focus in focuses)]))
    classes = trained.predict_proba(torch.from_numpy(attended)).argmax(dim=1).tolist()
    predicted = dict(zip(attended.tolist(), classes, strict=True))
    around = Surroundings(graph, trained.trained_on, predicted)
    return Explanations([around.explanation(node, one) for node, one in zip(nodes, focuses, strict=True)])


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What stands around explained nodes.

    Args:
        graph: for names, labels, edges and distances.
        trained_on: which nodes were trained on [n], bool; None where that is not known.
        predicted: class of every attended node.
    """

    graph: Graph
    trained_on: np.ndarray | None
    predicted: dict[int, int]
    __repr__ = brief_repr

    def explanation(self, node: int, focus: Focus) -> Explanation:
        """One node's, from whom it attended to."""
        neighbours, own = self._neighbours(node, focus), self._of(node)
        known = None if self.trained_on is None else int(self.trained_on[own].sum())
        listed = neighbours[:MOST_NEIGHBOURS]
        shown = sorted({node, *focus.ids.tolist(), *listed})
        return Explanation(
            node=self.graph.node_name(node),
            label=self._label(node),
            prediction=self.graph.class_name(int(focus.probabilities.argmax())),
            probabilities=[float(p) for p in focus.probabilities],
            kinds=focus.kinds,
            heuristics=focus.heuristics,
            attended=self._attended(node, focus),
            trained=self._trained(node),
            num_neighbours=len(own),
            num_trained=known,
            neighbours=tuple(self._neighbour(other, focus) for other in listed),
            edges=self._edges(shown),
        )

    def _attended(self, node: int, focus: Focus) -> list[Attended]:
        hops = hops_between(self.graph, node, focus.ids)
        return [
            Attended(
                node=self.graph.node_name(other),
                significance=float(focus.share[i]),
                label=self._label(other),
                prediction=self.graph.class_name(self.predicted[other]),
                distance=hops.get(other),
                drawn=float(focus.drawn[i]),
                heuristics=dict(zip(focus.heuristics, focus.brought[i].tolist(), strict=True)),
                trained=self._trained(other),
            )
            for i, other in enumerate(focus.ids.tolist())
        ]

    def _neighbours(self, node: int, focus: Focus) -> list[int]:
        """Those that were trained on first, then by falling share."""
        share = dict(zip(focus.ids.tolist(), focus.share.tolist(), strict=True))
        found: list[int] = self._of(node).tolist()
        return sorted(found, key=lambda other: (not self._trained(other), -share.get(other, 0.0), other))

    def _neighbour(self, other: int, focus: Focus) -> Neighbour:
        share = float(focus.share[focus.ids == other].sum())
        return Neighbour(self.graph.node_name(other), self._label(other), share, self._trained(other))

    def _edges(self, shown: Sequence[int]) -> tuple[tuple[Any, Any], ...]:
        part = self.graph.adj[shown][:, shown].tocoo()
        pairs = zip(part.row.tolist(), part.col.tolist(), strict=True)
        names = [self.graph.node_name(node) for node in shown]
        return tuple((names[i], names[j]) for i, j in pairs if i < j)

    def _of(self, node: int) -> np.ndarray:
        """The neighbours of a node."""
        return self.graph.indices[self.graph.indptr[node] : self.graph.indptr[node + 1]]

    def _label(self, node: int) -> Any:
        return self.graph.class_name(int(self.graph.y[node]))

    def _trained(self, node: int) -> bool | None:
        return None if self.trained_on is None else bool(self.trained_on[node])


def hops_between(graph: Graph, node: int, others: np.ndarray) -> dict[int, int]:
    """Hops from a node to each of some others that a path leads to; the search ends when all are found.

    >>> from ansgt.testing import path_graph
    >>> hops_between(path_graph(4), 0, np.array([3, 1]))
    {1: 1, 3: 3}
    """
    wanted = set(others.tolist()) - {node}
    found: dict[int, int] = {}
    seen = np.zeros(graph.num_nodes, dtype=bool)
    seen[node] = True
    frontier, distance = np.array([node]), 0
    while wanted and len(frontier):
        distance += 1
        reached = np.zeros(graph.num_nodes, dtype=bool)
        reached[_neighbors(graph, frontier)] = True
        frontier = np.flatnonzero(reached & ~seen)
        seen |= reached
        new = [other for other in wanted if seen[other]]
        found |= dict.fromkeys(sorted(new), distance)
        wanted.difference_update(new)
    return found


def _neighbors(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Neighbours of all of some nodes, with repeats."""
    lengths = graph.degree[nodes]
    first = np.repeat(graph.indptr[nodes] - np.cumsum(lengths) + lengths, lengths)
    return graph.indices[first + np.arange(len(first))]
