"""Curves over one setting: points compare on the splits that all of them have."""

import json
import shutil
from pathlib import Path

import pytest

from ansgt.reproduce.fig_sensitivity import (
    KNOBS,
    FigSensitivityActor,
    FigSensitivityCora,
    common_splits,
    peak,
)
from ansgt.reproduce.records import Records, stored_records
from ansgt.reproduce.tables import Number
from ansgt.reproduce.task import Setup
from ansgt.runs.statistics import Cell

ITEM = FigSensitivityCora()


def test_the_base_is_on_all_four_curves_and_trained_once() -> None:
    curves = ITEM.curves(Setup())
    base = ITEM.base(Setup())
    paths = {curves[key][base[key]].path for key in KNOBS}
    assert len(paths) == 1
    assert len(ITEM.tasks(Setup())) == sum(len(curve) for curve in curves.values()) - 3


def test_one_setting_changes_at_a_time() -> None:
    base = dict(ITEM.curves(Setup())["num_layers"][ITEM.base(Setup())["num_layers"]].overrides)
    for key, curve in ITEM.curves(Setup()).items():
        for value, task in curve.items():
            changed = {name for name, one in task.overrides.items() if base.get(name) != one}
            assert changed <= {key}
            assert value == ITEM.base(Setup())[key] or task.overrides[key] == value


def test_common_splits_keep_their_order() -> None:
    cells = [Cell("a", "cora", split_hashes=("x", "y", "z")), Cell("b", "cora", split_hashes=("z", "x"))]
    assert common_splits(cells) == ["x", "z"]
    assert common_splits([]) == []


def test_points_of_a_curve_are_means_over_the_same_splits(tmp_path: Path) -> None:
    """A split of one point alone does not move that point."""
    item = FigSensitivityActor()
    folder = tmp_path / "reproduce" / item.name
    shutil.copytree(stored_records() / "reproduce" / item.name, folder)
    paths = sorted(folder.rglob("*.json"))
    for number, path in enumerate(paths):
        content = json.loads(path.read_text())
        first = {**content["splits"][0], "split_hash": "first", "test_accuracy": 0.4}
        second = {**first, "index": 1, "split_hash": "second", "test_accuracy": 0.1}
        path.write_text(json.dumps({**content, "splits": [first, second] if number == 0 else [first]}))
    numbers = item.numbers(Records(tmp_path), Setup())
    found = [number for curve in numbers.values() for number in curve.values()]
    assert [number.value for number in found] == pytest.approx([40.0] * len(found))
    assert {number.count for number in found} == {1}


def test_the_peak_in_words() -> None:
    curve = {1: Number(80.0), 2: Number(82.5), 3: Number(81.0)}
    assert peak(("num_layers", curve)) == "L: highest at 2 (82.50); highest and lowest are 2.50 apart."
    assert peak(("num_layers", {**curve, 4: Number(None)})) == "L: 1 of 4 points are missing."


def test_without_records_there_is_no_picture(tmp_path: Path) -> None:
    shown = ITEM.show(Records(tmp_path), Setup())
    assert shown.pictures == []
    assert "of which there are 0 here" in shown.remarks[0]
