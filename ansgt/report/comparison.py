"""A comparison as Markdown, LaTeX, CSV and a picture; all of it from cells and differences, which come from records."""

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.metrics import METRICS, Metric
from ansgt.plotting import figure, printable
from ansgt.runs.statistics import Cell, Cells, Difference, choose_reference, paired_differences
from ansgt.storage import make_folder, write_json, write_text
from ansgt.table import Table


def write_comparison(
    cells: list[Cell],
    split: str,
    run_dir: Path | str,
    reference: str | None = None,
    metric: Metric = METRICS["accuracy"],
) -> dict[str, Any]:
    """Writes compare.md, .tex, .csv, .json and .png into `run_dir`; returns what went into the JSON.

    Args:
        cells: as their records have them.
        split: the split of all of them.
        run_dir: where the files go.
        reference: model the others are compared with; None: the one with the best mean rank.
        metric: what is compared.
    """
    folder = make_folder(run_dir)
    cells = [cell.by(metric) for cell in cells]
    chosen = reference or choose_reference(cells, metric)
    differences = paired_differences(cells, chosen)
    result = {
        "split": split,
        "reference": chosen,
        "metric": metric.name,
        "cells": [cell.as_dict() for cell in cells],
        "differences": [difference.as_dict() for difference in differences],
        "seconds": sum(cell.seconds or 0.0 for cell in cells),
        "run_dir": str(folder),
    }
    write_json(folder / "compare.json", result)
    write_text(folder / "compare.md", comparison_markdown(cells, differences, split, chosen, metric))
    write_text(folder / "compare.tex", comparison_latex(cells, differences, split, chosen, metric))
    write_text(folder / "compare.csv", comparison_csv(cells))
    plot_comparison(cells, folder / "compare.png", split, metric)
    return result


DIFFERENCES = (
    "Mean over the splits with its 95 % t interval; p from a paired t-test, Holm-corrected over all rows. The splits of one "
    "data set overlap, so intervals are somewhat too narrow."
)
COSTS = (
    "Seconds are those of training, summed over the splits. Several models per split (setting `train.num_models`) predict "
    "by their mean."
)


def _measured(metric: Metric) -> str:
    """What the first table shows."""
    unit = " in percent" if metric.percent else ""
    better = "" if metric.sign > 0 else "; less is better"
    return (
        f"Test {metric.words}{unit}, mean ± std over the splits{better}; epochs are selected on validation alone. "
        "The last row is the accuracy of a constant guess, which gives every node the most frequent class."
    )


def _gaps(metric: Metric) -> str:
    return f"Percentage points. {DIFFERENCES}" if metric.percent else DIFFERENCES


def comparison_markdown(
    cells: Sequence[Cell],
    differences: Sequence[Difference],
    split: str,
    reference: str,
    metric: Metric = METRICS["accuracy"],
) -> str:
    """Scores, costs, differences against the reference, and what failed."""
    finished = max((len(cell.per_split) for cell in cells), default=0)
    accuracies, against, costs = comparison_tables(cells, differences, metric)
    parts = [
        f"# Comparison on `{split}`, {finished} splits",
        _measured(metric),
        accuracies.markdown(),
        f"## Paired differences against `{reference}`",
        _gaps(metric),
        against.markdown(),
        "## Cost",
        COSTS,
        costs.markdown(),
    ]
    failed = [f"- {cell.model} on {cell.dataset}: {cell.error}" for cell in cells if cell.error]
    if failed:
        parts += ["## Failed", "\n".join(failed)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def comparison_latex(
    cells: Sequence[Cell],
    differences: Sequence[Difference],
    split: str,
    reference: str,
    metric: Metric = METRICS["accuracy"],
) -> str:
    """The same three tables for LaTeX (package booktabs)."""
    words = (
        f"On {split}: {_measured(metric)}",
        f"Against {reference}: {_gaps(metric)}",
        COSTS.replace("`", ""),
    )
    tables = comparison_tables(cells, differences, metric)
    return "\n".join(replace(table, title=title).latex() for table, title in zip(tables, words, strict=True))


def comparison_tables(
    cells: Sequence[Cell], differences: Sequence[Difference], metric: Metric = METRICS["accuracy"]
) -> tuple[Table, Table, Table]:
    """Scores by model and data set, paired differences, costs."""
    against = Table(
        ["model", "data set", "difference", "p (Holm)"],
        [_difference_row(d, metric.scale) for d in differences],
    )
    costs = Table(
        ["model", "data set", "models per split", "seconds", "peak memory, MB", "parameters"],
        [_cost_row(cell) for cell in cells if cell.error is None],
        formats={"seconds": ".1f", "peak memory, MB": ".0f", "parameters": ","},
        missing="-",
    )
    return replace(Cells(cells).table(metric), title=""), against, costs


def _difference_row(d: Difference, scale: int) -> list[str]:
    interval = "" if d.low is None or d.high is None else f" [{scale * d.low:+.2f}, {scale * d.high:+.2f}]"
    return [
        d.model,
        d.dataset,
        f"{scale * d.mean:+.2f}{interval}",
        "-" if d.p_holm is None else f"{d.p_holm:.3g}",
    ]


def _cost_row(cell: Cell) -> list[Any]:
    memory = None if cell.peak_bytes is None else cell.peak_bytes / 1e6
    return [cell.model, cell.dataset, cell.num_models, cell.seconds or 0.0, memory, cell.num_parameters]


COLUMNS = (
    "model",
    "dataset",
    "variant",
    "mean",
    "std",
    "val_mean",
    "seconds",
    "peak_bytes",
    "num_parameters",
    "num_models",
    "error",
)


def comparison_csv(cells: Sequence[Cell]) -> str:
    """One row a cell, the splits' scores in columns of their own."""
    splits = max((len(cell.per_split) for cell in cells), default=0)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"split_{i}" for i in range(splits))])
    for cell in cells:
        values: list[Any] = [getattr(cell, column) for column in COLUMNS]
        writer.writerow(["" if v is None else v for v in values] + list(cell.per_split))
    return out.getvalue()


def plot_comparison(
    cells: Sequence[Cell], path: Path | str, split: str, metric: Metric = METRICS["accuracy"]
) -> None:
    """The score of every model, a panel a data set: the splits as dots, the mean as a line."""
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    models = list(dict.fromkeys(cell.model for cell in cells))
    height = 1.2 + 0.26 * len(models)
    with figure(path, width=1.2 + 2.6 * len(datasets), height=height, columns=len(datasets)) as axes:
        for number, (dataset, axis) in enumerate(zip(datasets, np.atleast_1d(axes), strict=True)):
            for cell in cells:
                if cell.dataset == dataset and cell.mean is not None:
                    row = models.index(cell.model)
                    values = metric.scale * np.array(cell.per_split)
                    axis.plot(
                        values, np.full(len(values), row), "o", color="#3b6fb6", alpha=0.35, markersize=4
                    )
                    axis.plot(
                        [metric.scale * cell.mean] * 2, [row - 0.32, row + 0.32], color="#1d3557", linewidth=2
                    )
            axis.set_ylim(len(models) - 0.5, -0.5)
            axis.set_yticks(range(len(models)), models if number == 0 else [""] * len(models))
            axis.set_title(printable(dataset))
            axis.set_xlabel(f"test {metric.words}{', %' if metric.percent else ''}")
            axis.grid(axis="x", alpha=0.3)
        np.atleast_1d(axes)[0].figure.suptitle(f"split {split}", fontsize=10)
