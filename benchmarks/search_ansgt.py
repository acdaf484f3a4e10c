"""Random search of ANS-GT's settings, on validation alone, several trials at a time on one device.

    python benchmarks/search_ansgt.py --root DATA --seconds 400 --workers 8 --trials 24 --out $OUT

The same budget for every data set: `--trials` settings drawn from SPACE with a fixed seed (the first is the shipped
setting), each trained on splits 0 and 1 of uniform-60-20-20. A line of search_ansgt.jsonl is one trained split: its
settings, validation accuracy (the largest of all epochs, and crossed: `selection_bias.py`) and seconds. Test accuracy is
never computed into it. Trials go round-robin over the data sets, so that running out of time costs every data set the same.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.effects import finished, second_round
from benchmarks.plans_drawn import DRAWN
from benchmarks.plans_first import BATCH, DECAY, FIXED, OWN, REFINE, SCALE, SPACE, WEBKB
from benchmarks.plans_later import (
    AROUND_CALM,
    CALM_WEBKB,
    LARGER_BATCH,
    calm_trials,
    kind_trials,
)
from benchmarks.plans_on_shipped import ON_SHIPPED
from benchmarks.pool import add_pool_options, run_pool
from benchmarks.selection_bias import crossed, kept_validation

DATASETS = ("cora", "citeseer", "chameleon", "squirrel", "actor", "texas", "cornell", "wisconsin", "pubmed")
PLANS: dict[str, list[dict[str, Any]]] = {
    "calm-webkb": CALM_WEBKB,
    "larger-batch": LARGER_BATCH,
    "refine": REFINE,
    "webkb": WEBKB,
    "decay": DECAY,
    "own": OWN,
    "batch": BATCH,
    "scale": SCALE,
}
EPOCHS = {"texas": 80, "cornell": 80, "wisconsin": 80, "pubmed": 25}


def trials(dataset: str, count: int) -> list[dict[str, Any]]:
    """The shipped setting, then draws from SPACE; the same for every data set but for their number of epochs."""
    rng = random.Random(0)
    drawn = [{name: rng.choice(values) for name, values in SPACE.items()} for _ in range(count - 1)]
    epochs = {"epochs": EPOCHS.get(dataset, 50), "patience": 25, "warmup_epochs": 4}
    return [{**FIXED, **epochs, **trial} for trial in ({}, *drawn)]


def planned(plan: str, dataset: str, count: int) -> list[dict[str, Any]]:
    """The settings of a plan's trials on a data set."""
    if plan == "random":
        return trials(dataset, count)
    if plan == "calm":
        return calm_trials(count)
    if plan == "around":
        drawn = calm_trials(20)
        return [drawn[number] | change for number, change in AROUND_CALM[dataset]]
    return PLANS[plan]


def smooth_maximum(values: list[float], width: int = 5) -> float:
    """Largest mean over `width` epochs in a row: one lucky epoch counts little."""
    width = min(width, len(values))
    return max(sum(values[i : i + width]) / width for i in range(len(values) - width + 1))


Task = tuple[str, int, str, int, dict[str, Any], int]
"""Data set, number of the trial, kind of split, index of the split, settings, seed of the run (not of the split)."""


def run_trial(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    from ansgt.pipeline import prepare_run
    from ansgt.storage import DiskCache
    from ansgt.training.fit import release_memory, train_split

    dataset, number, kind, index, settings, seed = task
    overrides = ["restarts=1", *(f"{name}={json.dumps(value)}" for name, value in settings.items())]
    record = {"dataset": dataset, "trial": number, "kind": kind, "split": index, "settings": settings}
    record["seed"] = seed
    started = time.perf_counter()
    shared = {"root": options.root, "device": options.device, "cache_dir": options.cache}
    data, config = prepare_run(dataset, "ansgt", split=kind, overrides=overrides, seed=seed, **shared)
    if (
        index == 0 and seed == options.first_seed
    ):  # once a trial: `settings` leave open what the shipped file adds
        record["config"] = config.as_dict()
    split = data.split(kind, index, 0)
    with kept_validation("ansgt", split) as kept, tempfile.TemporaryDirectory() as folder:
        train_split(config, data.graph, split, Path(folder), DiskCache(options.cache), None, 1e9)
        result = json.loads((Path(folder) / "result.json").read_text())
        rows = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    for key in ("val_accuracy", "val_loss", "best_epoch", "epochs_run"):
        record[key] = result[key]
    record["smooth_accuracy"] = smooth_maximum([row["val_accuracy"] for row in rows])
    if kept:
        chosen = crossed(
            np.stack(kept), data.graph.y[split.val].numpy(), np.random.default_rng([seed, index])
        )
        record["crossed_accuracy"] = chosen["accuracy"]
    record["p"] = [round(p, 4) for p in result["learned"].values()]
    record["seconds"] = time.perf_counter() - started
    release_memory(options.device)
    return record


def planned_tasks(options: argparse.Namespace) -> list[Task]:
    """Trial by trial over the data sets and kinds that are asked for."""
    names, kinds = options.datasets.split(","), options.kinds.split(",")
    if options.again or options.plan in DRAWN or options.plan.startswith("kinds"):
        every = _by_cell(options)
        plans = {at: plan for at, plan in every.items() if at[0] in names and at[1] in kinds}
    else:
        plans = {
            (name, kind): planned(options.plan, name, options.trials) for name in names for kind in kinds
        }
    return [
        (name, number, kind, index, chosen[number], seed)
        for number in _numbers(options, max(map(len, plans.values())))
        for (name, kind), chosen in plans.items()
        if number < len(chosen)
        for index in range(options.splits)
        for seed in range(options.first_seed, options.first_seed + options.seeds)
    ]


def _by_cell(options: argparse.Namespace) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(data set, kind of split) -> trials."""
    if options.again:
        return second_round(finished(options.again))
    named = ON_SHIPPED | DRAWN
    return named.get(options.plan) or kind_trials(second=options.plan == "kinds-2")


def _numbers(options: argparse.Namespace, count: int) -> list[int]:
    if options.only:
        return [int(number) for number in options.only.split(",")]
    return list(range(options.skip, count))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument(
        "--plan",
        choices=("random", "calm", "around", "kinds", "kinds-2", *ON_SHIPPED, *DRAWN, *PLANS),
        default="random",
    )
    parser.add_argument("--again", type=Path, help="a search's log: train the best of it again (effects.py)")
    parser.add_argument("--kinds", default="uniform-60-20-20", help="kinds of split, separated by commas")
    parser.add_argument("--skip", type=int, default=0, help="leave out the plan's first trials")
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1, help="runs of every trial on every split")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", help="numbers of the trials to run, separated by commas")
    add_pool_options(parser, workers=8)
    options = parser.parse_args()
    tasks = planned_tasks(options)
    run_pool(run_trial, tasks, options, Path(options.out) / "search_ansgt.jsonl")


if __name__ == "__main__":
    main()
