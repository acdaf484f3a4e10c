"""Figures, drawn with matplotlib without a screen. Each function writes one picture."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ansgt.storage import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ansgt.report.explanation import Explanation

COLORS = {"1-hop": "#3b6fb6", "2-hop": "#58a46b", "ppr": "#d98b2b", "knn": "#b5456b"}
"""One colour a heuristic, the same in every figure; others take matplotlib's cycle."""
GREY = "#8a8a8a"


@contextmanager
def figure(path: Path | str, width: float = 6.4, height: float = 3.8, columns: int = 1) -> Iterator[Any]:
    """Yields axes (an array of them for several columns) and writes the picture when the block ends."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style: dict[Any, Any] = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 10,
        "legend.frameon": False,
    }
    with plt.rc_context(style):
        fig, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained")
        yield axes
        with atomic_path(path) as temporary:
            fig.savefig(temporary, dpi=150, format=Path(path).suffix.lstrip(".") or "png")
        plt.close(fig)


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
            title=title,
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


def plot_training(metrics: Sequence[list[dict[str, Any]]], path: Path | str, title: str) -> None:
    """Training loss and validation accuracy over epochs, one thin line a trained model."""
    with figure(path, width=8.6, height=3.2, columns=2) as (left, right):
        for rows in metrics:
            left.plot(
                [r["epoch"] for r in rows],
                [r["loss"] for r in rows],
                color="#3b6fb6",
                alpha=0.6,
                linewidth=1.2,
            )
            scored = [r for r in rows if "val_accuracy" in r]
            accuracy = [100 * r["val_accuracy"] for r in scored]
            right.plot([r["epoch"] for r in scored], accuracy, color="#58a46b", alpha=0.6, linewidth=1.2)
        left.set(xlabel="epoch", ylabel="training loss", title=title)
        right.set(xlabel="epoch", ylabel="validation accuracy (%)")


def plot_explanation(explanation: "Explanation", path: Path | str) -> None:
    """Attended nodes as bars, split by the heuristic that brought them; hops and label beside each."""
    rows = explanation.attended
    with figure(path, width=7.2, height=1.4 + 0.28 * max(len(rows), 3)) as axes:
        place = np.arange(len(rows))[::-1]
        left = np.zeros(len(rows))
        for name in explanation.heuristics:
            part = np.array([100 * row.significance * row.heuristics[name] for row in rows])
            axes.barh(place, part, left=left, color=COLORS.get(name), label=name, height=0.72)
            left += part
        for y, end, row in zip(place, left, rows, strict=True):
            hops = "no path" if row.distance is None else f"{row.distance} hop{'s' * (row.distance != 1)}"
            known = "label unknown" if row.label is None else f"label {row.label}"
            agrees = row.label is None or row.label == explanation.prediction
            axes.text(
                end, y, f"  {hops}, {known}", va="center", fontsize=8.5, color="#333" if agrees else GREY
            )
        axes.set_yticks(place, [f"node {row.node}" for row in rows])
        confidence = 100 * explanation.probabilities[explanation.prediction]
        axes.set(
            xlabel="share of the centre's attention (%)",
            title=f"node {explanation.node}: class {explanation.prediction} ({confidence:.0f} %)",
            xlim=(0, 1.45 * max(left.max(initial=0.0), 1e-9)),
        )
        axes.legend(loc="lower right")
