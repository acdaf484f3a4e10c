"""The run directory: what is written is read back, what is missing is named, what is damaged is one sentence."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from fuzz_runs import small_run

from ansgt.errors import BusyError, InputError
from ansgt.graph import Split
from ansgt.runs.folder import RunFolder, SplitFolder, by_model, open_run
from ansgt.runs.reopen import FinishedRun, evaluate_run


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
    for _ in range(2):  # the second finds nothing to remove
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    small_run(folder)
    return folder / "run"


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "run")
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


def test_a_finished_run_that_lost_a_split_is_noticed(run: Path) -> None:
    (run / "split-0" / "result.json").unlink()
    with pytest.raises(InputError, match=r"split-0 has lost its result\.json"):
        open_run(run).results()
    (run / "summary.json").unlink()  # now it is a run that was interrupted
    assert open_run(run).results() == []


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device without end")
@pytest.mark.parametrize(
    "name", ["config.json", "run.json", "split-0/result.json", "split-0/model.safetensors"]
)
def test_a_device_in_place_of_a_file_is_not_read(run: Path, name: str) -> None:
    (run / name).unlink()
    (run / name).symlink_to("/dev/zero")
    refused(run, Path(name).name)


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


def test_what_is_no_path() -> None:
    with pytest.raises(InputError, match="A run directory is a path, not 3"):
        open_run(3)  # type: ignore[arg-type]
