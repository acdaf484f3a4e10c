"""The run directory: what is written is read back, and what is missing is named."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ansgt.errors import BusyError, InputError
from ansgt.graph import Split
from ansgt.runs.folder import RunFolder, SplitFolder, by_model


def test_files_of_a_split_round_trip(tmp_path: Path) -> None:
    folder = SplitFolder(tmp_path / "split-0")
    assert not folder.is_finished
    rows = [{"epoch": 0, "loss": 1.5}, {"epoch": 1, "loss": 0.5}]
    folder.write_metrics(rows)
    folder.write_weights({"w": torch.ones(2)})
    folder.write_predictions(np.eye(3), np.arange(3))
    folder.write_split(Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), "given"))
    folder.write_checkpoint({"epoch": 2, "learner": {"m": torch.zeros(1)}})
    folder.write_result({"index": 0})
    assert folder.is_finished
    assert folder.metrics() == rows
    assert folder.history() == []
    assert torch.equal(folder.weights()["w"], torch.ones(2))
    assert np.array_equal(folder.predictions()["probabilities"], np.eye(3))
    assert folder.checkpoint()["epoch"] == 2
    folder.remove_checkpoint()
    assert not folder.has_checkpoint
    stored = folder.result()
    assert set(stored.pop("files")) == {"metrics.jsonl", "model.safetensors", "predictions.npz", "split.npz"}
    assert stored == {"index": 0}


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"split-4 of .* is not finished: it has no model\.safetensors"):
        RunFolder(tmp_path).split(4).weights()
    with pytest.raises(InputError, match="not a run directory"):
        RunFolder(tmp_path).config()


def test_folders_of_models_go_when_the_split_is_done(tmp_path: Path) -> None:
    folder = SplitFolder(tmp_path)
    for number in range(2):
        folder.model(number).write_result({})
    (tmp_path / "model.safetensors").write_text("stays")
    folder.remove_models()
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_rows_by_model_understand_version_0_1() -> None:
    rows = [{"epoch": 0, "restart": 0}, {"epoch": 0, "restart": 1}]
    assert by_model(rows) == [rows[:1], rows[1:]]
    new = [{"epoch": 0, "model": 0}, {"epoch": 0, "model": 1}]
    assert by_model(new) == [new[:1], new[1:]]
    assert by_model([{"epoch": 0}, {"epoch": 1}]) == [[{"epoch": 0}, {"epoch": 1}]]


def test_a_second_writer_is_refused_at_once(tmp_path: Path) -> None:
    with RunFolder(tmp_path).lock(), pytest.raises(BusyError), RunFolder(tmp_path).lock():
        pass
