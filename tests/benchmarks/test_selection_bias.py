"""Crossed selection: luck is not rewarded, a truly better epoch is."""

import json
from pathlib import Path

import numpy as np

from ansgt.pipeline import prepare_run
from ansgt.storage import DiskCache
from ansgt.training.fit import train_split
from benchmarks.selection_bias import chosen_epochs, crossed, kept_validation, smooth


def one_hot(classes: np.ndarray) -> np.ndarray:
    return np.eye(2)[classes]


def test_smooth_is_the_mean_of_the_neighbours() -> None:
    assert smooth(np.array([0.0, 3.0, 6.0, 0.0, 0.0]), 3).tolist() == [1.0, 3.0, 3.0, 2.0, 0.0]


def test_rules_choose_their_epoch() -> None:
    hit = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    loss = np.array([[0.9] * 3, [0.8] * 3, [0.5] * 3, [0.1] * 3])
    chosen = chosen_epochs(hit, loss)
    assert chosen["accuracy"] == 2  # ties go to the smaller loss
    assert chosen["loss"] == 3
    assert chosen["last"] == 3


def test_epochs_that_guess_gain_nothing_from_being_many() -> None:
    rng = np.random.default_rng(0)
    y = np.zeros(40, dtype=int)
    guesses = [one_hot(rng.integers(0, 2, size=(200, 40))) for _ in range(20)]
    largest = np.mean([(p.argmax(axis=2) == y).mean(axis=1).max() for p in guesses])
    scores = [crossed(p, y, rng)["accuracy"] for p in guesses]
    assert largest > 0.65
    assert abs(np.mean(scores) - 0.5) < 0.05


def test_an_epoch_that_is_better_on_all_nodes_is_found() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=30)
    probabilities = one_hot(rng.integers(0, 2, size=(50, 30)))
    probabilities[17] = one_hot(y)
    assert crossed(probabilities, y, rng)["accuracy"] == 1.0


def test_every_look_at_the_validation_nodes_is_kept_and_nothing_else(tmp_path: Path) -> None:
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=["epochs=4", "hidden_channels=8"])
    split = data.split(config.split, 0, 0)
    with kept_validation("mlp", split) as kept:
        train_split(config, data.graph, split, tmp_path, DiskCache(tmp_path))
    assert [p.shape for p in kept] == [(len(split.val), data.graph.num_classes)] * 4
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    hits = [float((p.argmax(axis=1) == data.graph.y[split.val].numpy()).mean()) for p in kept]
    assert hits == [row["val_accuracy"] for row in rows]
