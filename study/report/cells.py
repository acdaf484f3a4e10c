"""The records of the results page: a cell is one model on one data set and kind of split."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ansgt.runs.statistics import Cell, models_alone

VARIANTS = ("ansgt-fixed", "ansgt-1-hop", "ansgt-2-hop", "ansgt-ppr", "ansgt-knn")


def read_cells(folder: Path | str, split: str) -> list[Cell]:
    """The stored cells of one kind of split."""
    return [_cell(path) for path in sorted(Path(folder).glob(f"*--{split}.json"))]


def _cell(path: Path) -> Cell:
    stored = json.loads(path.read_text())
    accuracies = tuple(row["test_accuracy"] for row in stored["splits"])
    return Cell(
        model=stored["model"],
        dataset=stored["dataset"],
        variant=stored["data_variant"],
        per_split=accuracies,
        mean=float(np.mean(accuracies)),
        std=float(np.std(accuracies)),
        val_mean=float(np.mean([row["val_accuracy"] for row in stored["splits"]])),
        seconds=float(sum(row["seconds"] for row in stored["splits"])),
        num_parameters=stored["num_parameters"],
        split_hashes=tuple(row["split_hash"] for row in stored["splits"]),
        run_dir=str(path),
        **models_alone(stored["splits"]),
    )


def ablation_cells(runs: Path, dataset: str, kind: str) -> dict[str, Cell]:
    """The row of a data set by model, or nothing where the adaptive cell is missing."""
    paths = {name: runs / f"{name}--{dataset}--{kind}.json" for name in ("ansgt", *VARIANTS)}
    found = {name: _cell(path) for name, path in paths.items() if path.exists()}
    return found if "ansgt" in found else {}


def gap(found: dict[str, Cell], names: Sequence[str], one_model: bool = False) -> float | None:
    """Adaptive minus the best of some cells, in points; None while one of them is missing.

    Args:
        one_model: compare what a split's models have by themselves, on average, instead of their mean prediction.
    """
    means = {name: _mean(cell, one_model) for name, cell in found.items()}
    if any(name not in means for name in names):
        return None
    return 100 * (means["ansgt"] - max(means[name] for name in names))


def _mean(cell: Cell, one_model: bool) -> float:
    return float(np.mean(cell.one_model if one_model and cell.one_model else cell.per_split))
