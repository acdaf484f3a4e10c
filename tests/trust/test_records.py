"""Damaged run directories: whatever parsing raises is one sentence that names the file."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzz_cases import finished

from ansgt.errors import InputError
from ansgt.runs.folder import by_model, open_run
from ansgt.runs.reopen import FinishedRun, evaluate_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shutil.copytree(finished()[0], tmp_path / "run")
    return tmp_path / "run"


def read(run: Path) -> None:
    """Everything that verbs read of a run."""
    opened = FinishedRun.open(run, device="cpu")
    evaluate_run(opened)
    split = opened.folder.split(0)
    by_model(split.metrics())
    by_model(split.history())
    split.predictions()
    open_run(run).peak_bytes()


def refused(run: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        read(run)
    assert len(str(caught.value)) < 600
    assert name in str(caught.value) or run.name in str(caught.value)


@pytest.mark.parametrize("content", ["[]", "{}", "3", '{"variant": 3, "data_hash": null}'])
def test_run_json_without_its_fields(run: Path, content: str) -> None:
    (run / "run.json").write_text(content)
    refused(run, "run.json")


@pytest.mark.parametrize("index", [None, "0", 1.5, -1, 7])
def test_a_result_of_no_split(run: Path, index: object) -> None:
    path = run / "split-0" / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "index": index}))
    refused(run, "result.json")


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"probabilities": np.zeros((3, 3))},
        {"probabilities": np.array("x")},
        {"probabilities": np.zeros((24, 3), int)},
    ],
)
def test_predictions_of_another_shape(run: Path, arrays: dict[str, np.ndarray]) -> None:
    np.savez(run / "split-0" / "predictions.npz", **arrays)
    refused(run, "predictions.npz")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def nested(path: Path) -> None:
    path.write_text("[" * 100_000)


def numbers(path: Path) -> None:
    path.write_text("3\n4\n")


def a_number(path: Path) -> None:
    path.write_text("3.5")


@pytest.mark.parametrize("damage", [truncated, not_text, a_folder, nested, numbers, a_number])
@pytest.mark.parametrize(
    "name",
    ["config.json", "run.json", "split-0/result.json", "split-0/metrics.jsonl", "split-0/predictions.npz",
     "split-0/model.safetensors", "memory.json"],
)  # fmt: skip
def test_any_file_damaged_in_any_way(run: Path, name: str, damage: Callable[[Path], None]) -> None:
    path = run / name
    if not path.exists():
        path.write_text('{"peak_bytes": 3}')
    damage(path)
    refused(run, path.name)


def test_an_object_in_predictions_is_never_unpickled(run: Path) -> None:
    np.savez(run / "split-0" / "predictions.npz", probabilities=np.array([None] * 24))
    refused(run, "predictions.npz")


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        open_run(tmp_path / ("x" * 5000))
