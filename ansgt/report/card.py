"""A model card (Mitchell et al., 2019) of a run, from its record: data, split, metrics, what it was not tested on."""

import json
import math
from statistics import fmean
from typing import Any

import numpy as np

from ansgt.errors import InputError
from ansgt.report.diagnostics import Diagnosis
from ansgt.report.side_by_side import Finished, RunOnPage, record_of
from ansgt.runs.folder import RunFolder
from ansgt.table import Table

FEW = 10
"""Scored nodes of a class below which its numbers say little."""
MOST_CLASSES = 20
"""Classes named in a sentence."""


def model_card(folder: RunFolder) -> str:
    """The card in Markdown, with the head of metadata that the Hugging Face Hub reads."""
    if not folder.results():
        raise InputError(f"No split of {folder.path} is finished: there is nothing to write a card of.")
    run = record_of(folder)
    part = "test" if run.has_test else "val"
    diagnosis = run.diagnosis(part)
    sections = [
        _metadata(run),
        f"# {_title(run)}\n\n{_what_it_is(run)}",
        "## Data\n\n" + _data(run).markdown(),
        "## Split\n\n" + _split(run),
        "## Metrics\n\n" + _metrics(run, diagnosis, part),
        "## What it was not tested on\n\n"
        + "\n".join(f"- {line}" for line in untested(run, diagnosis, part)),
        "## Settings\n\n```json\n" + json.dumps(run.settings, indent=1) + "\n```",
        "## How to use it\n\n" + USE,
    ]
    return "\n\n".join(section.strip() for section in sections) + "\n"


USE = """```python
import ansgt

clf = ansgt.NodeClassifier.load("run")  # the folder of that name
clf.predict(graph)  # a PyG Data with the same features
```"""


def untested(run: RunOnPage, diagnosis: Diagnosis | None, part: str) -> list[str]:
    """What nobody knows about this model, as sentences."""
    info, names = run.info, run.class_names
    label = run.splits[0].predictions["label"]
    lines = []
    if part == "val":
        lines.append(
            "Anything at all: there was no test part. The numbers are of validation, which chose the epoch."
        )
    if len(run.splits) == 1:
        lines.append("Other splits: the numbers are of one, so nothing says how far they vary.")
    if diagnosis is not None:
        few = [names[c] for c, row in enumerate(diagnosis.classes) if row.support < FEW]
        if few:
            lines.append(f"Classes with fewer than {FEW} scored nodes: {_listed(few)}.")
        if diagnosis.never_predicted:
            never = [names[c] for c in diagnosis.never_predicted]
            lines.append(f"It never predicts these classes of scored nodes: {_listed(never)}.")
    unknown = int((label < 0).sum())
    if unknown:
        lines.append(f"The {unknown:,} of {info['num_nodes']:,} nodes without a label.")
    lines.append(
        f"Other graphs than '{info['dataset']}' ({info['variant']}), or this one after it grew: all nodes were there in "
        "training, only labels were hidden."
    )
    lines.append("Later data, groups of nodes, and whatever depends on what nodes and links stand for.")
    return lines


def _metadata(run: RunOnPage) -> str:
    """YAML, of values that JSON writes: every one of them is valid YAML."""
    values: dict[str, Any] = {
        "library_name": "ansgt",
        "tags": ["ansgt", "graph-machine-learning", "node-classification", str(run.settings["model_name"])],
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in values.items()]
    return "\n".join(["---", *lines, "---"])


def _title(run: RunOnPage) -> str:
    return f"{run.settings['model_name']} on {run.info['dataset']}"


def _what_it_is(run: RunOnPage) -> str:
    number = int(run.splits[0].result["num_parameters"])
    kind = (
        "ANS-GT (Zhang, Liu, Hu and Lee, NeurIPS 2022)"
        if run.settings["model_name"] == "ansgt"
        else "A baseline"
    )
    if "effort" in run.settings:
        names = ", ".join(f"{one['name']} ({one['weight']:.2f})" for one in run.splits[0].result["models"])
        kind = f"A mixture of experts, each with its weight, {names},"
    versions = run.info.get("versions", {})
    made = ", ".join(f"{name} {versions[name]}" for name in ("ansgt", "torch") if name in versions)
    return f"{kind} that classifies the nodes of a graph; {number:,} parameters, trained with {made}."


def _data(run: RunOnPage) -> Table:
    info = run.info
    rows: list[list[Any]] = [["data set", f"{info['dataset']} ({info['variant']})"]]
    for name in ("num_nodes", "num_edges", "num_features", "num_classes"):
        if isinstance(info.get(name), int):
            rows.append([name.removeprefix("num_"), f"{info[name]:,}"])
    rows.append(["class names", _listed(run.class_names)])
    rows.append(["sha256", str(info["data_hash"])])
    return Table(["", "value"], rows)


def _split(run: RunOnPage) -> str:
    heads = ["split", "train", "validation", "test", "hash"]
    rows = [
        [
            split.index,
            *(len(split.parts[name]) for name in ("train", "val", "test")),
            str(split.result["split_hash"])[:12],
        ]
        for split in run.splits
    ]
    words = (
        f"`{run.settings['split']}`. Validation chose the epoch; the test part was scored once, at the end."
    )
    return f"{words}\n\n{Table(heads, rows).markdown()}"


def _metrics(run: RunOnPage, diagnosis: Diagnosis | None, part: str) -> str:
    words = {"test": "test part", "val": "validation"}[part]
    accuracies = run.accuracies(part)
    spread = (
        f" ± {100 * float(np.std(accuracies)):.2f} over {len(accuracies)} splits"
        if len(accuracies) > 1
        else ""
    )
    guess = fmean(_guess(split, part) for split in run.splits)
    lines = [
        f"On the {words}: accuracy {100 * fmean(accuracies):.2f} %{spread}; a constant guess has {100 * guess:.1f} %."
    ]
    if diagnosis is None:
        return lines[0]
    rows = [
        ["balanced accuracy", diagnosis.balanced_accuracy],
        ["macro F1", diagnosis.macro_f1],
        ["log loss", diagnosis.log_loss],
        ["Brier score", diagnosis.brier],
        ["calibration error", diagnosis.calibration_error],
    ]
    classes = [
        [name, row.support, row.precision, row.recall, row.f1]
        for name, row in zip(run.class_names, diagnosis.classes, strict=True)
    ]
    shares = dict.fromkeys(["precision", "recall", "F1"], ".3f")
    heads = ["class", "nodes", "precision", "recall", "F1"]
    lines.append(Table(["metric", "value"], rows, formats={"value": ".4f"}).markdown())
    lines.append(Table(heads, classes, formats=shares, missing="-").markdown())
    return "\n\n".join(line.strip() for line in lines)


def _guess(split: Finished, part: str) -> float:
    """What the most frequent class of a part holds of it."""
    _, label = split.scored(part)
    return float(np.bincount(label).max() / len(label)) if len(label) else math.nan


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_CLASSES} more" if len(names) > MOST_CLASSES else ""
    return ", ".join(names[:MOST_CLASSES]) + more
