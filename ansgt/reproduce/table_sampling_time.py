"""Table 5: seconds that adaptive sampling takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from ansgt.reproduce.item import Item, Shown, measured
from ansgt.reproduce.paper import SAMPLING_SECONDS, SIX
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_epoch_time import (
    REPEATS,
    devices,
    machine_of,
    machine_tasks,
    repeated,
    timed_learner,
)
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.task import Setup, Task, one_thread
from ansgt.training.adaptive import AdaptiveLearner

CPU_CENTRES = 128
REMARK = (
    "One update of the bandit: significance of the training centres' nodes, rewards, weights, and new "
    "sequences for all of them; "
    "the median of {repeats} after one that does not count. On a CPU they are CPU seconds of "
    "one thread, and {centres} centres are measured and multiplied. "
    "The paper's are called per epoch and are of one V100; with T = 100 an epoch bears a hundredth of an update: the "
    "second row."
)


@dataclass(frozen=True)
class UpdateTask(Task):
    """Seconds of an update on one data set, with the sizes of section 6.1."""

    dataset: str

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {"dataset": self.dataset, "device": setup.device}

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        with one_thread():
            learner, facts = timed_learner(setup, "ansgt", self.dataset, CPU_CENTRES)
            assert isinstance(learner, AdaptiveLearner)
            clocks = repeated(partial(update_once, learner), setup.device)
        whole, period = facts["num_train"] / facts["num_measured"], learner.settings.update_period
        seconds = whole * median(clock.cpu for clock in clocks)
        return {
            **facts,
            "values": {"update_s": seconds, "per_epoch_s": seconds / period},
            "wall_seconds": {"update_s": whole * median(clock.wall for clock in clocks)},
            "repeats": len(clocks),
            "threads": 1,
        }


def update_once(learner: AdaptiveLearner) -> None:
    """An update of the weights and the sequences that are drawn by them."""
    learner._update(0)
    learner._resample()


class TableSamplingTime(Item):
    name = "table-sampling-time"
    place = "Table 5"
    title = "Seconds of adaptive node sampling."
    has_presets = False
    alone = True

    def tasks(self, setup: Setup) -> Sequence[UpdateTask]:
        datasets = ("cora",) if setup.quick else SIX
        return [
            UpdateTask(machine_tasks(self, setup, name), 120.0 if name == "pubmed" else 25.0, name)
            for name in datasets
        ]

    def show(self, records: Records, setup: Setup) -> Shown:
        tables = [self._table(records, replace(setup, device=kind)) for kind in devices(self, records, setup)]
        return Shown(tables, [REMARK.format(repeats=REPEATS, centres=CPU_CENTRES)])

    def _table(self, records: Records, setup: Setup) -> Table:
        tasks = self.tasks(setup)
        rows: list[list[Entry]] = [
            [
                "per update",
                *(measured(records, task, "update_s", SAMPLING_SECONDS[task.dataset]) for task in tasks),
            ],
            ["per epoch, T = 100", *(measured(records, task, "per_epoch_s") for task in tasks)],
        ]
        title = f"{self.title} On {machine_of(records, tasks, setup)}."
        return Table(title, ["", *(task.dataset for task in tasks)], rows, "s", 3)
