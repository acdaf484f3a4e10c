"""Two processes train what one trains; a process that dies ends the run, which goes on with another number of them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared import CASES, trained
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.errors import InputError
from ansgt.ranks import Ranks
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.run import run

ROOT = Path(__file__).parents[1]
SETTINGS = (
    "num_layers=1 num_augmentations=2 hidden_channels=8 num_heads=2 update_period=2 epochs=6 num_models=2"
)
TRAIN = ["train", "newman", "--device", "cpu", *(part for one in SETTINGS.split() for part in ("-o", one))]
DIES = """
import functools, os, signal
from ansgt.cli import main
from ansgt.cli.interrupt import Interrupts
from ansgt.runs import run
goes_on = Interrupts.on_epoch

def on_epoch(self, progress):
    goes_on(self, progress)
    if os.environ["RANK"] == "1" and progress.epoch == 8:  # the third of the second model
        os.kill(os.getpid(), signal.SIGKILL)

Interrupts.on_epoch = on_epoch
run.Environment = functools.partial(run.Environment, checkpoint_seconds=0.0)
main()
"""


def by_two(*what: str, cache: Path) -> "subprocess.CompletedProcess[str]":
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "ANSGT_CACHE": str(cache)}
    return subprocess.run([*torchrun, *what], env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("two")
    done = by_two(str(ROOT / "tests" / "cases" / "shared.py"), str(folder / "results.json"), cache=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


@pytest.mark.parametrize("name", CASES)
def test_two_processes_train_what_one_does(name: str, results: dict[str, Any]) -> None:
    """Also with batches that two do not divide, where the last one leaves a process nothing but padding."""
    one, two = trained(name), results[name]
    assert one["updates"] == two["updates"] >= 5
    assert one["drawn"] == two["drawn"]
    assert one["losses"] == pytest.approx(two["losses"], abs=1e-5)
    for rewards, others in zip(one["rewards"], two["rewards"], strict=True):
        assert rewards == pytest.approx(others, rel=1e-5)
    for row, other in zip(one["probabilities"], two["probabilities"], strict=True):
        assert row == pytest.approx(other, abs=1e-5)


def test_a_killed_process_ends_the_run_and_one_or_two_go_on(tmp_path: Path) -> None:
    script, killed, copy = tmp_path / "dies.py", tmp_path / "run", tmp_path / "copy"
    script.write_text(DIES)
    done = by_two(str(script), *TRAIN, "--run-dir", str(killed), cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("error: Another process of this run was killed") == 1
    assert f"--run-dir {killed} --resume" in done.stderr
    assert not RunFolder(killed).split(0).is_finished
    assert RunFolder(killed).split(0).model(0).is_finished
    assert len(RunFolder(killed).split(0).model(1).metrics()) == 2, "the third epoch was not whole"
    shutil.copytree(killed, copy)

    def alone(folder: Path) -> int:
        given = [*TRAIN, "--run-dir", str(folder), "--cache-dir", str(tmp_path), "--resume"]
        return CliRunner().invoke(build_app(["train"]), given).exit_code

    assert alone(killed) == alone(tmp_path / "unbroken") == 0
    again = by_two(
        "--max-restarts",
        "1",
        "-m",
        "ansgt",
        *TRAIN,
        "--run-dir",
        str(copy),
        "--resume",
        "--json",
        cache=tmp_path,
    )
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["run_dir"] == str(copy), "one JSON object, of one process"
    whole, *others = (RunFolder(path).split(0) for path in (tmp_path / "unbroken", killed, copy))
    for other in others:
        losses = [[row["loss"] for row in folder.metrics()] for folder in (whole, other)]
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
        probabilities = [folder.predictions()["probabilities"] for folder in (whole, other)]
        assert np.abs(probabilities[0] - probabilities[1]).max() < 1e-5


def test_baselines_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ansgt.runs.run.ranks", lambda: Ranks(0, 2))
    data, config = prepare_run("newman", "gcn", device="cpu")
    with pytest.raises(InputError, match="Model 'gcn' cannot be trained by 2 processes together"):
        run(config, data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("length", [0, 1, 5, 6])
def test_shares_are_all_there_is(length: int) -> None:
    shares = [Ranks(rank, 3).share(length) for rank in range(3)]
    assert [one for share in shares for one in range(length)[share]] == list(range(length))
    sizes = [Ranks(rank, 3).share_size(length) for rank in range(3)]
    assert max(sizes) - min(sizes) <= 1


def test_alone_nothing_is_exchanged(tmp_path: Path) -> None:
    one = Ranks()
    assert one.leads
    assert one.speaks()
    assert one.told({"a": 1}) == {"a": 1}
    assert one.any(True)
    assert not one.any(False)
    with one.told_file(tmp_path / "absent") as path:
        assert path == tmp_path / "absent"
