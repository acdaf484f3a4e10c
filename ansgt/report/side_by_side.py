"""Runs side by side: what their records hold, told apart by what differs in their settings."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.errors import InputError
from ansgt.report.diagnostics import Diagnosis, diagnose
from ansgt.runs.folder import RunFolder, SplitFolder
from ansgt.runs.record import models_of
from ansgt.runs.reopen import FinishedRun

SHOWN_SETTINGS = 3
"""Differing settings in the name of a run; more are counted."""


@dataclass(frozen=True)
class Options:
    """Where the data are, and how much is computed anew.

    Args:
        root: folder with the raw data sets.
        device: auto, cpu, cuda or cuda:<number>.
        cache_dir: where processed files go.
        explained: nodes whose attention is computed, over all runs; 0: none.
    """

    root: Path | str = "data"
    device: str = "auto"
    cache_dir: Path | str | None = None
    explained: int = 2000


@dataclass(frozen=True, eq=False)
class Finished:
    """One finished split of a run.

    Args:
        index: of the split.
        folder: its files.
        result: its `result.json`.
    """

    index: int
    folder: SplitFolder
    result: dict[str, Any]

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        return self.folder.parts()

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        return self.folder.predictions()

    def scored(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities and labels of the labelled nodes of a part."""
        nodes = self.parts[part]
        label = self.predictions["label"][nodes]
        return self.predictions["probabilities"][nodes][label >= 0], label[label >= 0]

    @property
    def kept_epochs(self) -> list[int]:
        """Of every model."""
        return [int(one["best_epoch"]) for one in models_of(self.result) or [self.result]]


@dataclass(frozen=True, eq=False)
class RunOnPage:
    """A run as it stands on the page.

    Args:
        folder: the run directory.
        name: what it is called here.
        color: number of its colour.
        info, settings: its `run.json` and `config.json`.
        splits: the finished ones.
        opened: the run with its data, or the sentence that says why they cannot be had.
    """

    folder: RunFolder
    name: str
    color: int
    info: dict[str, Any]
    settings: dict[str, Any]
    splits: list[Finished]
    opened: FinishedRun | str

    @cached_property
    def class_names(self) -> list[str]:
        """Their numbers where they have no names."""
        number = self.splits[0].predictions["probabilities"].shape[1]
        names = self.folder.labelling().classes
        return [str(c) for c in (range(number) if names is None else names.values)]

    def node_names(self, nodes: np.ndarray) -> list[str] | None:
        """None where they have none."""
        names = self.folder.labelling().nodes
        return None if names is None else [str(names[node]) for node in nodes.tolist()]

    @property
    def has_test(self) -> bool:
        return all(is_number(split.result.get("test_accuracy")) for split in self.splits)

    def accuracies(self, part: str) -> list[float]:
        return [float(split.result[f"{part}_accuracy"]) for split in self.splits]

    def diagnosis(self, part: str) -> Diagnosis | None:
        """Of all splits together; None where no node of the part has a label."""
        probabilities, labels = zip(*(split.scored(part) for split in self.splits), strict=True)
        label = np.concatenate(labels)
        return diagnose(np.concatenate(probabilities), label) if len(label) else None


def read_runs(folders: Sequence[RunFolder], options: Options) -> list[list[RunOnPage]]:
    """The runs by data set, in the order they were given, with their data where those are at hand."""
    together: dict[str, list[RunOnPage]] = {}
    for folder in folders:
        run = _read(folder, options)
        together.setdefault(run.info["data_hash"], []).append(run)
    return [_named(runs) for runs in together.values()]


def record_of(folder: RunFolder) -> RunOnPage:
    """A run from its record alone."""
    return _as_it_stands(folder, "the data were not asked for")


def _read(folder: RunFolder, options: Options) -> RunOnPage:
    return _as_it_stands(folder, _reopened(folder, options))


def _as_it_stands(folder: RunFolder, opened: FinishedRun | str) -> RunOnPage:
    config = folder.config()
    splits = [
        Finished(int(result["index"]), folder.split(int(result["index"])), result)
        for result in folder.results()
    ]
    settings, info = config.as_dict(), folder.info()
    return RunOnPage(folder, config.model_name, 0, info, settings, splits, opened)


def _reopened(folder: RunFolder, options: Options) -> FinishedRun | str:
    try:
        return FinishedRun.open(
            folder.path, root=options.root, device=options.device, cache_dir=options.cache_dir
        )
    except InputError as error:
        return str(error)


def _named(runs: list[RunOnPage]) -> list[RunOnPage]:
    """Runs of one data set, each by its model and by what of its settings no other run of that model has."""
    names = [str(run.settings["model_name"]) for run in runs]
    flat = [_flat(run.settings) for run in runs]
    for model in dict.fromkeys(names):
        alike = [place for place, name in enumerate(names) if name == model]
        differing = [
            key
            for key in dict.fromkeys(key for place in alike for key in flat[place])
            if len({json.dumps(flat[place].get(key)) for place in alike}) > 1
        ]
        for place in alike:
            if len(alike) > 1:
                names[place] = _told_apart(model, flat[place], differing)
    if len(set(names)) < len(names):
        names = [f"{name} ({run.folder.path.name})" for name, run in zip(names, runs, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{name} #{number + 1}" for number, name in enumerate(names)]
    return [
        replace(run, name=name, color=color)
        for color, (run, name) in enumerate(zip(runs, names, strict=True))
    ]


def _told_apart(model: str, settings: Mapping[str, Any], differing: list[str]) -> str:
    shown = [f"{key.rpartition('.')[2]}={_short(settings.get(key))}" for key in differing[:SHOWN_SETTINGS]]
    more = len(differing) - len(shown)
    return " · ".join([model, *shown, *([f"+{more} settings"] if more else [])])


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their whole names, without what does not matter for a result."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{key}.")
        elif prefix or key not in ("dataset", "model_name", "device", "num_splits"):
            flat[prefix + key] = value
    return flat


def _short(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)


def is_number(value: Any) -> bool:
    """Whether a value of a record is a finite number: a split without a test part has none."""
    return isinstance(value, int | float) and math.isfinite(value)
