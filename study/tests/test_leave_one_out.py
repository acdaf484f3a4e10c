"""What the search without a graph of one's own trains: valid settings, equal numbers of trials, validation alone decides."""

from pathlib import Path

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
)

PLAN = candidates()
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
        {"family": "gcn", "candidate": name, "val_accuracy": value, "test_accuracy": 1 - value}
        for name, value in values.items()
    ] + [{"family": "gcn", "candidate": "deep", "error": "broken"}]
    tasks = second_tasks(PLAN, rows, keep=2)
    assert {task["candidate"] for task in tasks} == {"wide", "residual"}
    assert {task["index"] for task in tasks} == {1, 2}
    assert len(tasks) == 2 * 2 * len(PLAN["datasets"])


def test_archives_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("study.scripts.leave_one_out.LARGEST_FILE", 20_000)
    for number in range(30):
        np.save(tmp_path / f"{number}.npy", np.zeros(1000, dtype=np.float16))
    pack(tmp_path, tmp_path, most=3)
    sizes = [path.stat().st_size for path in tmp_path.glob("*.tar")]
    assert len(sizes) == 3
    assert max(sizes) < 31_000
