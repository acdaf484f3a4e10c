"""Means of models: what is averaged, and what a known case gives."""

import numpy as np

from study.scripts.several_seeds import averaged, chosen_epoch, of_split


def test_the_kept_epoch_is_the_most_accurate_and_ties_go_to_the_smaller_loss() -> None:
    y = np.array([0, 1])
    wrong, right, sure = [[0.4, 0.6], [0.4, 0.6]], [[0.6, 0.4], [0.4, 0.6]], [[0.9, 0.1], [0.1, 0.9]]
    assert chosen_epoch(np.array([wrong, right, sure, right]), y) == 2


def test_every_model_keeps_its_own_epoch_or_all_the_same() -> None:
    y = np.array([0, 0])
    good, bad = [[0.9, 0.1]] * 2, [[0.2, 0.8]] * 2
    first, second = np.array([good, bad]), np.array([bad, bad, good])
    both = np.array([0, 1])
    assert averaged([first, second], y, both, both) == {"own": 1.0, "same": 1.0}
    early, late = np.array([good, bad]), np.array([[[0.0, 1.0]] * 2, good])
    assert averaged([early, late], y, both, both) == {"own": 1.0, "same": 1.0}
    apart = [np.array([good, [[0.0, 1.0]] * 2]), np.array([[[0.0, 1.0]] * 2, good])]
    assert averaged(apart, y, both, both) == {"own": 1.0, "same": 0.0}


def test_independent_errors_average_out() -> None:
    rng = np.random.default_rng(0)
    y = np.zeros(60, dtype=int)
    models = []
    for _ in range(8):
        logit = 0.8 + 1.5 * rng.normal(size=(3, 60))
        p = 1 / (1 + np.exp(-logit))
        models.append(np.stack([p, 1 - p], axis=2))
    one, eight = (of_split(models, y, together, 0)["own"] for together in (1, 8))
    assert eight > one + 0.1
