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

from ansgt.plotting import COLORS
from ansgt.report.charts import Axes, Chart, Line, Mark, interval, line_chart
from ansgt.report.diagnostics import Diagnosis
from ansgt.report.explorer import explorer_data
from ansgt.report.side_by_side import Finished, Options, RunOnPage, is_number, read_runs
from ansgt.runs.folder import RunFolder, by_model
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
        curves=_curves(runs),
        weights=[chart for run in runs if (chart := _weights(run)) is not None],
        classes=[
            _classes(run, found) for run, found in zip(runs, diagnoses, strict=True) if found is not None
        ],
        calibration=_calibration(runs, diagnoses, WORDS[part]),
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


def _curves(runs: list[RunOnPage]) -> list[Chart]:
    """Loss and validation accuracy of every model of every split, thin, in the run's colour; the kept epoch as a dot."""
    loss, accuracy, marks = [], [], []
    for run in runs:
        for split in run.splits:
            for rows, kept in zip(by_model(split.folder.metrics()), split.kept_epochs, strict=False):
                loss.append(_line(rows, "loss", run))
                accuracy.append(_line(rows, "val_accuracy", run))
                at = [row["val_accuracy"] for row in rows if row["epoch"] == kept and "val_accuracy" in row]
                words = f"{run.name}, split {split.index}: epoch {kept} kept"
                marks += [Mark(kept, value, run.color, f"{words}, {100 * value:.1f} %") for value in at]
    score = Axes("Validation accuracy", "epoch", "%", percent="y")
    return [line_chart(loss, Axes("Training loss", "epoch", "loss")), line_chart(accuracy, score, marks)]


def _line(rows: list[dict[str, Any]], key: str, run: RunOnPage) -> Line:
    points = np.array([[row["epoch"], row[key]] for row in rows if is_number(row.get(key))], dtype=np.float64)
    return Line(points.reshape(-1, 2), run.color, run.name, "thin")


def _weights(run: RunOnPage) -> Chart | None:
    """Probabilities of the heuristics over epochs, mean over the models, the band from the smallest to the largest."""
    histories = [rows for rows in _histories(run) if rows]
    length = min((len(rows) for rows in histories), default=0)
    if not length:
        return None
    names = histories[0][0]["heuristics"]
    epochs = np.array([0, *(row["epoch"] + 1 for row in histories[0][:length])], dtype=np.float64)
    start = np.full((1, len(names)), 1 / len(names))
    curves = np.stack(
        [np.concatenate([start, [row["probabilities"] for row in rows[:length]]]) for rows in histories]
    )
    several = len(histories) > 1
    lines = [
        Line(
            np.stack([epochs, curves[:, :, k].mean(axis=0)], axis=1),
            heuristic_css(name, k),
            name,
            low=curves[:, :, k].min(axis=0) if several else None,
            high=curves[:, :, k].max(axis=0) if several else None,
        )
        for k, name in enumerate(names)
    ]
    equal = np.array([[epochs[0], 1 / len(names)], [epochs[-1], 1 / len(names)]])
    axes = Axes(run.name, "epoch", "probability", y_range=(0.0, float(curves.max()) * 1.08))
    return line_chart([Line(equal, "grey", kind="dashed"), *lines], axes)


def _histories(run: RunOnPage) -> list[list[dict[str, Any]]]:
    return [rows for split in run.splits for rows in by_model(split.folder.history())]


def heuristic_css(name: str, number: int) -> str:
    """The class of a heuristic's colour; the paper's four have their own."""
    return f"h{list(COLORS).index(name)}" if name in COLORS else f"h{4 + number % 4}"


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


def _calibration(runs: list[RunOnPage], diagnoses: Sequence[Diagnosis | None], part: str) -> Chart | None:
    """Accuracy over confidence, a dot per bin, its area by the nodes in it."""
    lines, marks = [Line(np.array([[0.0, 0.0], [1.0, 1.0]]), "grey", kind="dashed")], []
    for run, found in zip(runs, diagnoses, strict=True):
        if found is None:
            continue
        points = np.array([[b.confidence, b.accuracy] for b in found.bins])
        lines.append(Line(points, run.color, run.name))
        marks += [
            Mark(
                b.confidence,
                b.accuracy,
                run.color,
                f"{run.name}: {b.count} nodes of confidence {100 * b.low:.0f} to {100 * b.high:.0f} %, "
                f"{100 * b.accuracy:.0f} % right",
                2.5 + 6 * math.sqrt(b.count / found.count),
            )
            for b in found.bins
        ]
    if len(lines) == 1:
        return None
    axes = Axes("", f"confidence, % ({part})", "right, %", (0.0, 1.0), (0.0, 1.0), percent="xy")
    return line_chart(lines, axes, marks)


def _mean_std(values: list[float]) -> str:
    if len(values) == 1:
        return f"{100 * values[0]:.2f} %"
    return f"{100 * fmean(values):.2f} ± {100 * float(np.std(values)):.2f} %"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
