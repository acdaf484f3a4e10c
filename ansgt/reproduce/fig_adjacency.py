"""Figure 5: adjacency matrices of Newman networks with strong homophily, randomness and strong heterophily."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.datasets import load
from ansgt.reproduce.item import Item, Picture, Shown, measured
from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.task import Setup, Task, clocked

WORDS = (
    "Adjacency matrices of three Newman networks, nodes sorted by class: blocks on the diagonal, noise, and "
    "blocks off it."
)
HOMOPHILIES = (0.75, 0.25, 0.05)


@dataclass(frozen=True)
class NetworkTask(Task):
    """The edges of one network, and how many of them join nodes of one class."""

    homophily: float

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {"homophily": self.homophily, "seed": 0}

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        with clocked() as clock:
            graph = load(f"newman-{self.homophily}", seed=0).graph
        row, column = graph.edge_index.numpy()
        upper = row < column
        return {
            "values": {
                "asked": self.homophily,
                "edge_homophily": graph.edge_homophily(),
                "num_edges": graph.num_edges,
                "mean_degree": 2 * graph.num_edges / graph.num_nodes,
            },
            "num_nodes": graph.num_nodes,
            "edges": [row[upper].tolist(), column[upper].tolist()],
            "cpu_seconds": clock.cpu,
        }


class FigAdjacency(Item):
    name = "fig-adjacency"
    place = "Figure 5"
    title = "Adjacency matrices of Newman networks."
    has_presets = False

    def tasks(self, setup: Setup) -> Sequence[NetworkTask]:
        return [NetworkTask(self.path(setup, f"{alpha}"), 1.0, alpha) for alpha in HOMOPHILIES]

    def show(self, records: Records, setup: Setup) -> Shown:
        tasks = self.tasks(setup)
        rows: list[list[Entry]] = [
            [
                f"α = {task.homophily}",
                measured(records, task, "edge_homophily", task.homophily),
                measured(records, task, "num_edges"),
                measured(records, task, "mean_degree", 16.0),
            ]
            for task in tasks
        ]
        head = ["network", "homophily", "edges", "mean degree"]
        found = {task.homophily: records.find(task.path) for task in tasks}
        drawn = [(alpha, record.content) for alpha, record in found.items() if record]
        picture = Picture(WORDS, lambda axes: _draw(np.atleast_1d(axes), drawn), 6.6, 2.5, len(drawn))
        return Shown([Table(self.title, head, rows, "", 2)], pictures=[picture] if drawn else [])


def _draw(axes: np.ndarray, drawn: Sequence[tuple[float, dict[str, Any]]]) -> None:
    for axis, (alpha, content) in zip(axes, drawn, strict=True):
        n = content["num_nodes"]
        row, column = np.array(content["edges"])
        dense = np.zeros((n, n))
        dense[row, column] = dense[column, row] = 1.0
        axis.imshow(1 - dense, cmap="gray", interpolation="nearest", extent=(0, n, n, 0))
        for edge in range(n // 4, n, n // 4):
            axis.axhline(edge, color="#d98b2b", linewidth=0.7)
            axis.axvline(edge, color="#d98b2b", linewidth=0.7)
        axis.set_title(f"α = {alpha}", fontsize=9)
        axis.set_xticks([0, n // 2, n])
        axis.set_yticks([0, n // 2, n] if axis is axes[0] else [])
        axis.tick_params(labelsize=7.5)
    axes[0].set_ylabel("node, sorted by class", fontsize=8.5)
