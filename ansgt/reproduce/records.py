"""Records: small JSON files, from which every number of a table, figure or claim is computed.

A record of a training holds settings and versions once and a row per split. Those of the shipped settings are in `runs/`,
one file per model, data set and kind of split; those of single items in `reproduce/<item>/<variant>/`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ansgt
from ansgt.errors import InputError
from ansgt.runs.folder import RunFolder
from ansgt.runs.record import models_of
from ansgt.runs.statistics import Cell, models_alone
from ansgt.storage import read_json

ROW = (
    "index",
    "test_accuracy",
    "val_accuracy",
    "best_epoch",
    "epochs_run",
    "seconds",
    "split_hash",
    "prediction_hash",
)
"""What a record keeps of the result of a split."""
VARIANTS = ("ansgt-fixed", "ansgt-1-hop", "ansgt-2-hop", "ansgt-ppr", "ansgt-knn")
"""ANS-GT without the bandit: a mixture that never changes (the paper's HGT), and single heuristics."""


def stored_records() -> Path:
    """The folder of records of the checkout that this package runs from."""
    folder = Path(ansgt.__file__).resolve().parents[1] / "study" / "results"
    if not folder.is_dir():
        raise InputError(
            "The records are part of the repository, not of the installed package: give a folder of records "
            "(study/results of a clone) with --from, or make them with --train."
        )
    return folder


def run_record(folder: RunFolder, history: bool = False) -> dict[str, Any]:
    """The record of a finished run.

    Args:
        history: keep the bandit's probabilities after every update, `[[epoch, p_1, ..., p_K], ...]` per split.
    """
    config, info = folder.config(), folder.info()
    rows = []
    for result in folder.results():
        row = split_row(result)
        if history:
            row["history"] = [
                [update["epoch"] + 1, *(round(p, 4) for p in update["probabilities"])]
                for update in folder.split(result["index"]).history()
            ]
        rows.append(row)
    results = folder.results()
    return {
        "splits": rows,
        "model": config.model_name,
        "dataset": config.dataset,
        "data_variant": info["variant"],
        "split": config.split,
        "seed": config.seed,
        "num_parameters": results[0]["num_parameters"],
        "heuristics": list(results[0]["learned"]),
        "config": config.as_dict(),
        "versions": info["versions"],
    }


def joined_rows(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One record of all rows; runs that each had one row (of a network of their own, say) are counted from 0."""
    rows = [row for record in records for row in record["splits"]]
    if len(records) > 1:
        rows = [{**row, "index": number} for number, row in enumerate(rows)]
    return {**records[0], "splits": rows}


def split_row(result: dict[str, Any]) -> dict[str, Any]:
    """What a record keeps of a split: accuracies, epochs, hashes, the learned probabilities, and what each model had."""
    row = {key: result[key] for key in ROW if key in result}
    if result.get("learned"):
        row["p"] = [round(p, 4) for p in result["learned"].values()]
    elif "p" in result:
        row["p"] = result["p"]
    models = models_of(result)
    if models:  # their accuracies; what they learned is in p, averaged
        row["models"] = [{key: value for key, value in one.items() if key != "learned"} for one in models]
    return row


def read_cell(path: Path) -> Cell:
    """The record of a training as a cell of a comparison."""
    return cell_of(json.loads(path.read_text(encoding="utf-8")), str(path))


def cell_of(stored: dict[str, Any], path: str) -> Cell:
    """The same, from the content of the file."""
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
        run_dir=path,
        **models_alone(stored["splits"]),
    )


def read_cells(folder: Path | str, split: str) -> list[Cell]:
    """The stored cells of one kind of split."""
    return [read_cell(path) for path in sorted(Path(folder).glob(f"*--{split}.json"))]


def run_path(model: str, dataset: str, split: str) -> str:
    """Where the record of shipped settings lies, without the suffix."""
    return f"runs/{model}--{dataset}--{split}"


def ablation_cells(runs: Path, dataset: str, kind: str) -> dict[str, Cell]:
    """The row of a data set by model, or nothing where the adaptive cell is missing."""
    paths = {name: runs / f"{name}--{dataset}--{kind}.json" for name in ("ansgt", *VARIANTS)}
    found = {name: read_cell(path) for name, path in paths.items() if path.exists()}
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


@dataclass(frozen=True)
class Record:
    """A record and the file it came from.

    Args:
        path: of the file, below the folder of records.
        content: what it holds.
        quick: whether it is of a coarse, short measurement.
    """

    path: str
    content: dict[str, Any]
    quick: bool = False

    @property
    def cell(self) -> Cell:
        return cell_of(self.content, self.path)

    @property
    def machine(self) -> str:
        """The hardware in words."""
        machine = self.content.get("machine")
        if machine is None:  # records of the tables have the card among the versions
            gpu = self.content.get("versions", {}).get("gpu")
            device = self.content.get("config", {}).get("device", "")
            return f"one {gpu}" if gpu and device.startswith("cuda") else "CPU"
        return str(machine["gpu"] or f"{machine['cpu']}, {machine['cores']} cores")


@dataclass
class Records:
    """A folder of records that remembers what was read and what was looked for in vain.

    Args:
        folder: with `runs/` and `reproduce/`.
    """

    folder: Path
    used: dict[str, Record] = field(default_factory=dict)
    missing: dict[str, float] = field(default_factory=dict)
    """Path -> about how many seconds on one core it would take to make it."""

    def find(self, path: str) -> Record | None:
        """The record of that path, or the quick one where there is no other."""
        for candidate, quick in ((path, "-quick/" in path or "/quick/" in path), (_quick(path), True)):
            file = self.folder / f"{candidate}.json"
            if candidate and file.is_file():
                content = read_json(file)
                if not isinstance(content, dict):
                    raise InputError(f"The record {file} must hold a JSON object.")
                return self.used.setdefault(f"{candidate}.json", Record(f"{candidate}.json", content, quick))
        return None

    def has(self, path: str) -> bool:
        """Whether that very record is there; it does not count as used."""
        return (self.folder / f"{path}.json").is_file()

    def get(self, path: str, seconds: float) -> Record | None:
        """The same; what is not there is noted with the seconds it would take."""
        found = self.find(path)
        if found is None:
            self.missing[f"{path}.json"] = seconds
        return found

    def __iter__(self) -> Iterator[Record]:
        return iter(self.used.values())


def _quick(path: str) -> str:
    """Where the quick record lies that stands in for a full one; "" where there is none."""
    parts = path.split("/")
    if parts[0] != "reproduce" or parts[2].endswith("quick"):
        return ""
    return "/".join([*parts[:2], "quick" if parts[2] == "full" else f"{parts[2]}-quick", *parts[3:]])
