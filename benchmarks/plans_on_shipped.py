"""Plans that change the settings shipped at the time, per data set and kind of split; kept as long as their logs are."""

from typing import Any

from benchmarks.plans_later import PER_CLASS, UNIFORM

WIDER_BATCH = {"batch_size": 128, "lr": 8e-4}
THIRD_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("actor", UNIFORM): [
        WIDER_BATCH,
        WIDER_BATCH | {"num_inference": 16},
        WIDER_BATCH | {"lr": 4e-4},
        WIDER_BATCH | {"lr": 1.6e-3},
        WIDER_BATCH | {"num_sampled": 10},
        WIDER_BATCH | {"dropout": 0.7},
        WIDER_BATCH | {"hidden_channels": 512, "lr": 4e-4},
        WIDER_BATCH | {"num_layers": 2},
        WIDER_BATCH | {"input_dropout": 0.7},
    ],
    ("actor", PER_CLASS): [{"batch_size": 128, "lr": 2e-3}, {"batch_size": 128}],
    ("pubmed", UNIFORM): [
        {"batch_size": 128, "lr": 8e-4},
        {"batch_size": 128, "lr": 1e-3, "beta1": 0.9, "average_epochs": 3.0},
    ],
    ("cora", PER_CLASS): [
        {"lr": 5e-4},
        {"num_augmentations": 8},
        {"num_sampled": 20, "bandit_step": 1.0},
        {"label_smoothing": 0.1},
        {"average_epochs": 20.0, "epochs": 150},
        {"batch_size": 128, "lr": 2e-3},
        {"num_layers": 2},
        {"input_dropout": 0.7},
        {"bandit_step": 0.3},
        {"num_sampled": 5},
        {"normalize_features": "none"},
        {"dropout": 0.5},
    ],
    ("citeseer", UNIFORM): [
        {"hidden_channels": 256},
        {"label_smoothing": 0.2},
        {"num_augmentations": 8},
        {"num_sampled": 20},
        {"num_sampled": 5},
        {"normalize_features": "scaled"},
        {"lr": 5e-4, "epochs": 200, "patience": 80},
        {"input_dropout": 0.8, "dropout": 0.5},
        {"average_epochs": 10.0},
        {"weight_decay": 1.0},
        {"num_layers": 2},
        {"num_supernodes": 3, "super_features": "mean"},
        {"select": "loss"},
    ],
}
"""Plan "kinds-3": changes of the settings shipped at the time, whose own validation accuracies are in results/runs."""

FOURTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("texas", PER_CLASS): [
        {},
        {"num_inference": 16},
        {"hidden_channels": 256},
        {"num_supernodes": 3, "super_features": "mean"},
        {"weight_decay": 1.0},
        {"hidden_channels": 256, "num_supernodes": 3, "super_features": "mean"},
        {"average_epochs": 3.0, "epochs": 150},
    ],
}
"""Plan "kinds-4": the better half of what was tried on Texas, on ten splits and with several seeds."""

LESS_DROPOUT = {"input_dropout": 0.8, "dropout": 0.5}
WORDS_AS_THEY_ARE = {"normalize_features": "none"}
FIFTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("citeseer", UNIFORM): [
        LESS_DROPOUT | {"attention_dropout": 0.1},
        {"input_dropout": 0.7, "dropout": 0.5},
        {"input_dropout": 0.7, "dropout": 0.3},
        {"input_dropout": 0.8, "dropout": 0.3},
        {"input_dropout": 0.5, "dropout": 0.5},
        LESS_DROPOUT | {"weight_decay": 1.0},
        LESS_DROPOUT | {"hidden_channels": 256},
        LESS_DROPOUT | {"label_smoothing": 0.2},
        LESS_DROPOUT | {"lr": 5e-4, "average_epochs": 5.0},
        LESS_DROPOUT | {"num_sampled": 5},
        LESS_DROPOUT | {"num_inference": 32},
    ],
    ("cora", PER_CLASS): [
        WORDS_AS_THEY_ARE | {"num_layers": 2},
        WORDS_AS_THEY_ARE | {"input_dropout": 0.7},
        WORDS_AS_THEY_ARE | {"lr": 5e-4},
        WORDS_AS_THEY_ARE | {"weight_decay": 1.0},
        WORDS_AS_THEY_ARE | {"label_smoothing": 0.1},
        WORDS_AS_THEY_ARE | {"num_sampled": 20},
        WORDS_AS_THEY_ARE | {"bandit_step": 1.0},
    ],
    ("actor", UNIFORM): THIRD_CHANGES["actor", UNIFORM][4:],
}
"""Plan "kinds-5": around what ten splits of plan "kinds-3" found better, and what of it Actor had not tried."""

TWO_LAYERS = WORDS_AS_THEY_ARE | {"num_layers": 2}
SHORT = LESS_DROPOUT | {"num_sampled": 5, "num_inference": 32}
SIXTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("cora", PER_CLASS): [
        TWO_LAYERS | {"label_smoothing": 0.1},
        TWO_LAYERS | {"bandit_step": 1.0},
        TWO_LAYERS | {"label_smoothing": 0.1, "bandit_step": 1.0},
    ],
    ("citeseer", UNIFORM): [
        SHORT,
        SHORT | {"dropout": 0.3},
        SHORT | {"dropout": 0.3, "label_smoothing": 0.2},
        SHORT | {"label_smoothing": 0.2},
    ],
}
"""Plan "kinds-6": the better changes of plan "kinds-5" together."""

SIZED = WIDER_BATCH | {"size_columns": True, "num_sampled": 10}
SEVENTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("actor", UNIFORM): [
        SIZED,
        SIZED | {"dropout": 0.3},
        SIZED | {"input_dropout": 0.7},
        SIZED | {"num_inference": 16},
        SIZED | {"num_sampled": 20},
        SIZED | {"dropout": 0.3, "num_inference": 16},
    ],
    ("citeseer", UNIFORM): [
        {"num_neighbors": 16},
        {"restart_prob": 0.4},
        {"num_heads": 2},
        {"num_global": 0},
        {"num_proximity": 3},
        {"ffn_multiplier": 4.0},
        {"mode": "without"},
        {"update_period": 20},
        {"num_neighbors": 8, "restart_prob": 0.4},
        {"num_augmentations": 16},
    ],
}
"""Plan "kinds-7": the number of words as a feature, around the best of results/search/ansgt-size-and-idf.jsonl, and what no
plan had changed on Citeseer."""

NEARER = {"num_neighbors": 16}
EIGHTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("citeseer", UNIFORM): [
        NEARER | {"num_heads": 2},
        NEARER | {"update_period": 20},
        NEARER | {"num_heads": 2, "update_period": 20},
        {"num_neighbors": 32},
        NEARER | {"num_sampled": 10},
        NEARER | {"ffn_multiplier": 4.0},
        NEARER | {"num_heads": 2, "num_global": 0},
        {"num_neighbors": 12},
    ],
}
"""Plan "kinds-8": the better changes of plan "kinds-7" together."""

NINTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("texas", PER_CLASS): [
        {},
        {"average_epochs": 3.0},
        {"average_epochs": 10.0},
        {"size_columns": True},
        {"lr": 5e-4},
        {"lr": 3e-4, "epochs": 200, "patience": 80},
        {"lr": 2e-3},
        {"hidden_channels": 256},
        {"hidden_channels": 64},
        {"num_sampled": 10},
        {"num_sampled": 40},
        {"input_dropout": 0.95},
        {"input_dropout": 0.8},
        {"dropout": 0.5},
        {"dropout": 0.8},
        {"attention_dropout": 0.7},
        {"attention_dropout": 0.2},
        {"ffn_multiplier": 4.0},
        {"ffn_multiplier": 1.0},
        {"num_heads": 4},
        {"num_heads": 2},
        {"num_proximity": 3},
        {"num_global": 1},
        {"num_global": 4},
        {"normalize_features": "scaled"},
        {"bandit_step": 16.0},
        {"multiplicity_bias": True},
        {"coarsening_rate": 0.3},
        {"coarsening_rate": 0.5},
        {"weight_decay": 3.0},
        {"weight_decay": 30.0},
        {"batch_size": 32},
        {"mode": "without"},
        {"num_neighbors": 16},
        {"restart_prob": 0.4},
        {"super_features": "paper"},
    ],
    ("cora", PER_CLASS): [
        {},
        {"num_augmentations": 8},
        {"dropout": 0.5},
        {"input_dropout": 0.7},
        {"attention_dropout": 0.3},
        {"num_sampled": 20},
        {"num_neighbors": 16},
        {"restart_prob": 0.4},
        {"num_heads": 2},
        {"num_proximity": 3},
        {"num_global": 0},
        {"num_layers": 3},
    ],
}
"""Plan "kinds-9": one change each, judged by the crossed accuracy; the best few again with other seeds."""

SLOWER = {"lr": 3e-4, "epochs": 200, "patience": 80}
LONGER, FEWER_HEADS, SLIM, NEAR = {"num_sampled": 40}, {"num_heads": 4}, {"ffn_multiplier": 1.0}, NEARER
TWO_HEADS = {"num_heads": 2}
TENTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("texas", PER_CLASS): [
        {},
        SLOWER,
        LONGER,
        FEWER_HEADS,
        SLIM,
        {"input_dropout": 0.95},
        NEAR,
        SLOWER | LONGER,
        SLOWER | FEWER_HEADS,
        SLOWER | SLIM,
        SLOWER | {"input_dropout": 0.95},
        SLOWER | NEAR,
        LONGER | FEWER_HEADS,
        LONGER | SLIM,
        LONGER | NEAR,
        FEWER_HEADS | SLIM,
        FEWER_HEADS | NEAR,
        SLOWER | LONGER | FEWER_HEADS,
        SLOWER | LONGER | SLIM,
        SLOWER | LONGER | NEAR,
        SLOWER | FEWER_HEADS | SLIM,
        SLOWER | LONGER | FEWER_HEADS | SLIM,
        SLOWER | {"lr": 2e-4, "epochs": 300, "patience": 120},
        SLOWER | {"lr": 5e-4},
        SLOWER | {"num_sampled": 55},
    ],
    ("cora", PER_CLASS): [
        {},
        TWO_HEADS,
        TWO_HEADS | {"dropout": 0.5},
        TWO_HEADS | {"num_augmentations": 8},
        TWO_HEADS | {"restart_prob": 0.4},
        TWO_HEADS | {"dropout": 0.5, "restart_prob": 0.4},
        {"num_heads": 4},
        TWO_HEADS | {"num_layers": 3},
    ],
}
"""Plan "kinds-10": the better changes of plan "kinds-9" again and together, with other seeds."""

ELEVENTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("texas", PER_CLASS): [
        {},
        {"num_sampled": 55},
        {"lr": 5e-4, "epochs": 200, "patience": 80},
        {"num_augmentations": 8},
        {"attention_dropout": 0.7},
        {"restart_prob": 0.4},
        {"num_neighbors": 32},
        {"mode": "without"},
        {"num_inference": 16},
        {"weight_decay": 3.0},
    ],
}
"""Plan "kinds-11": around what plan "kinds-10" found on Texas."""

TWELFTH_CHANGES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("cora", PER_CLASS): [{}, {"own_features": True}],
}
"""Plan "kinds-12": the centre's own features on Cora."""

ON_SHIPPED = {
    "kinds-3": THIRD_CHANGES,
    "kinds-4": FOURTH_CHANGES,
    "kinds-5": FIFTH_CHANGES,
    "kinds-6": SIXTH_CHANGES,
    "kinds-7": SEVENTH_CHANGES,
    "kinds-8": EIGHTH_CHANGES,
    "kinds-9": NINTH_CHANGES,
    "kinds-10": TENTH_CHANGES,
    "kinds-11": ELEVENTH_CHANGES,
    "kinds-12": TWELFTH_CHANGES,
}
