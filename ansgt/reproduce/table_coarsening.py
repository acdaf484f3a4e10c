"""Table 2: accuracy of ANS-GT by coarsening method and rate."""

from collections.abc import Sequence
from typing import Any

from ansgt.reproduce.item import Item, Shown, accuracy
from ansgt.reproduce.paper import COARSENERS, COARSENING, RATES
from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Entry, Table, with_best
from ansgt.reproduce.task import Setup, TrainedTask, preset_factor, training_seconds

HIERARCHY: dict[str, Any] = {
    "num_supernodes": 3,
    "num_global": 2,
    "num_inference": None,
    "train.num_models": 1,
}
"""On top of the shipped settings, some of which have no super-nodes and several models per split."""
QUICK_EPOCHS = 20


def hierarchy_task(item: Item, setup: Setup, dataset: str, name: str, **changes: Any) -> TrainedTask:
    """ANS-GT with super-nodes and global nodes, one model per split, and some settings changed.

    Args:
        name: of the record, beside the data set's.
    """
    overrides = {**(HIERARCHY if setup.preset == "shipped" else {}), **changes}
    if setup.quick:
        overrides["train.epochs"] = QUICK_EPOCHS
    factor = preset_factor(setup.preset, setup.quick)
    return TrainedTask(
        path=item.path(setup, f"{dataset}--{name}--{setup.split}"),
        seconds=training_seconds(dataset, setup.splits(), factor=factor),
        model="ansgt",
        dataset=dataset,
        split=setup.split,
        num_splits=setup.splits(),
        overrides=overrides,
        preset=setup.preset,
    )


class TableCoarsening(Item):
    name = "table-coarsening"
    place = "Table 2"
    title = "Accuracy of ANS-GT by coarsening method and rate c (mean ± std, %)."

    def tasks(self, setup: Setup) -> Sequence[TrainedTask]:
        tasks = [self.task(setup, *cell) for cell in self.cells(setup)]
        return list({task.path: task for task in tasks}.values())

    def cells(self, setup: Setup) -> list[tuple[str, str, float]]:
        """Data set, coarsener and rate of every cell."""
        datasets = ("cora",) if setup.quick else ("cora", "actor")
        rates = (0.01, 0.10, 0.50) if setup.quick else RATES
        return [(dataset, method, rate) for dataset in datasets for method in COARSENERS for rate in rates]

    def task(self, setup: Setup, dataset: str, method: str, rate: float) -> TrainedTask:
        """Of one cell. At rate 1 no method contracts anything: one record is that of all three."""
        method = method if rate < 1 else COARSENERS[0]
        changes = {"coarsening_method": method, "coarsening_rate": rate}
        return hierarchy_task(self, setup, dataset, f"{method}-{rate:g}", **changes)

    def show(self, records: Records, setup: Setup) -> Shown:
        rows: dict[tuple[str, str], list[Entry]] = {}
        for dataset, method, rate in self.cells(setup):
            number = accuracy(
                records, self.task(setup, dataset, method, rate), COARSENING[dataset, method, rate]
            )
            rows.setdefault((dataset, method), [dataset, method.upper()]).append(number)
        rates = list(dict.fromkeys(rate for _, _, rate in self.cells(setup)))
        head = ["data set", "method", *(f"c = {rate:g}" for rate in rates)]
        best = [
            row
            for dataset in dict.fromkeys(name for name, _ in rows)
            for row in with_best([row for (name, _), row in rows.items() if name == dataset])
        ]
        remark = (
            "At c = 1 the coarse graph is the graph itself whatever the method: one record stands in three rows. Ours: "
            "the shipped settings with 3 super-nodes, 2 global nodes and one model per split; the best "
            "method of each rate "
            "and data set is bold, as in the paper."
        )
        return Shown([Table(f"{self.title} Split: {setup.split}.", head, best)], [remark])
