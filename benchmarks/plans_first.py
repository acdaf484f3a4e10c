"""Settings that the searches of 2026-11-15 tried (docs/log.md); a plan is kept as long as its log is."""

from typing import Any

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
