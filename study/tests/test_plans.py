"""The plans of the searches: the loader's three forms on small plans, and every stored file."""

import json

import pytest

from study.records import KINDS
from study.scripts.plans import Plan, balanced, load_plan, plan_names
from study.scripts.search_ansgt import DATASETS

UNIFORM, PER_CLASS = KINDS


def test_groups_change_their_base_and_serve_every_data_set() -> None:
    groups = [{"base": {"lr": 1, "dropout": 2}, "changes": [{}, {"lr": 3}]}, {"changes": [{"lr": 4}]}]
    cells = Plan("p", {"trials": groups}).cells(["cora", "texas"], [UNIFORM], 0)
    want = [{"lr": 1, "dropout": 2}, {"lr": 3, "dropout": 2}, {"lr": 4}]
    assert cells == {("cora", UNIFORM): want, ("texas", UNIFORM): want}


def test_cells_hold_for_their_kind_of_split_or_for_all() -> None:
    content = {"cells": {"cora": [{"changes": [{"a": 1}]}], f"texas@{PER_CLASS}": [{"changes": [{"a": 2}]}]}}
    plan = Plan("p", content)
    assert plan.cells(["texas", "cora"], [UNIFORM], 0) == {("cora", UNIFORM): [{"a": 1}]}
    assert set(plan.cells(["texas", "cora"], list(KINDS), 0)) == {
        ("cora", UNIFORM),
        ("cora", PER_CLASS),
        ("texas", PER_CLASS),
    }


def test_draws_come_after_the_first_trial_and_over_the_base() -> None:
    content = {
        "draw": "independent",
        "seed": 0,
        "first": "base",
        "base": {"epochs": 5},
        "base_of": {"texas": {"epochs": 8}},
        "space": {"lr": [1, 2], "dropout": [3]},
    }
    cells = Plan("p", content).cells(["cora", "texas"], [UNIFORM], 6)
    cora, texas = cells.values()
    assert cora[0] == {"epochs": 5}
    assert len(cora) == 6
    assert all(trial["epochs"] == 5 and trial["lr"] in (1, 2) and trial["dropout"] == 3 for trial in cora[1:])
    assert [trial | {"epochs": 8} for trial in cora] == texas
    assert cora[:3] == Plan("p", content).cells(["cora"], [UNIFORM], 3)["cora", UNIFORM], (
        "fewer: the same first ones"
    )


def test_values_of_a_balanced_plan_are_equally_frequent() -> None:
    space = {"lr": [1, 2, 3], "dropout": [4, 5]}
    points = balanced(space, 12)
    for name, values in space.items():
        assert [sum(point[name] == value for point in points) for value in values] == [
            12 / len(values)
        ] * len(values)


@pytest.mark.parametrize("name", plan_names())
def test_a_stored_plan_has_trials_of_known_data_sets_and_none_twice(name: str) -> None:
    cells = load_plan(name).cells(list(DATASETS), list(KINDS), 24)
    assert cells
    for trials in cells.values():
        assert len({json.dumps(trial, sort_keys=True) for trial in trials}) == len(trials) > 1


def test_plans_give_the_trials_that_the_logs_hold() -> None:
    """The first search's log names its trials: what is drawn today is what was trained then."""
    from study.records import read_log

    logged = {
        row["trial"]: row["settings"] for row in read_log("ansgt-drawn-citeseer.jsonl") if "error" not in row
    }
    trials = load_plan("drawn-citeseer").cells(["citeseer"], [UNIFORM], 0)["citeseer", UNIFORM]
    assert {number: trials[number] for number in logged} == logged
