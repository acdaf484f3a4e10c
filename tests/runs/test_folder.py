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
from ansgt.storage import TEMPORARY, save_state


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


def test_seconds_that_were_spent(tmp_path: Path) -> None:
    split = SplitFolder(tmp_path / "split-0")
    assert split.seconds_spent() == 0
    split.write_checkpoint({"seconds": 2.5})
    split.model(0).write_result({"seconds": 4.0})
    split.model(1).write_checkpoint({"seconds": 8.0})
    assert split.seconds_spent() == 14.5
    split.write_result({"seconds": 1.0})
    assert split.seconds_spent() == 1.0


def test_history_and_what_models_say_alone_are_read_back(tmp_path: Path) -> None:
    split = SplitFolder(tmp_path)
    split.write_history([])
    assert not (tmp_path / "history.jsonl").exists()
    assert split.alone() is None
    split.write_history([{"epoch": 3}])
    split.write_alone(np.arange(2), np.eye(2)[None])
    assert split.history() == [{"epoch": 3}]
    alone = split.alone()
    assert alone is not None
    assert (alone["nodes"].tolist(), alone["probabilities"].tolist()) == ([0, 1], [[[1, 0], [0, 1]]])


@pytest.mark.parametrize(
    "weights", [{"w": torch.tensor([1.0, float("nan")])}, {"w": torch.tensor(float("inf"))}]
)
def test_weights_that_are_no_numbers(weights: dict[str, torch.Tensor], tmp_path: Path) -> None:
    split = SplitFolder(tmp_path)
    split.write_weights({"a": torch.zeros(2), **weights})
    with pytest.raises(InputError, match="NaN or infinity in 'w'"):
        split.weights()
    split.write_weights({"a": torch.tensor([2**40])})
    assert split.weights()["a"].tolist() == [2**40]
    save_state(tmp_path / "model.safetensors", {"a": torch.zeros(1), "b": 3})
    with pytest.raises(InputError, match=r"model\.safetensors"):
        split.weights()


@pytest.mark.parametrize(("part", "other"), [("train", [0, 3]), ("val", [3]), ("test", [2, 3])])
def test_a_record_of_another_split(part: str, other: list[int], tmp_path: Path) -> None:
    nodes = {"train": [0, 4], "val": [1], "test": [2, 5]}
    own, wrong = (
        Split(**{name: torch.tensor(ids) for name, ids in parts.items()}, name="given")
        for parts in (nodes, {**nodes, part: other})
    )
    folder = SplitFolder(tmp_path)
    folder.write_split(own)
    folder.write_result({"split_hash": own.hash})
    folder.check_split(own)
    with pytest.raises(InputError, match="not the one that the data and the settings"):
        folder.check_split(wrong)
    folder.write_result({"split_hash": wrong.hash})
    with pytest.raises(InputError, match="not the one that the data and the settings"):
        folder.check_split(own)


def test_whose_a_folder_is(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert not folder.is_ours
    for content, ours in (
        ({"format": "ansgt run 2"}, True),
        ({"data_hash": "1", "versions": {}}, True),
        ({"format": "ansgt run 1"}, False),
        ({"data_hash": "1"}, False),
        ([], False),
    ):
        (tmp_path / "run.json").write_text(json.dumps(content))
        assert folder.is_ours == ours


def test_names_of_files_in_a_run_directory(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    files = (run.graph, run.default_predictions, run.default_report, run.weights_picture, run.tensorboard)
    assert [path.relative_to(tmp_path).as_posix() for path in (*files, run.default_program(".onnx"))] == [
        "graph.npz",
        "predictions.csv",
        "report.html",
        "weights.png",
        "tensorboard",
        "program.onnx",
    ]
    assert run.peak_bytes() is None
    run.write_peak_bytes(7)
    assert run.peak_bytes() == 7


def test_a_run_is_removed_and_what_others_put_beside_it_stays(run: Path, tmp_path: Path) -> None:
    folder = RunFolder(run)
    (run / "tensorboard").mkdir()
    (run / "tensorboard" / "events.out.tfevents.1").touch()
    kept = [run / "notes.txt", run / "split-0" / "notes.txt", run / "split-x" / "result.json"]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    temporary = run / "split-0" / TEMPORARY.replace("*", "result.json.1", 1).replace("*", "2")
    temporary.touch()
    copy = tmp_path / "copy"
    copy.mkdir()
    folder.copy_to(copy)
    assert not list(copy.rglob("notes.txt"))
    assert (copy / "split-0" / "result.json").read_bytes() == (run / "split-0" / "result.json").read_bytes()
    assert (copy / "run.json").exists()
    assert len(open_run(copy).results()) == 1
    folder.clear()
    left = [path for path in run.rglob("*") if path.is_file() and path.name != ".lock"]
    assert sorted(left) == sorted(kept)
    assert not (run / "tensorboard").exists()


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
