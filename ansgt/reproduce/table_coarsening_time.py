"""Table 4: seconds that the coarseners take."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansgt.coarsening import resolve, warm_up
from ansgt.coarsening.multilevel import forget
from ansgt.reproduce.item import Item, Shown, measured
from ansgt.reproduce.paper import COARSENERS, COARSENING_SECONDS, TIMED_RATES
from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.task import Setup, Task, clocked, one_thread

REPEATS = 3


@dataclass(frozen=True)
class CoarsenTask(Task):
    """Seconds of one coarsener on one data set, at all rates."""

    dataset: str
    method: str
    rates: tuple[float, ...]

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {"dataset": self.dataset, "method": self.method, "rates": list(self.rates)}

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        graph = setup.source.load(self.dataset).graph
        values, walls, reached = {}, {}, {}
        with one_thread():
            for rate in self.rates:
                coarsener = resolve(self.method, rate=rate)
                warm_up(coarsener)
                best = (float("inf"), float("inf"))
                for _ in range(REPEATS):
                    forget(graph)  # the eigenvectors that an earlier call left
                    with clocked() as clock:
                        coarse = coarsener.fit(graph)
                    best = min(best, (clock.cpu, clock.wall))
                values[f"{rate}"], walls[f"{rate}"] = best
                reached[f"{rate}"] = coarse.num_supernodes
        return {
            "dataset": self.dataset,
            "values": values,
            "wall_seconds": walls,
            "num_supernodes": reached,
            "threads": 1,
            "repeats": REPEATS,
            "cpu_seconds": sum(values.values()),
        }


class TableCoarseningTime(Item):
    name = "table-coarsening-time"
    place = "Table 4"
    title = "Seconds of graph coarsening by rate c."
    has_presets = False
    alone = True

    def tasks(self, setup: Setup) -> Sequence[CoarsenTask]:
        datasets = ("cora",) if setup.quick else ("cora", "actor")
        rates = TIMED_RATES[1:2] if setup.quick else TIMED_RATES
        return [
            CoarsenTask(self.path(setup, f"{dataset}--{method}"), 12.0, dataset, method, rates)
            for dataset in datasets
            for method in COARSENERS
        ]

    def show(self, records: Records, setup: Setup) -> Shown:
        rows: list[list[Entry]] = []
        for task in self.tasks(setup):
            numbers = [
                measured(records, task, f"{rate}", COARSENING_SECONDS[task.dataset, task.method, rate])
                for rate in task.rates
            ]
            rows.append([f"{task.dataset} {task.method}", *numbers])
        head = ["data set, method", *(f"c = {rate:g}" for rate in self.tasks(setup)[0].rates)]
        remark = (
            f"CPU seconds of one thread, the fastest of {REPEATS} runs, compilation apart; the eigenvectors are "
            "computed anew each time. The paper names no CPU."
        )
        return Shown([Table(self.title, head, rows, "s", 2)], [remark])
