"""Random search of ANS-GT's settings, on validation alone, several trials at a time on one device.

    python benchmarks/search_ansgt.py --root DATA --seconds 400 --workers 8 --trials 24 --out $OUT

The same budget for every data set: `--trials` settings drawn from SPACE with a fixed seed (the first is the shipped
setting), each trained on splits 0 and 1 of uniform-60-20-20. A line of search_ansgt.jsonl is one trained split: its
settings, validation accuracy and seconds. Test accuracy is never computed into it. Trials go round-robin over the
data sets, so that running out of time costs every data set the same.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.pool import run_pool

DATASETS = ("cora", "citeseer", "chameleon", "squirrel", "actor", "texas", "cornell", "wisconsin", "pubmed")
SPACE: dict[str, list[Any]] = {
    "lr": [2e-4, 5e-4, 1e-3],
    "weight_decay": [0.01, 0.1],
    "normalize_features": ["none", "row"],
    "input_dropout": [0.2, 0.5, 0.7],
    "dropout": [0.2, 0.5],
    "attention_dropout": [0.1, 0.4],
    "num_layers": [1, 2, 3],
    "num_sampled": [10, 20],
    "num_supernodes": [0, 3],
    "coarsening_rate": [0.01, 0.1],
    "super_features": ["paper", "mean"],
    "mode": ["distinct", "without"],
    "multiplicity_bias": [True, False],
    "bandit_step": [4.0, 16.0, 40.0],
    "update_period": [5, 10],
    "label_smoothing": [0.0, 0.1],
}
FIXED = {"num_augmentations": 4}
SMALL_MODEL = {
    "lr": 1e-3,
    "weight_decay": 0.1,
    "input_dropout": 0.5,
    "dropout": 0.2,
    "attention_dropout": 0.1,
    "num_layers": 1,
    "num_sampled": 20,
    "num_supernodes": 3,
    "coarsening_rate": 0.1,
    "multiplicity_bias": False,
    "bandit_step": 4.0,
    "update_period": 5,
    "label_smoothing": 0.1,
    "epochs": 100,
    "patience": 40,
    "warmup_epochs": 4,
    "num_augmentations": 4,
}
"""The random search's best on Texas, Cornell, Chameleon and Squirrel, given more epochs."""
LOCAL = SMALL_MODEL | {
    "lr": 2e-4,
    "weight_decay": 0.01,
    "attention_dropout": 0.4,
    "num_sampled": 10,
    "num_supernodes": 0,
    "label_smoothing": 0.0,
}
"""Its best on Cora and Citeseer."""
FRESH = {"redraw_every": 1}
REFINE = [
    SMALL_MODEL,
    SMALL_MODEL | FRESH,
    SMALL_MODEL | {"multiplicity_bias": True, "bandit_step": 16.0},
    SMALL_MODEL | FRESH | {"multiplicity_bias": True, "bandit_step": 16.0},
    SMALL_MODEL | FRESH | {"bandit_step": 16.0},
    SMALL_MODEL | FRESH | {"lr": 5e-4},
    SMALL_MODEL | FRESH | {"coarsening_rate": 0.3},
    SMALL_MODEL | FRESH | {"num_layers": 2},
    LOCAL | FRESH,
    LOCAL | FRESH | {"num_supernodes": 3},
    SMALL_MODEL | FRESH | {"input_dropout": 0.7, "dropout": 0.5},
    SMALL_MODEL | FRESH | {"multiplicity_bias": True, "bandit_step": 40.0},
]
"""Plan "refine": variations of what the random search found."""
ROW = {"normalize_features": "row"}
BY_LOSS = {"select": "loss"}
WEBKB: list[dict[str, Any]] = [
    SMALL_MODEL | FRESH,
    SMALL_MODEL | FRESH | BY_LOSS,
    SMALL_MODEL | FRESH | ROW | {"lr": 5e-3},
    SMALL_MODEL | FRESH | ROW | BY_LOSS | {"lr": 5e-3, "input_dropout": 0.7},
    SMALL_MODEL | FRESH | BY_LOSS | {"input_dropout": 0.7, "dropout": 0.5},
    SMALL_MODEL | FRESH | BY_LOSS | {"label_smoothing": 0.0, "weight_decay": 0.5},
    SMALL_MODEL | FRESH | BY_LOSS | {"num_supernodes": 0, "num_sampled": 5},
    SMALL_MODEL | FRESH | BY_LOSS | {"bandit_step": 16.0, "num_sampled": 10},
    SMALL_MODEL
    | FRESH
    | ROW
    | BY_LOSS
    | {"lr": 5e-3, "num_supernodes": 0, "num_sampled": 5, "label_smoothing": 0.0},
    LOCAL | FRESH | BY_LOSS | {"lr": 5e-4, "epochs": 150},
]
"""Plan "webkb": the small graphs need more validation nodes to choose on than two splits have (--splits 6)."""
DECAYED = SMALL_MODEL | FRESH | BY_LOSS | {"label_smoothing": 0.0, "weight_decay": 0.5}
DECAY = [
    DECAYED,
    DECAYED | {"weight_decay": 1.5},
    DECAYED | {"lr": 5e-4, "epochs": 150},
    DECAYED | {"hidden_channels": 256},
    DECAYED | {"num_augmentations": 8},
    DECAYED | {"input_dropout": 0.7},
    DECAYED | {"coarsening_rate": 0.3},
    DECAYED | {"attention_dropout": 0.5},
]
"""Plan "decay": around the lowest validation loss of plan "webkb" on Texas."""
STRONG = DECAYED | {"weight_decay": 1.5}
ALONE = STRONG | {"num_sampled": 1, "num_supernodes": 0, "num_global": 1}
OWN = [
    ALONE,
    ALONE | ROW | {"lr": 1e-2},
    STRONG | {"sampling": "knn"},
    STRONG | ROW | {"lr": 1e-2},
    STRONG | {"dropout": 0.5, "attention_dropout": 0.5},
    STRONG | {"hidden_channels": 64},
    STRONG | {"multiplicity_bias": True, "num_sampled": 10},
]
"""Plan "own": how much of Texas is in a page's own words; `ALONE` is nearly an MLP."""
SMALL_BATCH = {"batch_size": 8}
BATCH = [
    STRONG | SMALL_BATCH,
    STRONG | SMALL_BATCH | {"lr": 3e-4},
    STRONG | {"beta1": 0.9, "lr": 3e-3},
    STRONG | SMALL_BATCH | {"weight_decay": 0.1},
    ALONE | SMALL_BATCH,
]
"""Plan "batch": 84 training nodes are three batches of 32, too few updates an epoch for a momentum of 0.99."""
SCALED = {"normalize_features": "scaled"}
SCALE = [
    STRONG | SCALED,
    ALONE | SCALED,
    STRONG | SCALED | {"lr": 5e-3},
    STRONG | SCALED | {"weight_decay": 0.1, "dropout": 0.5, "hidden_channels": 64},
    STRONG | SCALED | {"num_global": 0, "num_supernodes": 1},
    STRONG | SCALED | {"sampling": "knn"},
    STRONG | SCALED | {"ffn_multiplier": 0.5, "num_heads": 4},
    STRONG | SCALED | {"lr": 3e-3, "beta1": 0.9, "epochs": 200, "patience": 80},
]
"""Plan "scale": rows of equal sum at the size of the published ones."""
CALM_SPACE: dict[str, list[Any]] = {
    "lr": [2e-4, 5e-4, 1e-3],
    "weight_decay": [0.1, 1.0, 10.0],
    "input_dropout": [0.5, 0.7, 0.8, 0.9],
    "dropout": [0.3, 0.5, 0.7],
    "attention_dropout": [0.1, 0.5],
    "hidden_channels": [128, 256],
    "num_layers": [1, 1, 2],
    "num_sampled": [5, 10, 20],
    "num_supernodes": [0, 3],
    "super_features": ["paper", "mean"],
    "multiplicity_bias": [True, False],
    "bandit_step": [4.0, 16.0],
    "normalize_features": ["none", "scaled"],
    "label_smoothing": [0.0, 0.1],
    "average_epochs": [0.0, 3.0, 10.0],
    "batch_size": [32, 128],
}
CALM_BASE = SMALL_MODEL | FRESH | {"beta1": 0.9, "coarsening_rate": 0.1}
"""Plan "calm", random: what helped on Texas (momentum 0.9, strong dropouts and decay, a running mean of the weights)."""
WIDE_STEP = (
    SMALL_MODEL
    | FRESH
    | {"multiplicity_bias": True, "bandit_step": 16.0, "batch_size": 128, "epochs": 150, "patience": 60}
)
LARGER_BATCH = [
    WIDE_STEP | {"lr": 2e-3},
    WIDE_STEP | {"lr": 4e-3, "beta1": 0.9},
    WIDE_STEP | {"lr": 2e-3, "beta1": 0.9, "average_epochs": 3.0},
    WIDE_STEP | {"lr": 2e-3, "beta1": 0.9, "average_epochs": 3.0, "input_dropout": 0.7, "dropout": 0.5},
    WIDE_STEP | {"lr": 2e-3, "beta1": 0.9, "average_epochs": 3.0, "num_layers": 2},
]
"""Plan "larger-batch": four times fewer updates, for the data sets that take longest."""
AROUND_CALM: dict[str, list[tuple[int, dict[str, Any]]]] = {
    "citeseer": [
        (12, {}),
        (12, {"average_epochs": 10.0}),
        (1, {"batch_size": 128, "lr": 2e-3}),
        (12, {"num_sampled": 10, "average_epochs": 3.0}),
        (12, {"num_augmentations": 8}),
        (12, {"weight_decay": 10.0}),
    ],
    "cora": [
        (10, {}),
        (10, {"input_dropout": 0.8}),
        (10, {"num_sampled": 10, "weight_decay": 10.0}),
        (10, {"batch_size": 128, "lr": 2e-3}),
        (10, {"label_smoothing": 0.1, "dropout": 0.5, "input_dropout": 0.7}),
        (10, {"num_sampled": 20, "attention_dropout": 0.5, "input_dropout": 0.8}),
    ],
    "actor": [
        (10, {"normalize_features": "none"}),
        (10, {"weight_decay": 10.0, "multiplicity_bias": True, "bandit_step": 16.0}),
        (10, {"batch_size": 128, "lr": 2e-3}),
        (10, {"num_sampled": 10, "num_supernodes": 3, "weight_decay": 10.0, "lr": 5e-4}),
        (0, {"normalize_features": "scaled"}),
        (0, {"lr": 5e-4, "num_sampled": 5, "batch_size": 128}),
    ],
}
"""Plan "around": variations of the best trials of plan "calm", by their numbers."""
WORDS = CALM_BASE | {
    "weight_decay": 0.1,
    "input_dropout": 0.9,
    "dropout": 0.7,
    "attention_dropout": 0.5,
    "num_supernodes": 0,
    "batch_size": 128,
    "select": "accuracy",
}
WORDS_WIDE = CALM_BASE | {
    "lr": 2e-4,
    "input_dropout": 0.7,
    "dropout": 0.3,
    "super_features": "mean",
    "hidden_channels": 256,
    "bandit_step": 16.0,
    "batch_size": 128,
    "select": "accuracy",
}
CALM_WEBKB = [
    WORDS,
    WORDS | BY_LOSS,
    WORDS | {"hidden_channels": 256},
    WORDS | {"hidden_channels": 256, "lr": 5e-4},
    WORDS | {"weight_decay": 10.0},
    WORDS | {"average_epochs": 3.0},
    WORDS | {"num_sampled": 10},
    WORDS | {"epochs": 200, "patience": 100},
    WORDS | {"hidden_channels": 512, "lr": 5e-4},
    WORDS | {"input_dropout": 0.8, "dropout": 0.5, "lr": 5e-4},
    WORDS_WIDE,
    WORDS_WIDE | BY_LOSS,
    WORDS_WIDE | {"input_dropout": 0.9, "dropout": 0.5, "lr": 5e-4},
    WORDS_WIDE | {"num_supernodes": 0},
    WORDS_WIDE | {"hidden_channels": 512},
    WORDS_WIDE | {"weight_decay": 10.0, "input_dropout": 0.9},
]
"""Plan "calm-webkb": variations of trials 12 and 15 of plan "calm", the best on Texas, Cornell and Wisconsin."""
UNIFORM, PER_CLASS = "uniform-60-20-20", "per-class-60-20-20"
STEADIER: list[dict[str, Any]] = [
    {},
    {"num_inference": 16},
    {"num_augmentations": 8},
    {"lr": 5e-4},
    {"bandit_step": 1.0},
    {"sampling": "fixed"},
]
"""Changes that every data set of plan "kinds" tries; the others are its own."""
KIND_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("cora", PER_CLASS): [
        {"num_sampled": 20},
        {"input_dropout": 0.7},
        {"label_smoothing": 0.1},
        {"average_epochs": 30.0, "epochs": 150},
        {"normalize_features": "none"},
        {"weight_decay": 30.0},
        {"attention_dropout": 0.5},
        {"hidden_channels": 512},
        {"batch_size": 128, "lr": 2e-3},
        {"num_layers": 2},
        {"num_supernodes": 3},
        {"multiplicity_bias": True},
        {"dropout": 0.5},
        {"num_sampled": 20, "num_inference": 16, "attention_dropout": 0.5, "lr": 5e-4},
    ],
    ("citeseer", UNIFORM): [
        {"num_sampled": 5},
        {"num_sampled": 20, "average_epochs": 10.0},
        {"average_epochs": 10.0},
        {"hidden_channels": 256},
        {"weight_decay": 1.0},
        {"weight_decay": 10.0},
        {"lr": 2e-3},
        {"label_smoothing": 0.2},
        {"label_smoothing": 0.3, "average_epochs": 10.0},
        {"normalize_features": "scaled"},
        {"normalize_features": "row", "lr": 1e-2},
        {"input_dropout": 0.8, "dropout": 0.5},
        {"epochs": 200, "patience": 80, "lr": 5e-4},
        {"multiplicity_bias": True, "num_inference": 16},
        {"weight_decay": 1.0, "average_epochs": 10.0, "num_inference": 16, "sampling": "fixed"},
    ],
    ("actor", UNIFORM): [
        {"average_epochs": 10.0},
        {"num_sampled": 5},
        {"num_supernodes": 0},
        {"input_dropout": 0.7},
        {"lr": 1e-3, "batch_size": 128},
        {"weight_decay": 1.0},
        {"dropout": 0.3},
        {"coarsening_rate": 0.01},
        {"label_smoothing": 0.2},
    ],
    ("pubmed", UNIFORM): [
        {"batch_size": 128, "lr": 5e-4},
        {"batch_size": 128, "lr": 1e-3, "beta1": 0.9},
        {"batch_size": 128, "lr": 1e-3, "beta1": 0.9, "average_epochs": 3.0},
    ],
}
WEBKB_CHANGES: list[dict[str, Any]] = [
    {"num_sampled": 5},
    {"num_sampled": 10, "num_inference": 16},
    {"average_epochs": 3.0},
    {"average_epochs": 10.0},
    {"hidden_channels": 256, "lr": 5e-4},
    {"hidden_channels": 512, "lr": 5e-4},
    {"weight_decay": 1.0},
    {"weight_decay": 10.0},
    {"input_dropout": 0.8, "dropout": 0.7},
    {"input_dropout": 0.8, "dropout": 0.5},
    {"num_global": 0},
    {"sampling": "knn"},
    {"label_smoothing": 0.0},
    {"label_smoothing": 0.2},
    {"multiplicity_bias": True, "bandit_step": 16.0},
    {"num_augmentations": 16},
    {"epochs": 200, "patience": 80, "average_epochs": 10.0},
    {"num_supernodes": 3, "super_features": "mean"},
]


SECOND_CHANGES: dict[str, list[dict[str, Any]]] = {
    "cora": [
        {"num_sampled": 20},
        {"bandit_step": 1.0},
        {"num_sampled": 20, "bandit_step": 1.0},
        {"weight_decay": 30.0},
        {"attention_dropout": 0.5},
        {"hidden_channels": 512},
        {"num_sampled": 20, "num_augmentations": 8},
        {"num_supernodes": 3},
        {"multiplicity_bias": True},
        {"num_layers": 2},
        {"num_sampled": 20, "label_smoothing": 0.1},
        {"normalize_features": "none"},
        {"batch_size": 128, "lr": 2e-3},
        {"dropout": 0.5},
        {"average_epochs": 20.0},
    ],
    "citeseer": [
        {"bandit_step": 1.0},
        {"bandit_step": 0.3},
        {"bandit_step": 0.3, "weight_decay": 1.0},
        {"bandit_step": 0.3, "weight_decay": 10.0},
        {"bandit_step": 0.3, "average_epochs": 10.0},
        {"bandit_step": 0.3, "label_smoothing": 0.2},
        {"bandit_step": 0.3, "normalize_features": "scaled"},
        {"bandit_step": 0.3, "hidden_channels": 256},
        {"bandit_step": 0.3, "input_dropout": 0.8, "dropout": 0.5},
        {"bandit_step": 0.3, "num_sampled": 5},
        {"bandit_step": 0.3, "num_sampled": 20},
        {"bandit_step": 0.3, "lr": 2e-3},
        {"bandit_step": 0.3, "lr": 5e-4, "epochs": 200, "patience": 80},
        {"bandit_step": 0.3, "num_supernodes": 3, "super_features": "mean"},
        {"bandit_step": 0.3, "num_augmentations": 8},
    ],
    "actor": [
        {"num_sampled": 5},
        {"num_supernodes": 0},
        {"input_dropout": 0.7},
        {"dropout": 0.3},
        {"num_sampled": 5, "batch_size": 128, "lr": 8e-4},
        {"num_sampled": 5, "batch_size": 128, "lr": 4e-4},
        {"num_sampled": 5, "num_inference": 16},
        {"num_sampled": 5, "label_smoothing": 0.2},
    ],
}
"""Plan "kinds-2": around the better ones of plan "kinds"."""
LONGER: list[dict[str, Any]] = [
    {"lr": 2e-3},
    {"epochs": 200, "patience": 80},
    {"lr": 2e-3, "epochs": 200, "patience": 80},
    {"lr": 5e-4, "epochs": 300, "patience": 120},
    {"num_augmentations": 8, "epochs": 200, "patience": 80},
    {"hidden_channels": 256},
    {"hidden_channels": 512, "lr": 5e-4, "num_augmentations": 8},
    {"multiplicity_bias": True},
    {"weight_decay": 1.0},
    {"input_dropout": 0.8, "dropout": 0.5},
]
"""Plan "kinds-2" on WebKB: an epoch is one update there, and half the learning rate learned too little in a hundred."""


def kind_trials(second: bool = False) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Plans "kinds" and "kinds-2": (data set, kind of split) -> settings, around the best so far on that kind."""
    drawn = calm_trials(20)
    bases = {
        ("cora", PER_CLASS): drawn[10] | {"num_sampled": 10, "weight_decay": 10.0},
        ("citeseer", UNIFORM): drawn[12] | {"num_sampled": 10, "average_epochs": 3.0},
        ("actor", UNIFORM): drawn[0],
    }
    webkb = [(name, kind) for name in ("texas", "cornell", "wisconsin") for kind in (PER_CLASS, UNIFORM)]
    if second:
        better = {
            "actor": {"average_epochs": 10.0},
            "cora": {"num_inference": 16},
            "citeseer": {"num_inference": 16},
        }
        plan = {
            at: [base | better[at[0]] | change for change in SECOND_CHANGES[at[0]]]
            for at, base in bases.items()
        }
        return plan | {at: [WORDS | change for change in LONGER] for at in webkb}
    plan = {at: [base | change for change in STEADIER + KIND_CHANGES[at]] for at, base in bases.items()}
    plan["citeseer", UNIFORM] += [drawn[1] | {"batch_size": 128, "lr": 2e-3} | extra for extra in STEADIER]
    plan["pubmed", UNIFORM] = [{}, *KIND_CHANGES["pubmed", UNIFORM]]
    return plan | {at: [WORDS | change for change in STEADIER + WEBKB_CHANGES] for at in webkb}


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


def calm_trials(count: int) -> list[dict[str, Any]]:
    """Draws from CALM_SPACE, the same for every data set."""
    rng = random.Random(1)
    return [
        CALM_BASE | {name: rng.choice(values) for name, values in CALM_SPACE.items()} for _ in range(count)
    ]


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


def run_trial(task: tuple[str, int, str, int, dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    from ansgt.pipeline import prepare_run
    from ansgt.storage import DiskCache
    from ansgt.training.fit import release_memory, train_split

    dataset, number, kind, index, settings = task
    overrides = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    record = {"dataset": dataset, "trial": number, "kind": kind, "split": index, "settings": settings}
    started = time.perf_counter()
    shared = {"root": options.root, "device": options.device, "cache_dir": options.cache}
    data, config = prepare_run(dataset, "ansgt", split=kind, overrides=overrides, **shared)
    record["config"] = config.as_dict()  # `settings` alone leave open what the shipped file adds
    split = data.split(kind, index, 0)
    with tempfile.TemporaryDirectory() as folder:
        learner: Any = train_split(
            config, data.graph, split, Path(folder), DiskCache(options.cache), None, 1e9
        )
        result = json.loads((Path(folder) / "result.json").read_text())
        rows = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    for key in ("val_accuracy", "val_loss", "best_epoch", "epochs_run"):
        record[key] = result[key]
    record["smooth_accuracy"] = smooth_maximum([row["val_accuracy"] for row in rows])
    record["p"] = [round(p, 4) for p in learner.p.tolist()]
    record["seconds"] = time.perf_counter() - started
    del learner
    release_memory(options.device)
    return record


def planned_tasks(options: argparse.Namespace) -> list[tuple[str, int, str, int, dict[str, Any]]]:
    """(data set, trial, kind, split, settings), trial by trial over the data sets and kinds that are asked for."""
    names, kinds = options.datasets.split(","), options.kinds.split(",")
    if options.plan.startswith("kinds"):
        every = kind_trials(second=options.plan == "kinds-2")
        plans = {at: plan for at, plan in every.items() if at[0] in names and at[1] in kinds}
    else:
        plans = {
            (name, kind): planned(options.plan, name, options.trials) for name in names for kind in kinds
        }
    return [
        (name, number, kind, index, chosen[number])
        for number in range(options.skip, max(map(len, plans.values())))
        for (name, kind), chosen in plans.items()
        if number < len(chosen)
        for index in range(options.splits)
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument(
        "--plan", choices=("random", "calm", "around", "kinds", "kinds-2", *PLANS), default="random"
    )
    parser.add_argument("--kinds", default="uniform-60-20-20", help="kinds of split, separated by commas")
    parser.add_argument("--skip", type=int, default=0, help="leave out the plan's first trials")
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    options = parser.parse_args()
    tasks = planned_tasks(options)
    run_pool(run_trial, tasks, options, Path(options.out) / "search_ansgt.jsonl")


if __name__ == "__main__":
    main()
