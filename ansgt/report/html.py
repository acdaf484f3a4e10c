"""One self-contained HTML page for one or more runs: numbers, settings and pictures inside; and the pictures alone.

The page is a jinja2 template that escapes every value; its content security policy lets a browser load nothing, run
nothing, and apply the one style sheet inside.
"""

import base64
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from ansgt.plotting import COLORS, GREY, figure, printable
from ansgt.runs.folder import Rows, RunFolder, by_model
from ansgt.runs.record import summarize
from ansgt.storage import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-top:1px solid #ddd;padding-top:1em}
table{border-collapse:collapse;margin:.8em 0}td,th{padding:.25em .9em;border-bottom:1px solid #e4e4e4;text-align:right}
td:first-child,th:first-child{text-align:left}img{max-width:100%}code,pre{font-size:13px;background:#f6f6f6}
pre{padding:.8em;overflow:auto}.big{font-size:1.6em;font-weight:600}.dim{color:#777}
"""
HEADS = ("split", "test", "validation", "constant guess", "best epoch", "seconds")


@dataclass(frozen=True)
class Row:
    """A split in the table of results."""

    index: int
    hash: str
    numbers: list[str]


@dataclass(frozen=True)
class Picture:
    """A PNG in base64, and what it shows."""

    words: str
    data: str


@dataclass(frozen=True)
class Section:
    """What the page says of one run; plain text, which the template escapes."""

    model: str
    dataset: str
    variant: str
    split: str
    accuracy: str
    heads: tuple[str, ...]
    rows: list[Row]
    pictures: list[Picture]
    settings: str


def write_report(runs: list[RunFolder], path: Path | str) -> None:
    """Writes the page; everything on it is computed from the runs' records."""
    environment = Environment(
        loader=PackageLoader("ansgt.report"), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("report.html").render(
        names=[printable(run.path.name) for run in runs],
        runs=[_section(run) for run in runs],
        policy=_policy(),
        style=STYLE,
    )
    write_text(path, page + "\n")


def _policy() -> str:
    """Nothing is loaded or run; pictures are data, and the style sheet is the one of this hash."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    parts = {"default-src": "'none'", "img-src": "data:", "style-src": f"'sha256-{digest}'"}
    parts |= {"base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _section(run: RunFolder) -> Section:
    config, info, results = run.config(), run.info(), run.results()
    test = summarize([r["test_accuracy"] for r in results])
    return Section(
        model=printable(config.model_name),
        dataset=printable(config.dataset),
        variant=printable(info["variant"]),
        split=printable(config.split),
        accuracy=f"{100 * test['mean']:.2f} ± {100 * test['std']:.2f} %" if results else "",
        heads=HEADS,
        rows=[_row(result) for result in results],
        pictures=_pictures(run, len(results)) if results else [],
        settings=json.dumps({"config": config.as_dict(), "data": info}, indent=1),
    )


def _row(result: dict[str, Any]) -> Row:
    shares = [f"{100 * result[key]:.2f}" for key in ("test_accuracy", "val_accuracy")]
    guess, seconds = f"{100 * result['majority_share']:.1f}", f"{result['seconds']:.1f}"
    numbers = [*shares, guess, str(result["best_epoch"]), seconds]
    return Row(result["index"], str(result["split_hash"])[:8], numbers)


def _pictures(run: RunFolder, num_splits: int) -> list[Picture]:
    title = printable(f"{run.config().model_name} on {run.config().dataset}")
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.png"
        plot_training(_of_models(lambda split: run.split(split).metrics(), num_splits), path, title)
        pictures.append(_picture(path, "training loss and validation accuracy"))
        histories = complete_histories(run, num_splits)
        if histories:
            path = Path(folder) / "weights.png"
            plot_weights(histories, path, f"{title}: sampling weights")
            pictures.append(_picture(path, "sampling weights over epochs"))
    return pictures


def complete_histories(run: RunFolder, num_splits: int) -> list[list[dict[str, Any]]]:
    """Bandit histories of the trained models, cut to the shortest (they may stop early); [] when there is no bandit."""
    histories = _of_models(lambda split: run.split(split).history(), num_splits)
    length = min((len(rows) for rows in histories), default=0)
    return [rows[:length] for rows in histories]


def _of_models(read: Callable[[int], Rows], num_splits: int) -> list[Rows]:
    """Rows of every model of every split."""
    return [rows for index in range(num_splits) for rows in by_model(read(index))]


def _picture(path: Path, words: str) -> Picture:
    return Picture(words, base64.b64encode(path.read_bytes()).decode())


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
        left.set(xlabel="epoch", ylabel="training loss", title=printable(title))
        right.set(xlabel="epoch", ylabel="validation accuracy (%)")
