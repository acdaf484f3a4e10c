"""Charts of runs: training over epochs, the bandit's sampling weights, calibration."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ansgt.plotting import COLORS
from ansgt.report.charts import Axes, Chart, Line, Mark, line_chart
from ansgt.report.diagnostics import Diagnosis
from ansgt.report.side_by_side import RunOnPage, is_number
from ansgt.runs.folder import by_model


def training_charts(runs: list[RunOnPage]) -> list[Chart]:
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


def weights_chart(run: RunOnPage) -> Chart | None:
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


def calibration_chart(
    runs: list[RunOnPage], diagnoses: Sequence[Diagnosis | None], part: str
) -> Chart | None:
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
