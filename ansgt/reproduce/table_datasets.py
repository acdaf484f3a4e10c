"""Table 3: statistics of the data sets, and where they differ from what is printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansgt.reproduce.item import Item, Shown, measured
from ansgt.reproduce.paper import NINE, STATISTICS
from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.task import Setup, Task, clocked

COUNTS = ("num_nodes", "num_edges", "num_classes", "num_features")
SHARES = ("edge_homophily", "edge_homophily_with_loops", "node_homophily")
EXPLAINED = (
    "Edges are undirected, without loops and duplicates. Wisconsin's 499 is its number of directed edges. "
    "Citeseer's 4,522 is not reproduced from the published files.",
    "The paper defines homophily as the share of edges within a class, but prints the mean share over nodes for "
    "Cora, Citeseer and Pubmed, and the share of edges with loops kept for Texas, Cornell and Wisconsin; it is shown "
    "beside that of the three which is nearest to it.",
)


@dataclass(frozen=True)
class CountTask(Task):
    """Counts and homophily of one data set."""

    dataset: str

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {"dataset": self.dataset}

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        with clocked() as clock:
            dataset = setup.source.load(self.dataset)
            graph = dataset.graph
            values = {name: getattr(graph, name) for name in COUNTS}
            shares = (graph.edge_homophily(), graph.edge_homophily(keep_loops=True), graph.node_homophily())
            values |= {name: round(float(share), 4) for name, share in zip(SHARES, shares, strict=True)}
        return {
            "dataset": self.dataset,
            "data_variant": dataset.variant,
            "data_hash": graph.content_hash,
            "values": values,
            "cpu_seconds": clock.cpu,
        }


class TableDatasets(Item):
    name = "table-datasets"
    place = "Table 3"
    title = "Statistics of the data sets."
    has_presets = False

    def tasks(self, setup: Setup) -> Sequence[CountTask]:
        return [CountTask(self.path(setup, name), 5.0, name) for name in NINE]

    def show(self, records: Records, setup: Setup) -> Shown:
        counts: list[list[Entry]] = []
        shares: list[list[Entry]] = []
        for task in self.tasks(setup):
            printed = STATISTICS[task.dataset]
            counts.append(
                [
                    task.dataset,
                    *(measured(records, task, key, printed[at]) for at, key in enumerate(COUNTS)),
                ]
            )
            found = records.find(task.path)
            values = found.content["values"] if found else {}
            near = min(values.keys() & set(SHARES), key=lambda key: abs(values[key] - printed[4]), default="")
            shares.append(
                [
                    task.dataset,
                    *(measured(records, task, key, printed[4] if key == near else None) for key in SHARES),
                ]
            )
        heads = ["edge homophily", "with loops kept", "node homophily"]
        return Shown(
            [
                Table(self.title, ["data set", "nodes", "edges", "classes", "features"], counts, "", 0),
                Table("Homophily, three ways to count it.", ["data set", *heads], shares, "", 2),
            ],
            EXPLAINED,
        )
