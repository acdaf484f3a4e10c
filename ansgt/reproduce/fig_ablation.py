"""Figure 4: ANS-GT against HGT, whose mixture of heuristics never changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ansgt.plotting import GREY
from ansgt.reproduce.item import Item, Picture, Shown, accuracy
from ansgt.reproduce.paper import ACCURACY, FIXED, NINE
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_accuracy import QUICK_DATASETS, model_task
from ansgt.reproduce.tables import Entry, Number, Table
from ansgt.reproduce.task import Setup, TrainedTask
from ansgt.runs.statistics import paired_difference

REMARK = (
    "Differences are paired over the same splits; the interval is a t interval, p is of the paired t-test, not "
    "corrected. The paper's text has one of HGT's values (Chameleon); the others are bars without numbers."
)
DARK, LIGHT = "#1d3557", "#9db8d9"


class FigAblation(Item):
    name = "fig-ablation"
    place = "Figure 4"
    title = "Adaptive node sampling (ANS-GT) against a mixture that never changes (HGT)."

    def tasks(self, setup: Setup) -> Sequence[TrainedTask]:
        datasets = QUICK_DATASETS if setup.quick else NINE
        models = ("ansgt", "ansgt-fixed")
        return [model_task(self, setup, model, dataset) for dataset in datasets for model in models]

    def show(self, records: Records, setup: Setup) -> Shown:
        rows: list[list[Entry]] = []
        tasks = list(self.tasks(setup))
        for adaptive, fixed in zip(tasks[::2], tasks[1::2], strict=True):
            name = adaptive.dataset
            pair = (
                accuracy(records, adaptive, ACCURACY["ansgt"][name]),
                accuracy(records, fixed, FIXED.get(name)),
            )
            rows.append([name, *pair, *_gap(*pair)])
        head = ["data set", "ANS-GT", "HGT", "ANS-GT - HGT", "95 % interval", "p"]
        table = Table(f"Accuracy (mean ± std, %). Split: {setup.split}.", head, rows)
        picture = Picture(
            f"{self.title} Test accuracy by data set.", lambda axes: _draw(axes, rows), 6.4, 3.2
        )
        return Shown([table], [REMARK], [picture])


def _gap(adaptive: Number, fixed: Number) -> list[Entry]:
    if adaptive.source is None or fixed.source is None:
        return ["-", "-", "-"]
    one, other = adaptive.source.cell, fixed.source.cell
    if one.split_hashes != other.split_hashes:
        return ["other splits", "-", "-"]
    found = paired_difference(one, other)
    low, high = found.low, found.high
    interval = "-" if low is None or high is None else f"{100 * low:+.2f} ... {100 * high:+.2f}"
    return [f"{100 * found.mean:+.2f}", interval, "-" if found.p is None else f"{found.p:.3f}"]


def _draw(axes: Any, rows: Sequence[Sequence[Entry]]) -> None:
    names = [str(row[0]) for row in rows]
    place = np.arange(len(rows))
    for column, offset, color, label in ((1, -0.2, DARK, "ANS-GT"), (2, 0.2, LIGHT, "HGT")):
        numbers = [row[column] for row in rows]
        values = [n.value if isinstance(n, Number) and n.value is not None else np.nan for n in numbers]
        spreads = [n.spread if isinstance(n, Number) and n.spread is not None else 0.0 for n in numbers]
        axes.bar(place + offset, values, 0.38, color=color, label=label)
        axes.errorbar(place + offset, values, spreads, fmt="none", ecolor=GREY, elinewidth=1, capsize=2)
        for x, value, spread in zip(place + offset, values, spreads, strict=True):
            if np.isfinite(value):
                axes.text(x, value + spread + 0.8, f"{value:.1f}", ha="center", fontsize=6.5)
    axes.set_xticks(place, names, fontsize=7.8)
    axes.set(ylabel="test accuracy (%)", ylim=(0, 108))
    axes.legend(loc="upper right", ncols=2, fontsize=8.5)
