"""What the tables of nodes and the explorer read: graphs laid out, predictions per run and split, attention of nodes.

Numbers travel as whole numbers (per mille, pixels): a page of 20,000 nodes stays within a few megabytes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ansgt.graph import Graph
from ansgt.prediction import TrainedModel
from ansgt.report.layout import MOST_NODES, draw_graph
from ansgt.report.side_by_side import Finished, Options, RunOnPage
from ansgt.turns import turn

PIXELS = 10_000
"""Side of the square that a graph is laid out in."""
NUMBERS = 3_000_000
"""Probabilities on one page; splits beyond are left out, the first of every run never."""
TOP = 8
"""Attended nodes listed per node."""
PORTION = 256
"""Nodes whose attention is held at a time."""
WORST = 12
"""Wrong nodes that are explained."""
PARTS = {"train": "t", "val": "v", "test": "s"}
UNKNOWN = -1


def explorer_data(groups: Sequence[Sequence[RunOnPage]], options: Options) -> dict[str, Any]:
    """A JSON object: a graph per data set, a view per run and split.

    ``graphs``: shown nodes in columns (``ids``, ``label``, ``names``, with the data also ``x``, ``y``, ``degree``,
    ``edges``); ``views``: predictions of these nodes (``proba``, per mille, row by row), their ``part``, the worst errors,
    and what nodes attended to. All text is data, never markup.
    """
    graphs, views = [], []
    for number, runs in enumerate(groups):
        graph = next((run.opened.graph for run in runs if not isinstance(run.opened, str)), None)
        nodes, shown = _graph(runs[0], graph)
        graphs.append(shown)
        chosen = _chosen(runs, len(nodes))
        explained = options.explained // max(sum(len(group) for group in groups), len(chosen))
        for run, split in chosen:
            view = View(run, split, nodes, graph)
            views.append({"graph": number, **view.as_dict(explained if graph is not None else 0)})
    return {"graphs": graphs, "views": views}


def _graph(run: RunOnPage, graph: Graph | None) -> tuple[np.ndarray, dict[str, Any]]:
    """Which nodes are shown, and their columns."""
    label = run.splits[0].predictions["label"]
    facts = {"title": str(run.info["dataset"]), "classes": run.class_names, "numNodes": len(label)}
    if graph is None:
        nodes = np.arange(min(len(label), MOST_NODES))
        return nodes, {
            **facts,
            **_names(run, nodes),
            "ids": nodes.tolist(),
            "label": label[nodes].tolist(),
            "missing": str(run.opened),
        }
    drawing = draw_graph(graph)
    x, y = (drawing.position.T * PIXELS).round().astype(np.int64)
    return drawing.nodes, {
        **facts,
        **_names(run, drawing.nodes),
        "ids": drawing.nodes.tolist(),
        "label": label[drawing.nodes].tolist(),
        "x": x.tolist(),
        "y": y.tolist(),
        "degree": graph.degree[drawing.nodes].tolist(),
        "edges": drawing.edges.ravel().tolist(),
        "numEdges": graph.num_edges,
    }


def _names(run: RunOnPage, nodes: np.ndarray) -> dict[str, Any]:
    names = run.node_names(nodes)
    return {} if names is None else {"names": names}


def _chosen(runs: Sequence[RunOnPage], num_nodes: int) -> list[tuple[RunOnPage, Finished]]:
    """Every run's first split, then its others as long as there is room."""
    size = num_nodes * len(runs[0].class_names)
    kept = {run.name: 1 for run in runs}
    room = NUMBERS // max(size, 1) - len(runs)
    for place in range(1, max(len(run.splits) for run in runs)):
        for run in runs:
            if place < len(run.splits) and room > 0:
                kept[run.name], room = place + 1, room - 1
    return [(run, split) for run in runs for split in run.splits[: kept[run.name]]]


class View:
    """One split of a run, as the page shows its nodes.

    Args:
        run, split: which.
        nodes: the shown ones.
        graph: where it is at hand.
    """

    def __init__(self, run: RunOnPage, split: Finished, nodes: np.ndarray, graph: Graph | None) -> None:
        self.run, self.split, self.nodes, self.graph = run, split, nodes, graph
        self.probabilities = split.predictions["probabilities"][nodes]
        self.label = split.predictions["label"][nodes]
        self.prediction = self.probabilities.argmax(axis=1)
        self.part = np.full(len(split.predictions["label"]), "-")
        for name, letter in PARTS.items():
            self.part[split.parts[name]] = letter
        self.part = self.part[nodes]
        self.scored = "s" if (self.part == "s").any() else "v"

    def as_dict(self, explained: int) -> dict[str, Any]:
        """The JSON object of this view, with the attention of up to `explained` nodes."""
        view = {
            "run": self.run.name,
            "split": self.split.index,
            "part": "".join(self.part),
            "scored": self.scored,
            "proba": (self.probabilities * 1000).round().astype(np.int64).ravel().tolist(),
            "worst": [self._neighbours(row) for row in self.worst()],
        }
        if explained and not isinstance(self.run.opened, str):
            with turn():
                trained = self.run.opened.trained(self.split.index)
                view |= self._attention(trained, self._first(explained))
                view |= self._super_nodes(trained)
        return view

    def worst(self) -> list[int]:
        """Wrong rows of the scored part, the surest first."""
        wrong = np.flatnonzero(
            (self.part == self.scored) & (self.label >= 0) & (self.prediction != self.label)
        )
        order = np.argsort(-self.probabilities[wrong].max(axis=1), kind="stable")
        rows: list[int] = wrong[order].tolist()
        return rows[:WORST]

    def _neighbours(self, row: int) -> dict[str, Any]:
        """The classes of a node's neighbours, most frequent first; -1 counts the unlabelled."""
        if self.graph is None:
            return {"row": row}
        node = int(self.nodes[row])
        around = self.graph.indices[self.graph.indptr[node] : self.graph.indptr[node + 1]]
        classes, counts = np.unique(self.graph.y.numpy()[around], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {"row": row, "around": np.stack([classes, counts], axis=1)[order].tolist()}

    def _first(self, most: int) -> np.ndarray:
        """The rows whose attention is computed: the worst errors, other wrong ones, the scored part, then any."""
        rank = np.full(len(self.nodes), 3)
        rank[self.part == self.scored] = 2
        rank[(self.part == self.scored) & (self.prediction != self.label)] = 1
        rank[self.worst()] = 0
        return np.sort(np.argsort(rank, kind="stable")[:most])

    def _attention(self, trained: TrainedModel, rows: np.ndarray) -> dict[str, Any]:
        """Per row [node, share, share of every heuristic, ...], flat; shares per mille and percent."""
        from ansgt.prediction.focus import focus_of

        names = list(trained.heuristic_probabilities())
        if not names:
            return {}
        found, kinds = {}, {}
        for at in range(0, len(rows), PORTION):
            portion = rows[at : at + PORTION]
            each = trained.attentions(torch.from_numpy(self.nodes[portion]))
            for row, attentions in zip(portion.tolist(), each, strict=True):
                focus = focus_of(attentions, TOP)
                shares = np.concatenate([1000 * focus.share[:, None], 100 * focus.brought], axis=1)
                table = np.concatenate([focus.ids[:, None], shares.round().astype(np.int64)], axis=1)
                found[str(row)] = table.ravel().tolist()
                kinds[str(row)] = [round(100 * share) for share in focus.kinds.values()]
                kind_names = list(focus.kinds)
        return {"heuristics": names, "attention": found, "kinds": kinds, "kindNames": kind_names}

    def _super_nodes(self, trained: TrainedModel) -> dict[str, Any]:
        members = trained.super_nodes()
        return {} if members is None else {"superNode": members[self.nodes].tolist()}
