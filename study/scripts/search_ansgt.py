"""A search of ANS-GT's settings on validation alone, several trials at a time on one device.

    python -m study.scripts.search_ansgt --root DATA --seconds 400 --workers 8 --trials 24 --out $OUT
    python -m study.scripts.search_ansgt --root DATA --plan kinds-9 --splits 10 --out $OUT

`--plan` names a file of `study/plans/`. The default, "random", has the same budget for every data set: `--trials`
settings drawn with a fixed seed (the first is the shipped one), each trained on splits 0 and 1 of uniform-60-20-20. A
line of search_ansgt.jsonl is one trained split: its settings, validation accuracy (the largest of all epochs, and
crossed: `selection_bias.py`) and seconds. Test accuracy is never computed into it. Trials go round-robin over the data
sets, so that running out of time costs every data set the same.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.datasets.load import Source
from ansgt.device import release_memory
from ansgt.runs.prepare import prepare_run
from ansgt.storage import DiskCache
from study.records import read_log
from study.scripts.effects import finished, second_round
from study.scripts.one_split import train_once
from study.scripts.plans import Cell, Settings, load_plan, plan_names
from study.scripts.pool import add_pool_options, run_pool
from study.scripts.selection_bias import crossed

DATASETS = ("cora", "citeseer", "chameleon", "squirrel", "actor", "texas", "cornell", "wisconsin", "pubmed")


def smooth_maximum(values: list[float], width: int = 5) -> float:
    """Largest mean over `width` epochs in a row: one lucky epoch counts little."""
    width = min(width, len(values))
    return max(sum(values[i : i + width]) / width for i in range(len(values) - width + 1))


Task = tuple[str, int, str, int, dict[str, Any], int]
"""Data set, number of the trial, kind of split, index of the split, settings, seed of the run (not of the split)."""


def run_trial(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    dataset, number, kind, index, settings, seed = task
    record = {"dataset": dataset, "trial": number, "kind": kind, "split": index, "settings": settings}
    record["seed"] = seed
    started = time.perf_counter()
    data, config = prepare_run(
        dataset,
        "ansgt",
        source=Source(options.root, options.cache),
        split=kind,
        seed=seed,
        device=options.device,
        overrides={"num_models": 1, **settings},
    )
    first_of_trial = index == 0 and seed == options.first_seed
    if first_of_trial:  # `settings` leave open what the shipped file adds
        record["config"] = config.as_dict()
    split = data.split(kind, index, 0)
    trained = train_once(config, data.graph, split, DiskCache(options.cache))
    for key in ("val_accuracy", "val_loss", "best_epoch", "epochs_run"):
        record[key] = trained.result[key]
    record["smooth_accuracy"] = smooth_maximum([row["val_accuracy"] for row in trained.metrics])
    y, rng = data.graph.y[split.val].numpy(), np.random.default_rng([seed, index])
    record["crossed_accuracy"] = crossed(np.stack(trained.validation), y, rng)["accuracy"]
    record["p"] = [round(p, 4) for p in trained.result["learned"].values()]
    record["seconds"] = time.perf_counter() - started
    release_memory(options.device)
    return record


def planned_tasks(options: argparse.Namespace) -> list[Task]:
    """Trial by trial over the data sets and kinds of split that are asked for."""
    plans = asked_cells(options)
    return [
        (name, number, kind, index, chosen[number], seed)
        for number in _numbers(options, max(map(len, plans.values())))
        for (name, kind), chosen in plans.items()
        if number < len(chosen)
        for index in range(options.splits)
        for seed in range(options.first_seed, options.first_seed + options.seeds)
    ]


def asked_cells(options: argparse.Namespace) -> dict[Cell, list[Settings]]:
    """The trials of every data set and kind of split that is asked for."""
    names, kinds = options.datasets.split(","), options.kinds.split(",")
    if not options.again:
        return load_plan(options.plan).cells(names, kinds, options.trials)
    again = second_round(finished(read_log(options.again)))
    return {at: chosen for at, chosen in again.items() if at[0] in names and at[1] in kinds}


def _numbers(options: argparse.Namespace, count: int) -> list[int]:
    if options.only:
        return [int(number) for number in options.only.split(",")]
    return list(range(options.skip, count))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--plan", choices=plan_names(), default="random")
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
