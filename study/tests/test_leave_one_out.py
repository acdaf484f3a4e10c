"""What the search without a graph of one's own trains: valid settings, equal numbers of trials, validation alone decides."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ansgt.datasets import load
from study.scripts.leave_one_out import (
    arm_tasks,
    candidates,
    config_of,
    first_tasks,
    name_of,
    pack,
    second_tasks,
    slow_rounds,
)

PLAN = candidates()
CELL = {"family": "gcn", "dataset": "texas", "split": "uniform-60-20-20", "index": 0}
TASKS = first_tasks(PLAN) + list(arm_tasks(PLAN, 1))


def test_every_family_has_the_same_number_of_candidates() -> None:
    assert {len(found["candidates"]) for found in PLAN["families"].values()} == {5}
    assert len(PLAN["datasets"]) >= 14
    names = [name_of(task) for task in TASKS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("family", [*PLAN["families"], "ablation", "shipped+links", "arms"])
def test_settings_are_valid(family: str) -> None:
    data = load("newman")
    seen = {str(task["settings"]): task for task in TASKS if task["family"] == family}
    for task in seen.values():
        config, _ = config_of(task, data, "cpu")
        assert config.data.link_features == task["settings"].get("link_features", "none")


def test_the_second_round_is_chosen_by_validation() -> None:
    values = {"default": 0.5, "wide": 0.9, "residual": 0.7, "calm": 0.6, "deep": 0.1}
    rows = [
        {**CELL, "candidate": name, "val_accuracy": value, "test_accuracy": 1 - value}
        for name, value in values.items()
    ] + [
        {"task": {}, "error": "broken"},
        {**CELL, "dataset": "dblp", "candidate": "deep", "val_accuracy": 1.0},
    ]
    tasks = second_tasks(PLAN, rows, keep=2)
    assert {task["candidate"] for task in tasks} == {"wide", "residual"}
    assert {task["index"] for task in tasks} == {1, 2}
    assert len(tasks) == 2 * 2 * len(PLAN["datasets"])


def test_rounds_on_a_cpu_look_at_validation_between_them() -> None:
    rows: list[dict[str, Any]] = []
    for number, tasks in enumerate(slow_rounds(PLAN, rows, 1)):
        large = {task["dataset"] for task in tasks} & set(PLAN["large_graphs"])
        assert large == ({"pubmed"} if number == 4 else set() if number < 2 else set(PLAN["large_graphs"]))
        if number == 2:
            assert {task["candidate"] for task in tasks if task["family"] == "gat"} == {
                "default",
                "wide",
                "calm",
            }
        rows += [
            {**task, "val_accuracy": len(task["candidate"]) / 10 - (task["candidate"] == "residual")}
            for task in tasks
        ] + [{"task": {}, "error": "broken"}]


def test_archives_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("study.scripts.leave_one_out.LARGEST_FILE", 20_000)
    for number in range(30):
        np.save(tmp_path / f"{number}.npy", np.zeros(1000, dtype=np.float16))
    pack(tmp_path, tmp_path, most=3)
    sizes = [path.stat().st_size for path in tmp_path.glob("*.tar")]
    assert len(sizes) == 3
    assert max(sizes) < 31_000
