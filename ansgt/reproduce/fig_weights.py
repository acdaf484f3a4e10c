"""Figure 3: the heuristics' probabilities over the epochs of training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ansgt.plotting import COLORS, DASHES, GREY, direct_labels
from ansgt.reproduce.item import Item, Picture, Shown
from ansgt.reproduce.records import Record, Records
from ansgt.reproduce.tables import Entry, Number, Table
from ansgt.reproduce.task import Setup, TrainedTask, preset_factor, training_seconds

DATASETS = ("cora", "citeseer", "actor", "squirrel")
REMARK = (
    "p_k after every update of the bandit, mean over the splits; the band is from the lowest to the highest "
    "split. Training "
    "goes on to the last epoch here, one model per split. The paper's figure has no numbers in its source. Nothing in "
    "p_k says that a heuristic is *right*: it is paid by attention, never by accuracy."
)


class FigWeights(Item):
    name = "fig-weights"
    place = "Figure 3"
    title = "Probabilities of the sampling heuristics over epochs."

    def tasks(self, setup: Setup) -> Sequence[TrainedTask]:
        return [self._task(setup, name) for name in (("cora",) if setup.quick else DATASETS)]

    def _task(self, setup: Setup, dataset: str) -> TrainedTask:
        overrides: dict[str, Any] = {"train.num_models": 1, "train.patience": None}
        if setup.quick:
            overrides["train.epochs"] = 40
        factor = preset_factor(setup.preset, setup.quick)
        return TrainedTask(
            path=self.path(setup, f"{dataset}--{setup.split}"),
            seconds=training_seconds(dataset, setup.splits(), factor=factor),
            model="ansgt",
            dataset=dataset,
            split=setup.split,
            num_splits=setup.splits(),
            overrides=overrides,
            preset=setup.preset,
            history=True,
        )

    def show(self, records: Records, setup: Setup) -> Shown:
        found = {task.dataset: records.get(task.path, task.seconds) for task in self.tasks(setup)}
        drawn = {name: record for name, record in found.items() if record is not None}
        heuristics = list(
            dict.fromkeys(name for record in drawn.values() for name in record.content["heuristics"])
        )
        rows: list[list[Entry]] = []
        for task in self.tasks(setup):
            record = found[task.dataset]
            if record is None:
                rows.append([task.dataset, Number(None, record=f"{task.path}.json")])
                continue
            rows.append([task.dataset, *_ends(record)])
        head = ["data set", *heuristics] if heuristics else ["data set", "p"]
        rows = [[*row, *["-"] * (len(head) - len(row))] for row in rows]
        table = Table(
            f"Probabilities after the last update (mean ± std over splits, %). Split: {setup.split}.",
            head,
            rows,
        )
        picture = Picture(self.title, lambda axes: _draw(np.atleast_1d(axes), drawn), 7.6, 2.5, len(drawn))
        return Shown(
            [table],
            [REMARK, *(course(name, record) for name, record in drawn.items())],
            [picture] if drawn else [],
        )


def _ends(record: Record) -> list[Number]:
    ends = 100 * curves(record)[:, -1]
    return [
        Number(column.mean(), column.std(), record=record.path, source=record, count=len(column))
        for column in ends.T
    ]


def curves(record: Record) -> np.ndarray:
    """Probabilities [splits, updates + 1, K]; before the first update all are equal."""
    rows = [np.array(row["history"], dtype=float)[:, 1:] for row in record.content["splits"]]
    length = min(map(len, rows))
    start = np.full((1, rows[0].shape[1]), 1 / rows[0].shape[1])
    return np.stack([np.concatenate([start, row[:length]]) for row in rows])


def epochs(record: Record) -> np.ndarray:
    """Epochs of the points of a curve."""
    rows = [[0, *(update[0] for update in row["history"])] for row in record.content["splits"]]
    return np.array(min(rows, key=len))


def course(name: str, record: Record) -> str:
    """How the curves of a data set go, in words."""
    mean = curves(record).mean(axis=0)
    heuristics = record.content["heuristics"]
    top = heuristics[int(mean[-1].argmax())]
    at = mean.argmax(axis=0)
    peaks = ", ".join(
        f"{one} is highest at epoch {epochs(record)[where]} ({100 * mean[where, k]:.0f} %)"
        for k, (one, where) in enumerate(zip(heuristics, at, strict=True))
    )
    return f"{name}: {top} ends highest; {peaks}."


def _draw(axes: Any, drawn: Mapping[str, Record]) -> None:
    for axis, (name, record) in zip(axes, drawn.items(), strict=True):
        values, x = 100 * curves(record), epochs(record)
        ends = {}
        for k, heuristic in enumerate(record.content["heuristics"]):
            color = COLORS.get(heuristic, GREY)
            axis.fill_between(
                x,
                values[..., k].min(axis=0),
                values[..., k].max(axis=0),
                color=color,
                alpha=0.18,
                linewidth=0,
            )
            dashes = DASHES.get(heuristic, "-")
            axis.plot(x, values[..., k].mean(axis=0), color=color, linestyle=dashes, linewidth=1.6)
            ends[heuristic] = (float(values[:, -1, k].mean()), color)
        axis.set(xlim=(0, x[-1]), ylim=(0, 100))
        axis.set_title(name, fontsize=9.5)
        axis.set_xlabel("epoch", fontsize=8.5)
        axis.tick_params(labelsize=8)
        direct_labels(axis, float(x[-1]), ends)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    axes[0].set_ylabel("p_k (%)", fontsize=8.5)
