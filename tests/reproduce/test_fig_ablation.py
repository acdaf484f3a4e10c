"""Figure 4: differences are paired over the same splits, or not made."""

from pathlib import Path
from typing import Any

import pytest

from ansgt.reproduce.fig_ablation import FigAblation
from ansgt.reproduce.records import Records
from ansgt.reproduce.task import Setup
from ansgt.storage import write_json


def write(folder: Path, model: str, accuracies: list[float], cut: str) -> None:
    rows = [
        {"index": k, "test_accuracy": a, "val_accuracy": a, "seconds": 1.0, "split_hash": f"{cut}{k}"}
        for k, a in enumerate(accuracies)
    ]
    facts = {"model": "ansgt", "dataset": "cora", "data_variant": "", "num_parameters": 1}
    write_json(folder / "runs" / f"{model}--cora--uniform-60-20-20.json", {"splits": rows, **facts})


def row_of(folder: Path) -> list[Any]:
    [table] = FigAblation().show(Records(folder), Setup()).tables
    [row] = [row for row in table.rows if row[0] == "cora"]
    return list(row)


def test_a_gap_with_its_interval(tmp_path: Path) -> None:
    write(tmp_path, "ansgt", [0.80, 0.82, 0.84], "a")
    write(tmp_path, "ansgt-fixed", [0.79, 0.80, 0.81], "a")
    row = row_of(tmp_path)
    assert row[1].value == pytest.approx(82.0)
    assert row[2].value == pytest.approx(80.0)
    assert row[3:] == ["+2.00", "-0.48 ... +4.48", "0.074"]


def test_other_splits_are_not_compared(tmp_path: Path) -> None:
    write(tmp_path, "ansgt", [0.80, 0.82], "a")
    write(tmp_path, "ansgt-fixed", [0.79, 0.80], "b")
    assert row_of(tmp_path)[3:] == ["other splits", "-", "-"]


def test_what_is_missing_has_no_gap(tmp_path: Path) -> None:
    write(tmp_path, "ansgt", [0.80, 0.82], "a")
    assert row_of(tmp_path)[3:] == ["-", "-", "-"]
