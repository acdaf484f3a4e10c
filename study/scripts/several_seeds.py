"""What averaging several models gains that differ by their seed alone, on validation.

    python -m study.scripts.several_seeds --root DATA --cells texas@per-class-60-20-20 --seeds 8 --out $OUT

ANS-GT with its shipped settings, every split with several seeds. Then, for R = 1, 2, 4, ... models whose probabilities
are averaged: the epoch of each is chosen on one half of the validation nodes, and the mean is scored on the other half
(`selection_bias.py`). "Own" lets every model keep its own epoch, "same" takes one epoch for all. The test part is never
looked at. Writes one JSON object per cell.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.device import release_memory
from study.scripts.pool import add_pool_options, run_pool
from study.scripts.selection_bias import HALVES, chosen_epochs, validation_probabilities

Task = tuple[str, str, int, int]
"""Data set, kind of split, index of the split, seed of the run."""


def train_one(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    dataset, kind, index, seed = task
    shared = {"root": options.root, "device": options.device, "cache": options.cache}
    asked = argparse.Namespace(dataset=dataset, split=kind, override=options.override, **shared)
    probabilities, y = validation_probabilities("ansgt", index, seed, asked)
    np.savez(_file(options, task), probabilities=probabilities, y=y)
    release_memory(options.device)
    return {"task": task, "epochs": len(probabilities)}


def chosen_epoch(probabilities: np.ndarray, y: np.ndarray) -> int:
    """The epoch training would keep: the largest accuracy, ties by the loss; probabilities [epochs, nodes, C]."""
    hit = (probabilities.argmax(axis=2) == y).astype(float)
    loss = -np.log(probabilities[:, np.arange(len(y)), y] + 1e-12)
    return chosen_epochs(hit, loss)["accuracy"]


def averaged(
    models: list[np.ndarray], y: np.ndarray, choose: np.ndarray, judge: np.ndarray
) -> dict[str, float]:
    """Accuracy on `judge` of the mean of models [epochs, nodes, C], their epochs chosen on `choose`."""
    own = [p[chosen_epoch(p[:, choose], y[choose])] for p in models]
    shortest = min(map(len, models))
    mean = np.mean([p[:shortest] for p in models], axis=0)
    same = mean[chosen_epoch(mean[:, choose], y[choose])]
    hits = {"own": np.mean(own, axis=0).argmax(axis=1) == y, "same": same.argmax(axis=1) == y}
    return {rule: float(hit[judge].mean()) for rule, hit in hits.items()}


def of_split(models: list[np.ndarray], y: np.ndarray, together: int, seed: int) -> dict[str, float]:
    """Mean over random halves and over disjoint groups of `together` models."""
    rng = np.random.default_rng(seed)
    groups = [models[i : i + together] for i in range(0, len(models) - together + 1, together)]
    scores: dict[str, list[float]] = {"own": [], "same": []}
    for _ in range(HALVES):
        one, other = np.array_split(rng.permutation(len(y)), 2)
        for group in groups:
            for choose, judge in ((one, other), (other, one)):
                for rule, score in averaged(group, y, choose, judge).items():
                    scores[rule].append(score)
    return {rule: float(np.mean(values)) for rule, values in scores.items()}


def analysed(cell: str, options: argparse.Namespace) -> dict[str, Any]:
    """The cell's object: crossed accuracy by number of models, mean over the splits that have every seed."""
    dataset, kind = cell.split("@")
    splits = []
    for index in range(options.splits):
        files = [_file(options, (dataset, kind, index, seed)) for seed in range(options.seeds)]
        if all(file.exists() for file in files):
            arrays = [np.load(file) for file in files]
            splits.append((index, [a["probabilities"] for a in arrays], arrays[0]["y"]))
    found: dict[str, Any] = {"dataset": dataset, "split": kind, "splits": len(splits), "seeds": options.seeds}
    together = 1
    while splits and together <= options.seeds:
        scores = [of_split(models, y, together, index) for index, models, y in splits]
        for rule in ("own", "same"):
            found.setdefault(rule, {})[str(together)] = round(
                float(np.mean([score[rule] for score in scores])), 4
            )
        together *= 2
    return found


def _file(options: argparse.Namespace, task: Task) -> Path:
    return Path(options.cache) / ("restart-" + "-".join(map(str, task)) + ".npz")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", nargs="+", required=True, help="data set@split")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--override", "-o", action="append")
    add_pool_options(parser)
    options = parser.parse_args()
    tasks = [
        (*cell.split("@"), index, seed)
        for cell in options.cells
        for seed in range(options.seeds)
        for index in range(options.splits)
    ]
    run_pool(train_one, tasks, options, Path(options.out) / "trained.jsonl")
    with (Path(options.out) / "restarts.jsonl").open("a") as out:
        for cell in options.cells:
            out.write(json.dumps(analysed(cell, options)) + "\n")


if __name__ == "__main__":
    main()
