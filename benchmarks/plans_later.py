"""Settings that the searches from 2026-11-16 on tried (docs/log.md); a plan is kept as long as its log is."""

import random
from typing import Any

from benchmarks.plans_first import BY_LOSS, FRESH, SMALL_MODEL

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


def calm_trials(count: int) -> list[dict[str, Any]]:
    """Draws from CALM_SPACE, the same for every data set."""
    rng = random.Random(1)
    return [
        CALM_BASE | {name: rng.choice(values) for name, values in CALM_SPACE.items()} for _ in range(count)
    ]


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
