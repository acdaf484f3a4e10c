"""Crossed selection: luck is not rewarded, a truly better epoch is."""

import numpy as np

from study.scripts.selection_bias import chosen_epochs, crossed, smooth


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
