"""Tasks: what decides a record, clocks, and where it was made."""

import time
from pathlib import Path

import torch
from threadpoolctl import threadpool_info

from ansgt.reproduce.task import (
    Setup,
    TrainedTask,
    clocked,
    one_thread,
    preset_factor,
    provenance,
    training_seconds,
)


def test_settings_decide_the_record_and_the_device_does_not() -> None:
    one = TrainedTask("a", 1.0, "ansgt", "cora", "uniform-60-20-20", 3, {"num_layers": 2})
    other = TrainedTask("a", 1.0, "ansgt", "cora", "uniform-60-20-20", 3, {"num_layers": 3})
    assert one.asked(Setup()) != other.asked(Setup())
    assert one.asked(Setup(device="cuda")) == one.asked(Setup(device="cpu"))


def test_a_training_makes_its_record_and_goes_on_where_it_was(tmp_path: Path) -> None:
    overrides = {"train.epochs": 3, "train.patience": None}
    task = TrainedTask("a", 1.0, "mlp", "newman", "uniform-60-20-20", 2, overrides)
    first = task.measure(Setup(device="cpu", cache_dir=tmp_path / "cache"), tmp_path / "work")
    assert [row["index"] for row in first["splits"]] == [0, 1]
    again = task.measure(Setup(device="cpu", cache_dir=tmp_path / "cache"), tmp_path / "work")
    assert again == first, "finished splits are not trained again: their seconds are the same"


def test_both_clocks_run() -> None:
    with clocked() as clock:
        time.sleep(0.02)
        torch.rand(200, 200) @ torch.rand(200, 200)
    assert clock.wall >= 0.02
    assert 0 < clock.cpu < clock.wall


def test_one_thread_and_as_many_as_before() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} <= {1}
    assert torch.get_num_threads() == before


def test_the_paper_trains_longer_and_quick_is_quicker() -> None:
    assert preset_factor("paper", False) > 100
    assert preset_factor("shipped", True) < 1
    assert training_seconds("cora", 3, "gcn") < training_seconds("cora", 3, "ansgt")
    assert training_seconds("cora", 6) == 2 * training_seconds("cora", 3)


def test_where_a_record_was_made() -> None:
    found = provenance()
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory_gb"] is None or found["machine"]["memory_gb"] > 0
    assert len(found["date"]) == 10
