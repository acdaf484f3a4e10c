"""The bandit's sampling weights as a picture by itself: the paper's figure."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ansgt.plotting import COLORS, GREY, figure, printable
from ansgt.runs.folder import Rows, RunFolder, by_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def complete_histories(run: RunFolder, num_splits: int) -> list[list[dict[str, Any]]]:
    """Bandit histories of the trained models, cut to the shortest (they may stop early); [] when there is no bandit."""
    histories = _of_models(lambda split: run.split(split).history(), num_splits)
    length = min((len(rows) for rows in histories), default=0)
    return [rows[:length] for rows in histories]


def _of_models(read: Callable[[int], Rows], num_splits: int) -> list[Rows]:
    """Rows of every model of every split."""
    return [rows for index in range(num_splits) for rows in by_model(read(index))]


def plot_weights(histories: Sequence[list[dict[str, Any]]], path: Path | str, title: str) -> None:
    """Probabilities of the heuristics over training epochs (the paper's figure "normalized sampling weights").

    Args:
        histories: one list of bandit rows per split; with several, the band spans all splits.
    """
    names = histories[0][0]["heuristics"]
    epochs = np.array([0, *(row["epoch"] + 1 for row in histories[0])])
    start = np.full((1, len(names)), 1 / len(names))
    curves = np.stack([np.concatenate([start, [row["probabilities"] for row in rows]]) for rows in histories])
    with figure(path) as axes:
        for k, name in enumerate(names):
            color = COLORS.get(name)
            mean = curves[:, :, k].mean(axis=0)
            (line,) = axes.plot(
                epochs, mean, marker="o", markersize=3.5, linewidth=2, color=color, label=name
            )
            if len(histories) > 1:
                low, high = curves[:, :, k].min(axis=0), curves[:, :, k].max(axis=0)
                axes.fill_between(epochs, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        _end_labels(axes, epochs[-1], curves.mean(axis=0)[-1], names)
        axes.axhline(1 / len(names), color=GREY, linewidth=0.8, linestyle=":")
        axes.set(
            xlabel="epoch",
            ylabel="sampling probability",
            title=printable(title),
            ylim=(0, None),
            xlim=(0, epochs[-1] * 1.12),
        )


def _end_labels(axes: "Axes", x: float, values: np.ndarray, names: Sequence[str]) -> None:
    """Names at the ends of the curves, pushed apart where they would overlap."""
    gap = 0.055 * max(values.max(), 0.3)
    placed = -np.inf
    for k in np.argsort(values):
        placed = max(values[k], placed + gap)
        axes.text(x * 1.015, placed, names[k], color=COLORS.get(names[k]), va="center", fontsize=9)
