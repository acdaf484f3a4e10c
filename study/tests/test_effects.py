"""Effects of settings: a known truth is found, and the second round holds what it should."""

from typing import Any

import numpy as np
import pytest

from study.scripts.effects import best_levels, main_effects, ranked, second_round
from study.scripts.plans import balanced

TRUTH = {"width": {1: 0.0, 2: 1.5, 4: 0.5}, "own": {False: 0.0, True: 2.0}, "rate": {0.1: 0.0, 0.2: -1.0}}


def rows(noise: float = 0.0, datasets: tuple[str, ...] = ("a", "b")) -> list[dict[str, Any]]:
    """A search whose scores are sums of TRUTH, a constant per data set and split, and noise."""
    rng = np.random.default_rng(0)
    points = balanced({name: list(levels) for name, levels in TRUTH.items()}, 24)
    trials = [{}, *(settings | {"shared": 7} for settings in points)]
    made = []
    for dataset in datasets:
        for split in range(5):
            level = rng.normal(80, 10)
            for number, settings in enumerate(trials):
                score = sum(TRUTH[name][value] for name, value in settings.items() if name in TRUTH)
                score = (level + score + noise * rng.normal()) / 100
                row = {"dataset": dataset, "kind": "k", "split": split, "trial": number}
                made.append(row | {"settings": settings, "crossed_accuracy": score})
    return made


def test_effects_are_exact_without_noise() -> None:
    for effect in main_effects(rows()):
        assert effect.points == pytest.approx(TRUTH[effect.setting][effect.level], abs=1e-6)


def test_errors_cover_the_truth_under_noise() -> None:
    for effect in main_effects(rows(noise=3.0)):
        assert abs(effect.points - TRUTH[effect.setting][effect.level]) <= 3.5 * effect.error


def test_too_few_trials_give_no_effects_instead_of_wrong_ones() -> None:
    few = [row for row in rows() if row["trial"] <= 4]
    assert main_effects(few) == []
    assert best_levels(few) == {}
    assert second_round(few)["a", "k"][0] == {}


def test_best_levels_keep_what_is_shared() -> None:
    assert best_levels(rows()) == {"width": 2, "own": True, "rate": 0.1, "shared": 7}


def test_a_trial_that_lacks_splits_is_not_ranked() -> None:
    every = rows()
    best = ranked(every)[0][1]
    cut = [row for row in every if row["settings"] != best or row["split"] > 0]
    assert ranked(cut)[0][1] != best


def test_second_round_has_the_shipped_setting_first_and_nothing_twice() -> None:
    for plan in second_round(rows(noise=1.0)).values():
        assert plan[0] == {}
        assert best_levels(rows()) in plan
        assert all(settings not in plan[:i] for i, settings in enumerate(plan))
        assert 4 <= len(plan) <= 9
