"""Plans whose trials are drawn at random, all settings at once: `effects.py` takes them apart into one effect a setting."""

import random
from typing import Any

from benchmarks.plans_later import PER_CLASS, UNIFORM

Space = dict[str, list[Any]]

WEBKB_SPACE: Space = {
    "own_features": [False, True],
    "hidden_channels": [128, 256, 512],
    "lr": [5e-4, 1e-3, 2e-3],
    "epochs": [100, 200],
    "weight_decay": [0.1, 10.0],
    "input_dropout": [0.8, 0.9],
    "dropout": [0.5, 0.7],
    "attention_dropout": [0.5, 0.8],
    "label_smoothing": [0.0, 0.1],
    "num_heads": [4, 8],
    "ffn_multiplier": [1.0, 2.0],
    "num_sampled": [20, 40],
    "num_supernodes": [0, 3],
    "num_augmentations": [4, 8],
    "num_neighbors": [16, 64],
    "restart_prob": [0.15, 0.4],
    "num_proximity": [3, 10],
    "bandit_step": [1.0, 4.0, 16.0],
}
WEBKB_SHARED = {"super_features": "mean", "patience": 80}
CITESEER_SPACE: Space = {
    "own_features": [False, True],
    "hidden_channels": [128, 256],
    "lr": [5e-4, 1e-3, 2e-3],
    "weight_decay": [0.1, 1.0, 10.0],
    "input_dropout": [0.8, 0.9],
    "dropout": [0.5, 0.7],
    "attention_dropout": [0.3, 0.5, 0.7],
    "label_smoothing": [0.1, 0.2],
    "average_epochs": [3.0, 10.0],
    "num_layers": [1, 2],
    "num_heads": [2, 8],
    "num_sampled": [5, 10],
    "num_supernodes": [0, 3],
    "num_augmentations": [4, 8],
    "num_neighbors": [16, 64],
    "num_proximity": [3, 10],
    "bandit_step": [0.3, 4.0],
    "normalize_features": ["none", "scaled"],
}


def drawn(space: Space, count: int, shared: dict[str, Any]) -> list[dict[str, Any]]:
    """The shipped setting, then `count` points of the space, every level of a setting equally often."""
    rng = random.Random(0)
    columns = {}
    for name, levels in space.items():
        column = [levels[i % len(levels)] for i in range(count)]
        rng.shuffle(column)
        columns[name] = column
    return [{}, *({name: column[i] for name, column in columns.items()} | shared for i in range(count))]


WEBKB_TRIALS = drawn(WEBKB_SPACE, 40, WEBKB_SHARED)
DRAWN: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = {
    "drawn-webkb": {(name, PER_CLASS): WEBKB_TRIALS for name in ("texas", "cornell", "wisconsin")},
    "drawn-citeseer": {("citeseer", UNIFORM): drawn(CITESEER_SPACE, 28, {})},
}
"""The same points on the three WebKB graphs, so that effects can be estimated on all of them together."""
