"""What the page says of runs, gathered from their records: tables and charts ready to draw, texts still unescaped.

Runs on the same data stand side by side in a `Group`. What needs the graph itself (the explorer, attention, neighbours of
a wrong node) is left out, with a sentence, where the data are not at hand.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import Any

import numpy as np

from ansgt.report.charts import Chart, interval
from ansgt.report.curves import calibration_chart, training_charts, weights_chart
from ansgt.report.diagnostics import Diagnosis
from ansgt.report.explorer import explorer_data
from ansgt.report.side_by_side import Finished, Options, RunOnPage, read_runs
from ansgt.runs.folder import RunFolder
from ansgt.runs.statistics import Cell, Difference, choose_reference, paired_differences

TABLE_OF_CLASSES = 40
"""Classes up to which confusions are shown as a table."""
WORDS = {"test": "test", "val": "validation"}


@dataclass(frozen=True)
class Row:
    """A row of a table: the colour of its run, its texts, and which of them is the best of its column."""

    color: int
    cells: list[str]
    best: bool = False


@dataclass(frozen=True)
class DifferenceRow:
    """A paired difference, in texts and as an interval on a bar."""

    color: int
    name: str
    text: str
    p: str
    at: list[float | None]
    verdict: str


@dataclass(frozen=True)
class ConfusionCell:
    """Nodes of one class that were given another: their number, and their share of the row in tenths."""

    count: int
    level: int
    right: bool


@dataclass(frozen=True)
class Classes:
    """Confusions and scores per class of a run; `confusion` is empty where there are too many classes."""

    name: str
    color: int
    names: list[str]
    confusion: list[list[ConfusionCell]]
    rows: list[list[str]]
    never: list[str]


@dataclass(frozen=True)
class Group:
    """Runs on the same data.

    Args:
        title: of the data set.
        facts: name and value, for the head.
        part: which part is scored, in words.
        reason: why it is not the test part; "" where it is.
        heads, rows: the table of runs.
        split_heads, splits: the table of splits.
        reference: the name of the run that others are compared with.
        differences: against it.
        unequal: a sentence where the runs' splits are not the same; else "".
        curves: loss and validation accuracy over epochs.
        weights: a chart of the sampling weights per run that has them.
        classes: confusions and scores per run.
        calibration: confidence against accuracy.
        settings: name and JSON text of every run.
    """

    title: str
    facts: list[tuple[str, str]]
    part: str
    reason: str
    heads: list[str]
    rows: list[Row]
    split_heads: list[str]
    splits: list[list[str]]
    reference: str
    differences: list[DifferenceRow]
    unequal: str
    curves: list[Chart]
    weights: list[Chart]
    classes: list[Classes]
    calibration: Chart | None
    settings: list[tuple[str, str]]


@dataclass(frozen=True)
class Content:
    """The whole page.

    Args:
        title: of the page.
        groups: runs by data set.
        unfinished: folders without a finished split.
        data: what the tables of nodes and the explorer read, for JSON.
    """

    title: str
    groups: list[Group]
    unfinished: list[str]
    data: dict[str, Any]

    @property
    def has_explorer(self) -> bool:
        return any("x" in graph for graph in self.data["graphs"])


def gather(folders: Sequence[RunFolder], options: Options = Options()) -> Content:
    """Reads the records, and the graphs where `options.root` has them."""
    done = [folder for folder in folders if folder.results()]
    groups = read_runs(done, options)
    shown = [_group(runs) for runs in groups]
    return Content(
        title=" · ".join(dict.fromkeys(group.title for group in shown)) or "no finished run",
        groups=shown,
        unfinished=[str(folder.path) for folder in folders if folder not in done],
        data=explorer_data(groups, options),
    )


def _group(runs: list[RunOnPage]) -> Group:
    info = runs[0].info
    part = "test" if all(run.has_test for run in runs) else "val"
    diagnoses = [run.diagnosis(part) for run in runs]
    differences, reference, unequal = _differences(runs, part)
    counts = ("num_nodes", "num_edges", "num_classes", "num_features")
    names = list(dict.fromkeys(str(run.settings["split"]) for run in runs))
    return Group(
        title=str(info["dataset"]),
        facts=[
            ("variant", str(info["variant"])),
            *(
                (name.removeprefix("num_"), f"{info[name]:,}")
                for name in counts
                if isinstance(info.get(name), int)
            ),
            ("split", ", ".join(names)),
        ],
        part=WORDS[part],
        reason=""
        if part == "test"
        else "There is no test part: what is shown is measured on validation, which also chose the kept epoch.",
        heads=_heads(part),
        rows=_rows(runs, diagnoses, part),
        split_heads=["split", *(run.name for run in runs)],
        splits=_splits(runs, part),
        reference=reference,
        differences=differences,
        unequal=unequal,
        curves=training_charts(runs),
        weights=[chart for run in runs if (chart := weights_chart(run)) is not None],
        classes=[
            _classes(run, found) for run, found in zip(runs, diagnoses, strict=True) if found is not None
        ],
        calibration=calibration_chart(runs, diagnoses, WORDS[part]),
        settings=[
            (
                f"{run.name} ({run.folder.path})",
                json.dumps({"config": run.settings, "data": run.info}, indent=1),
            )
            for run in runs
        ],
    )


def _heads(part: str) -> list[str]:
    other = ["validation"] if part == "test" else []
    return [
        "run",
        f"{WORDS[part]} accuracy",
        "constant guess",
        *other,
        "macro F1",
        "calibration error",
        "kept epoch",
        "seconds",
        "parameters",
    ]


def _rows(runs: list[RunOnPage], diagnoses: Sequence[Diagnosis | None], part: str) -> list[Row]:
    means = [fmean(run.accuracies(part)) for run in runs]
    return [
        Row(run.color, _cells(run, diagnosis, part), best=len(runs) > 1 and mean == max(means))
        for run, diagnosis, mean in zip(runs, diagnoses, means, strict=True)
    ]


def _cells(run: RunOnPage, diagnosis: Diagnosis | None, part: str) -> list[str]:
    results = [split.result for split in run.splits]
    guess = [r["majority_share"] for r in results] if part == "test" else [_majority(s) for s in run.splits]
    kept = [epoch for split in run.splits for epoch in split.kept_epochs]
    return [
        run.name,
        _mean_std(run.accuracies(part)),
        f"{100 * fmean(guess):.1f} %",
        *([_mean_std(run.accuracies("val"))] if part == "test" else []),
        "" if diagnosis is None else f"{100 * diagnosis.macro_f1:.1f} %",
        "" if diagnosis is None else f"{100 * diagnosis.calibration_error:.1f} %",
        str(kept[0]) if len(kept) == 1 else f"{median_low(kept)} ({min(kept)}–{max(kept)})",
        f"{sum(float(r['seconds']) for r in results):,.1f}",
        f"{int(results[0]['num_parameters']):,}",
    ]


def _majority(split: Finished) -> float:
    _, label = split.scored("val")
    return float(np.bincount(label).max() / len(label)) if len(label) else math.nan


def _splits(runs: list[RunOnPage], part: str) -> list[list[str]]:
    """Accuracy by split and run; a split is known by its hash."""
    at: dict[tuple[int, str], dict[int, str]] = {}
    for run in runs:
        for split, accuracy in zip(run.splits, run.accuracies(part), strict=True):
            key = split.index, str(split.result["split_hash"])[:8]
            at.setdefault(key, {})[run.color] = f"{100 * accuracy:.2f}"
    return [
        [f"{index} · {digest}", *(cells.get(run.color, "–") for run in runs)]
        for (index, digest), cells in sorted(at.items())
    ]


def _differences(runs: list[RunOnPage], part: str) -> tuple[list[DifferenceRow], str, str]:
    """Paired over the splits that all runs have; the reference; a sentence where there is none."""
    if len(runs) < 2:
        return [], "", ""
    hashes = [{str(split.result["split_hash"]) for split in run.splits} for run in runs]
    common = set.intersection(*hashes)
    if not common:
        return [], "", "These runs share no split: their accuracies cannot be compared."
    cells = [_cell(run, common, part) for run in runs]
    reference = choose_reference(cells)
    found = {d.model: d for d in paired_differences(cells, reference)}
    most = max([abs(v) for d in found.values() for v in (d.mean, d.low, d.high) if v is not None] or [0.01])
    rows = [_difference_row(run, found[run.name], most) for run in runs if run.name in found]
    left_out = max(len(each) for each in hashes) - len(common)
    unequal = f"Compared on the {len(common)} splits that all runs share." if left_out else ""
    return rows, reference, unequal


def _cell(run: RunOnPage, common: set[str], part: str) -> Cell:
    pairs = sorted(
        (str(split.result["split_hash"]), accuracy)
        for split, accuracy in zip(run.splits, run.accuracies(part), strict=True)
        if split.result["split_hash"] in common
    )
    values = tuple(accuracy for _, accuracy in pairs)
    return Cell(
        run.name, "data", per_split=values, mean=fmean(values), split_hashes=tuple(h for h, _ in pairs)
    )


def _difference_row(run: RunOnPage, d: Difference, most: float) -> DifferenceRow:
    around = "" if d.low is None or d.high is None else f" [{100 * d.low:+.2f}, {100 * d.high:+.2f}]"
    sure = d.p_holm is not None and d.p_holm < 0.05
    verdict = (
        "one split: no interval"
        if d.p_holm is None
        else ""
        if not sure
        else "worse"
        if d.mean < 0
        else "better"
    )
    return DifferenceRow(
        run.color,
        run.name,
        f"{100 * d.mean:+.2f}{around}",
        "–" if d.p_holm is None else f"{d.p_holm:.3g}",
        interval([d.low, d.mean, d.high], most),
        verdict if verdict or d.p_holm is None else "not told apart",
    )


def _classes(run: RunOnPage, diagnosis: Diagnosis) -> Classes:
    names = run.class_names
    fits = len(names) <= TABLE_OF_CLASSES
    return Classes(
        run.name,
        run.color,
        names,
        [_confusion_row(row, c) for c, row in enumerate(diagnosis.confusion)] if fits else [],
        [
            [names[c], str(row.support), *map(_percent, (row.precision, row.recall, row.f1))]
            for c, row in enumerate(diagnosis.classes)
        ],
        [names[c] for c in diagnosis.never_predicted],
    )


def _confusion_row(counts: np.ndarray, own: int) -> list[ConfusionCell]:
    total = max(int(counts.sum()), 1)
    return [
        ConfusionCell(int(count), math.ceil(10 * count / total - 1e-9), c == own)
        for c, count in enumerate(counts)
    ]


def _mean_std(values: list[float]) -> str:
    if len(values) == 1:
        return f"{100 * values[0]:.2f} %"
    return f"{100 * fmean(values):.2f} ± {100 * float(np.std(values)):.2f} %"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
