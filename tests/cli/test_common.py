"""Bad input through the command line: one sentence, exit code 2, no traceback. What `ansgt` sets for its process."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import ansgt as ansgt_package
from ansgt.cli import VERBS, build_app, keep_freed_memory, wait_quietly


def ansgt(*arguments: str) -> Any:
    return CliRunner().invoke(build_app([arguments[0]]), list(arguments))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good graph and one damaged in each way that can be."""
    folder = tmp_path_factory.mktemp("bad")
    good = {
        "x": np.random.default_rng(0).normal(size=(12, 3)),
        "edge_index": np.stack([np.arange(11), np.arange(1, 12)]),
        "y": np.arange(12) % 2,
    }
    masks = {f"{part}_mask": np.arange(12) // 4 == i for i, part in enumerate(("train", "val", "test"))}
    nan = good["x"].copy()
    nan[3, 1] = np.nan
    variants = {
        "good": good,
        "nan": good | {"x": nan},
        "inf": good | {"x": np.where(np.isnan(nan), np.inf, nan)},
        "range": good | {"edge_index": good["edge_index"] + 5},
        "labels": good | {"y": np.arange(12) % 2 * 2},
        "shape": good | {"y": np.zeros(5, dtype=int)},
        "overlap": good | masks | {"val_mask": masks["train_mask"]},
        "empty": good | masks | {"val_mask": np.zeros(12, dtype=bool)},
        "partial": {"x": good["x"]},
    }
    for name, arrays in variants.items():
        np.savez(folder / f"{name}.npz", **arrays)
    (folder / "text.npz").write_text("not a graph")
    (folder / "broken.yaml").write_text("model: [")
    (folder / "file").write_text("")
    return folder


TRAIN = ("--model", "mlp", "--device", "cpu", "-o", "epochs=3")
CASES = {
    "unknown data set": (("train", "cara", *TRAIN), "Unknown data set 'cara'; known: actor"),
    "unknown model": (("train", "newman", "--model", "gnc"), "Unknown model 'gnc'; known:"),
    "unknown split": (
        ("train", "newman", *TRAIN, "--split", "random"),
        "Unknown split of data set 'newman' 'random'",
    ),
    "absent files": (("train", "cora", *TRAIN, "--root", "nowhere"), "ind.cora.x does not exist"),
    "absent graph": (("train", "none.npz", *TRAIN), "none.npz does not exist"),
    "NaN feature": (("train", "nan.npz", *TRAIN), "Field 'x' holds nan at node 3, feature 1"),
    "infinite feature": (("train", "inf.npz", *TRAIN), "Field 'x' holds inf at node 3"),
    "edge out of range": (
        ("train", "range.npz", *TRAIN),
        "Field 'edge_index' names node 16, but the graph has 12",
    ),
    "labels of another length": (("train", "shape.npz", *TRAIN), "Field 'y' must have shape [12]"),
    "overlapping masks": (("train", "overlap.npz", *TRAIN), "in both train and val"),
    "an empty mask": (("train", "empty.npz", *TRAIN), "val part of split 'given' is empty"),
    "missing field": (("train", "partial.npz", *TRAIN), "no field 'edge_index'"),
    "not a graph": (("train", "text.npz", *TRAIN), "Cannot read the graph file"),
    "unknown setting": (("train", "newman", *TRAIN, "-o", "speed=3"), "Unknown setting 'speed'"),
    "wrong type": (("train", "newman", *TRAIN, "-o", "lr=fast"), "must be a number"),
    "broken settings": (("train", "newman", *TRAIN, "--config", "broken.yaml"), "not valid YAML"),
    "unknown device": (("train", "newman", "--model", "mlp", "--device", "tpu9"), "device"),
    "no splits": (("train", "newman", *TRAIN, "--num-splits", "0"), "num_splits must be at least 1, not 0"),
    "negative seed": (("train", "newman", *TRAIN, "--seed", "-1"), "seed must be at least 0, not -1"),
    "resume of nothing": (("train", "newman", *TRAIN, "--resume"), "--resume needs --run-dir"),
    "unwritable run directory": (
        ("train", "newman", *TRAIN, "--run-dir", "file/run"),
        "Cannot create the folder",
    ),
    "no such run": (("evaluate", "nowhere"), "run directory nowhere does not exist"),
    "not a run": (("evaluate", "."), "is not a run directory"),
    "predict from nothing": (("predict", "nowhere"), "does not exist"),
}


@pytest.fixture(autouse=True)
def _inside(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("ANSGT_CACHE", str(place / "cache"))


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_exit_code_2(case: str) -> None:
    arguments, message = CASES[case]
    done = ansgt(*arguments)
    assert done.exit_code == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len([line for line in done.stderr.splitlines() if line.startswith("error:")]) == 1


def test_usage_errors_exit_with_2_too() -> None:
    assert ansgt("train").exit_code == 2
    assert ansgt("fly").exit_code == 2
    assert ansgt("train", "newman", "--num-splits", "many").exit_code == 2


def test_a_truncated_checkpoint(place: Path) -> None:
    done = ansgt("train", "newman", *TRAIN, "--run-dir", "cut", "--overwrite")
    assert done.exit_code == 0, done.stderr
    model = place / "cut" / "split-0" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:100])
    done = ansgt("evaluate", "cut", "--device", "cpu")
    assert done.exit_code == 2
    assert "cut/split-0/model.safetensors is damaged" in done.stderr


def test_from_a_checkout_without_installing(place: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "ansgt", "train", "cara"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, env=env)
    assert done.returncode == 2
    assert done.stderr.startswith("error: Unknown data set 'cara'")
    assert "Traceback" not in done.stderr


def test_what_the_user_set_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    wait_quietly()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    assert not keep_freed_memory()


def test_glibc_accepts_the_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES"]:
        monkeypatch.delenv(name)
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")


@pytest.mark.parametrize("name", VERBS)
def test_help_shows_its_brackets(name: str) -> None:
    """`ansgt[cluster]` is an extra, not a style of rich's."""
    app = build_app([name])
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    written = [
        unescaped for one in command.params for unescaped in re.findall(r"\w\[[\w-]+\]", bare(one.help))
    ]
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "400"}).stdout
    assert [word for word in written if word not in shown] == []
    assert "\\[" not in shown


def bare(text: str | None) -> str:
    return (text or "").replace("\\[", "[")


def test_some_help_has_brackets() -> None:
    assert (
        "(extra: ansgt[tensorboard])"
        in CliRunner().invoke(build_app(["train"]), ["train", "--help"], env={"COLUMNS": "400"}).stdout
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    shown = CliRunner().invoke(build_app([]), ["--version"])
    assert (shown.exit_code, shown.stdout) == (0, f"ansgt {ansgt_package.__version__}\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [("ansgt tr", {"train"}), ("ansgt train --num", {"--num-splits"})],
)
def test_a_shell_completes_verbs_and_their_options(line: str, expected: set[str]) -> None:
    words = {"_ANSGT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    code = "import sys; sys.argv = ['ansgt']; from ansgt.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert set(done.stdout.split()) == expected, done.stderr
