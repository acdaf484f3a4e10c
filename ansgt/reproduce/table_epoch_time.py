"""Table 6: seconds per epoch of training of three graph transformers of one size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import torch

from ansgt.bench.measure import timed
from ansgt.config import RunConfig, shipped_file
from ansgt.graph import Split
from ansgt.reproduce.item import Item, Shown, measured
from ansgt.reproduce.paper import EPOCH_SECONDS, PRINTED, SIX
from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.task import PAPER_FILE, Clock, Setup, Task, clocked, one_thread
from ansgt.runs.prepare import prepare_run
from ansgt.runs.seeds import draw_seed, owned_randomness, seed_building
from ansgt.training import Learner, build_learner

BATCH, CPU_STEPS, REPEATS = 32, 2, 3
LONG = 15.0
"""Seconds of a first call that is not repeated: what compiling adds to it is small beside them."""
SIZES: dict[str, dict[str, Any]] = {
    "graphormer": {"hidden_channels": 128, "num_layers": 5, "heads": 8},
    "gophormer": {
        "hidden_channels": 128,
        "num_layers": 5,
        "num_heads": 8,
        "num_samples": 16,
        "num_votes": 16,
        "max_nodes": 20,
        "num_global": 2,
        "num_proximity": 10,
        "batch_size": BATCH,
    },
    "ansgt": {"batch_size": BATCH},
}
"""All of section 6.1's size: 5 layers of 128, 8 heads, 16 sequences of 20 nodes."""
REMARK = (
    "One pass over all training centres, the median of {repeats} after one that does not count (the first alone "
    "where it takes more than {long:g} s); no validation, no update of the bandit (table-sampling-time has that). On a "
    "CPU they are CPU seconds of one thread, and {steps} steps of {batch} centres are measured and multiplied by the "
    "number of steps of an epoch; on a GPU whole epochs by the wall. Graphormer attends to all nodes: its epoch is "
    "one step over the whole "
    "graph. The paper's are of one V100."
)


@dataclass(frozen=True)
class PassTask(Task):
    """Seconds of an epoch of one model on one data set."""

    model: str
    dataset: str

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {"model": self.model, "dataset": self.dataset, "device": setup.device}

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        with one_thread():
            learner, facts = timed_learner(setup, self.model, self.dataset, CPU_STEPS * BATCH)
            epochs = count()
            clocks = repeated(lambda: learner.train_epoch(next(epochs)), setup.device)
        whole = facts["num_train"] / facts["num_measured"] if self.model != "graphormer" else 1.0
        return {
            **facts,
            "values": {"epoch_s": whole * median(clock.cpu for clock in clocks)},
            "wall_seconds": {"epoch_s": whole * median(clock.wall for clock in clocks)},
            "repeats": len(clocks),
            "threads": 1,
        }


def repeated(work: Callable[[], Any], device: str) -> list[Clock]:
    """Clocks of some calls after one that does not count; of that one alone where it took long."""
    first = clock_of(work, device)
    return [first] if first.cpu > LONG else [clock_of(work, device) for _ in range(REPEATS)]


def clock_of(work: Callable[[], Any], device: str) -> Clock:
    """Seconds of a call; on a GPU, whose work the processor's clock does not see, both are those of the wall."""
    if device == "cpu":
        with clocked() as clock:
            work()
        return clock
    seconds, _ = timed(work, device)
    return Clock(seconds, seconds)


def timed_learner(setup: Setup, model: str, dataset: str, most: int) -> tuple[Learner, dict[str, Any]]:
    """A learner of section 6.1's size on the centres that are measured, and what a record says of it.

    Args:
        most: centres that are measured on a CPU; on a GPU all are.
    """
    data, config = prepare_run(
        dataset,
        model,
        source=setup.source,
        config=shipped_file(PAPER_FILE) if model == "ansgt" else None,
        overrides=SIZES[model],
        split=setup.split,
        device=setup.device,
    )
    split = data.split(config.split, 0, config.seed)
    part = measured_part(split, len(split.train) if setup.device != "cpu" else most, config)
    with owned_randomness(config.device):
        seed_building(config.seed, 0)
        learner = build_learner(config, data.graph, part, draw_seed(config.seed, 0), setup.cache)
    facts = {"dataset": dataset, "data_variant": data.variant, "model": model, "split": config.split}
    return learner, {**facts, "num_train": len(split.train), "num_measured": len(part.train)}


def measured_part(split: Split, most: int, config: RunConfig) -> Split:
    """The split with at most so many training centres, drawn from all of them."""
    chosen = torch.randperm(len(split.train), generator=torch.Generator().manual_seed(config.seed))[:most]
    return replace(split, train=split.train[chosen.sort().values])


def machine_tasks(item: Item, setup: Setup, record: str) -> str:
    """Path of a record of one kind of machine: times of a CPU and of a GPU stand beside each other."""
    return item.path(setup, f"{setup.device.split(':')[0]}--{record}")


class TableEpochTime(Item):
    name = "table-epoch-time"
    place = "Table 6"
    title = "Seconds per epoch of training."
    has_presets = False
    alone = True

    def tasks(self, setup: Setup) -> Sequence[PassTask]:
        datasets = ("cora",) if setup.quick else SIX
        return [self._task(setup, model, name) for model in EPOCH_SECONDS for name in datasets]

    def _task(self, setup: Setup, model: str, dataset: str) -> PassTask:
        path = machine_tasks(self, setup, f"{dataset}--{model}")
        seconds = 60.0 if dataset != "pubmed" else 1500.0 if model == "graphormer" else 120.0
        return PassTask(path, seconds, model, dataset)

    def show(self, records: Records, setup: Setup) -> Shown:
        tables = [
            self._table(records, replace(setup, device=device)) for device in devices(self, records, setup)
        ]
        return Shown(tables, [REMARK.format(repeats=REPEATS, steps=CPU_STEPS, batch=BATCH, long=LONG)])

    def _table(self, records: Records, setup: Setup) -> Table:
        rows: dict[str, list[Entry]] = {}
        for task in self.tasks(setup):
            number = measured(records, task, "epoch_s", EPOCH_SECONDS[task.model][task.dataset])
            rows.setdefault(task.model, [PRINTED[task.model]]).append(number)
        datasets = list(dict.fromkeys(task.dataset for task in self.tasks(setup)))
        title = f"{self.title} On {machine_of(records, self.tasks(setup), setup)}."
        return Table(title, ["model", *datasets], list(rows.values()), "s", 3)


def devices(item: Item, records: Records, setup: Setup) -> list[str]:
    """The kinds of machine that there are records of, else the one that is asked for."""
    kinds = ("cuda", "cpu")
    found = [
        kind
        for kind in kinds
        if any(records.has(task.path) for task in item.tasks(replace(setup, device=kind)))
    ]
    return found or [setup.device]


def machine_of(records: Records, tasks: Sequence[Task], setup: Setup) -> str:
    """Hardware in words, of the first record that is there."""
    for task in tasks:
        found = records.find(task.path)
        if found is not None:
            return f"{found.machine}, CPU seconds of one thread" if setup.device == "cpu" else found.machine
    return setup.device
