"""Saving and overwriting: at every moment a whole model is there, and a stranger's files stay."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from ansgt import NodeClassifier, load_dataset
from ansgt.cli import build_app
from ansgt.errors import BrokenRunError, BusyError, InputError
from ansgt.runs.folder import RunFolder

TINY = {"num_layers": 1, "hidden_channels": 8, "num_heads": 2, "num_augmentations": 2, "num_sampled": 5}
TRAIN = ["train", "newman", "--model", "mlp", "--device", "cpu", "-o", "epochs=2"]


@pytest.fixture(scope="module")
def fitted() -> NodeClassifier:
    return NodeClassifier(epochs=2, device="cpu", **TINY).fit(load_dataset("newman"))


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_saved_onto_the_folder_it_was_loaded_from(fitted: NodeClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    before = files(tmp_path / "m")
    loaded = NodeClassifier.load(tmp_path / "m", device="cpu")
    loaded.save(tmp_path / "m")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    loaded.save(tmp_path / "link")
    assert files(tmp_path / "m") == before
    assert np.array_equal(NodeClassifier.load(tmp_path / "m").predict(), fitted.predict())


def test_links_are_followed(fitted: NodeClassifier, tmp_path: Path) -> None:
    other = NodeClassifier("mlp", epochs=1, device="cpu").fit(load_dataset("newman"))
    fitted.save(tmp_path / "m")
    for link, target in (("link", "m"), ("dangling", "new")):
        (tmp_path / link).symlink_to(tmp_path / target)
        other.save(tmp_path / link)
        assert (tmp_path / link).is_symlink()
        assert np.array_equal(NodeClassifier.load(tmp_path / target).predict(), other.predict())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "link", "m", "new"]


@pytest.mark.parametrize("place", [None, "a\0b", "x" * 300, "/proc/x"])
def test_no_place_to_save_to(place: str | None, fitted: NodeClassifier) -> None:
    with pytest.raises(InputError, match="Cannot"):
        fitted.save(place)


def test_saved_to_the_folder_that_one_stands_in(
    fitted: NodeClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for seed in (0, 1):
        other = NodeClassifier("mlp", epochs=1, seed=seed, device="cpu").fit(load_dataset("newman"))
        other.save(".")
        assert Path("config.json").exists()
        assert np.array_equal(NodeClassifier.load(tmp_path / "here").predict(), other.predict())


def test_a_folder_that_a_run_writes_to_is_not_saved_to(fitted: NodeClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    with RunFolder(tmp_path / "m").lock(), pytest.raises(BusyError):
        fitted.save(tmp_path / "m")


def test_what_a_killed_process_left_goes_with_the_next_copy(fitted: NodeClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    for name in (".m.killed.tmp", ".m.working.tmp", ".m.theirs.tmp"):
        (tmp_path / name).mkdir()
        if "theirs" not in name:
            (tmp_path / name / ".lock").touch()
    with RunFolder(tmp_path / ".m.working.tmp").lock():
        fitted.save(tmp_path / "m")
    assert {path.name for path in tmp_path.iterdir()} == {"m", ".m.working.tmp", ".m.theirs.tmp"}


def test_a_strangers_folder_is_refused_and_left_as_it_was(fitted: NodeClassifier, tmp_path: Path) -> None:
    (tmp_path / "theirs" / "split-x").mkdir(parents=True)
    (tmp_path / "theirs" / "split-x" / "notes.txt").write_text("dear to me")
    before = files(tmp_path / "theirs")
    with pytest.raises(InputError, match="not of a run of ansgt"):
        fitted.save(tmp_path / "theirs")
    (tmp_path / "file").write_text("a file")
    with pytest.raises(InputError, match="it is a file"):
        fitted.save(tmp_path / "file")
    assert files(tmp_path / "theirs") == before


def test_a_strangers_files_beside_an_older_model_stay(fitted: NodeClassifier, tmp_path: Path) -> None:
    target = tmp_path / "m"
    fitted.save(target)
    for place in (
        "notes.txt",
        "split-x/notes.txt",
        "split-0/notes.txt",
        "split-0/deep/er/notes.txt",
        "split-0/model-0/notes.txt",
    ):
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_text("dear to me")
    (target / "report.html").write_text("of the older model")
    other = NodeClassifier(epochs=1, seed=5, device="cpu", **TINY).fit(load_dataset("newman"))
    other.save(target)
    assert sum(path.name == "notes.txt" for path in target.rglob("*")) == 5
    assert not (target / "report.html").exists()
    assert np.array_equal(NodeClassifier.load(target, device="cpu").predict_proba(), other.predict_proba())
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


SCRIPT = """
import sys
from ansgt import NodeClassifier
classifiers = [NodeClassifier.load(path, device="cpu") for path in sys.argv[1:3]]
print("ready", flush=True)
while True:
    for classifier in classifiers:
        classifier.save(sys.argv[3])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_killed_while_saving_there_is_a_whole_model(fitted: NodeClassifier, tmp_path: Path) -> None:
    other = NodeClassifier(epochs=1, seed=5, device="cpu", **TINY).fit(load_dataset("newman"))
    fitted.save(tmp_path / "a")
    other.save(tmp_path / "b")
    known = {fitted.predict_proba().tobytes(), other.predict_proba().tobytes()}
    target, rng = tmp_path / "target", np.random.default_rng(0)
    fitted.save(target)
    for _ in range(4):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / "a"), str(tmp_path / "b"), str(target)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 + 0.03 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert NodeClassifier.load(target, device="cpu").predict_proba().tobytes() in known


def invoke(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(["train"]), list(arguments))
    return done.exit_code, done.stderr


def test_overwrite_removes_what_a_run_wrote_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert invoke(*TRAIN, "--run-dir", str(folder), "--num-splits", "2")[0] == 0
    (folder / "split-x").mkdir()
    (folder / "split-x" / "notes.txt").write_text("dear to me")
    (folder / "split-1" / "notes.txt").write_text("dear to me")
    for name in ("predictions.csv", "report.html"):
        (folder / name).write_text("of the older run")
    assert invoke(*TRAIN, "--run-dir", str(folder), "--overwrite")[0] == 0
    found = set(files(folder))
    assert {"split-x/notes.txt", "split-1/notes.txt", "split-0/result.json"} <= found
    assert found.isdisjoint({"predictions.csv", "report.html", "split-1/result.json"})


def test_a_strangers_run_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "split-0").mkdir()
    (tmp_path / "split-0" / "model.safetensors").write_text("theirs")
    code, message = invoke(*TRAIN, "--run-dir", str(tmp_path), "--overwrite")
    assert code == 2
    assert "but not of a run of ansgt" in message
    assert files(tmp_path) == {"split-0/model.safetensors": b"theirs", ".lock": b""}


def test_what_a_killed_run_left_goes_when_it_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert invoke(*TRAIN, "--run-dir", str(folder))[0] == 0
    (folder / "split-0" / ".result.json.abc.tmp").write_text("half")
    (folder / ".summary.json.abc.tmp").write_text("half")
    (folder / ".mine.tmp").write_text("a stranger's")
    assert invoke(*TRAIN, "--run-dir", str(folder), "--resume")[0] == 0
    assert [path.name for path in folder.rglob("*.tmp")] == [".mine.tmp"]


def test_nan_ends_a_fit_with_a_sentence(tmp_path: Path) -> None:
    data = load_dataset("newman")
    with pytest.raises(BrokenRunError, match=r"broken down: .*(NaN|nan|infinity)"):
        NodeClassifier("mlp", lr=1e30, epochs=20, device="cpu", patience=None).fit(data)


def test_weights_that_are_nan_do_not_load(tmp_path: Path) -> None:
    from ansgt.runs.folder import SplitFolder

    folder = SplitFolder(tmp_path)
    folder.write_weights({"w": torch.tensor([1.0, float("nan")])})
    with pytest.raises(InputError, match="hold NaN or infinity in 'w'"):
        folder.weights()


def test_nan_ends_a_run_with_exit_code_1(tmp_path: Path) -> None:
    code, message = invoke(*TRAIN, "--run-dir", str(tmp_path / "run"), "-o", "lr=1e30", "-o", "epochs=20")
    assert code == 1
    assert "broken down" in message
    assert "Traceback" not in message
    assert not (tmp_path / "run" / "summary.json").exists()
