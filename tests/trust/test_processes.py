"""Forks, signals, full disks, readers that leave, and eight processes at one cache or one run directory."""

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from typer.testing import CliRunner

from ansgt import storage
from ansgt.cli import build_app
from ansgt.cli.common import refusal
from ansgt.cli.interrupt import NAMES, Interrupts
from ansgt.runs.folder import RunFolder
from ansgt.runs.private import PrivateFolder

ROOT = Path(__file__).parents[2]
GCN = ["newman", "--model", "gcn", "--device", "cpu", "-o", "epochs=6"]


def ansgt(*arguments: str) -> Any:
    return CliRunner().invoke(build_app([arguments[0]]), list(arguments))


def python(code: str, folder: Path, **changes: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script in a process of its own, with a cold cache in `folder`."""
    few = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    env = {**os.environ, **few, "PYTHONPATH": str(ROOT), "ANSGT_CACHE": str(folder / "cache"), **changes}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=120)


FORK = """
    import os, signal, sys
    import numpy as np
    import ansgt
    data = ansgt.load_dataset("newman")
    settings = dict(epochs=2, num_layers=1, num_augmentations=1, hidden_channels=8, num_heads=1)
    clfs = [ansgt.NodeClassifier("gcn", epochs=2, device="cpu").fit(data),
            ansgt.NodeClassifier(device="cpu", **settings).fit(data)]
    expected = [(clf.predict_proba(), clf.predict_proba(data)) for clf in clfs]
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # a hang is a failure
        for clf, (record, again) in zip(clfs, expected):
            assert np.array_equal(clf.predict_proba(), record)
            assert clf.score() >= 0
            try:
                assert np.allclose(clf.predict_proba(data), again, atol=1e-6)
                print("computed")
            except ansgt.InputError as error:
                assert "forked" in str(error) and "\\n" not in str(error)
                print("said so")
        for work in (lambda: ansgt.heuristics.PPR().fit(clf.graph_), lambda: ansgt.coarsening.resolve("vn").fit(clf.graph_)):
            try:
                work()
            except ansgt.InputError as error:
                assert "forked" in str(error)
        clfs.clear()
        del clf
        sys.exit(0)  # runs what a process runs at its end
    assert os.waitpid(pid, 0)[1] == 0
    for clf, (record, again) in zip(clfs, expected):
        clf.save("saved")  # the child left our files alone
        assert np.array_equal(clf.predict_proba(data), again)
    print("parent well")
"""


def test_fork_after_fit(tmp_path: Path) -> None:
    done = python(FORK, tmp_path, OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert "parent well" in lines
    assert sum(line in ("computed", "said so") for line in lines) == 2


def test_fork_after_a_baseline_computes(tmp_path: Path) -> None:
    """Without numba's threads in the parent the child can do everything."""
    code = FORK.replace("ansgt.NodeClassifier(device", "ansgt.NodeClassifier('mlp', device").replace(
        "epochs=2, num_layers=1, num_augmentations=1, hidden_channels=8, num_heads=1", "epochs=2"
    )
    done = python(code, tmp_path, OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("computed") == 2


EIGHT = """
    import hashlib, os, sys
    import ansgt
    from ansgt.cli import build_app
    from ansgt.cli import train
    from ansgt.runs.watching import watching
    from ansgt.runs import prepare, run
    from ansgt.training import adaptive, full_batch  # imported once for all children
    from typer.testing import CliRunner

    ansgt.load_dataset("newman")

    def child(index):
        {work}

    ends = []
    for index in range(8):
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                os.write(write, child(index).encode())
            finally:
                os._exit(0)
        os.close(write)
        ends.append(read)
    for read in ends:
        with os.fdopen(read) as said:
            print(said.read())
"""
FIT = """
        clf = ansgt.NodeClassifier(epochs=1, num_layers=1, num_augmentations=1, hidden_channels=8, num_heads=1, device="cpu")
        return hashlib.sha256(clf.fit(ansgt.load_dataset("newman")).predict_proba().tobytes()).hexdigest()
"""
TRAIN = """
        done = CliRunner().invoke(build_app(["train"]), ["train", *sys.argv[1:], {arguments}])
        return f"{{done.exit_code}} {{done.stderr}}"
"""


def test_eight_processes_on_one_cold_cache(tmp_path: Path) -> None:
    done = python(EIGHT.format(work=FIT.strip()), tmp_path)
    hashes = done.stdout.split()
    assert len(hashes) == 8, done.stderr
    assert len(set(hashes)) == 1
    left = [path for path in (tmp_path / "cache").rglob("*") if path.name.endswith(".tmp")]
    assert left == []


def test_eight_processes_on_one_run_directory(tmp_path: Path) -> None:
    arguments = ", ".join(map(repr, [*GCN, "--run-dir", "run"]))
    work = TRAIN.format(arguments=arguments).replace("{{", "{").replace("}}", "}").strip()
    done = python(EIGHT.format(work=work), tmp_path)
    ends = [line for line in done.stdout.splitlines() if line]
    assert len(ends) == 8, done.stderr
    assert sorted(end[0] for end in ends) == ["0", *["2"] * 7], ends
    refused = [end for end in ends if end[0] == "2"]
    assert all("is in use by another process" in end or "already holds a run" in end for end in refused)
    assert ansgt("train", *GCN, "--run-dir", str(tmp_path / "alone")).exit_code == 0
    assert outcome(tmp_path / "run") == outcome(tmp_path / "alone")


def outcome(run_dir: Path) -> tuple[list[float], bytes]:
    """What must not depend on interrupts and neighbours."""
    split = RunFolder(run_dir).split(0)
    return [row["loss"] for row in split.metrics()], split.predictions()["probabilities"].tobytes()


@contextmanager
def signalled(monkeypatch: pytest.MonkeyPatch, number: int, epoch: int) -> Iterator[None]:
    """A training that gets a signal in the middle of the given epoch."""
    from ansgt.runs import run

    original, train_epoch = run._epoch, []

    def epoch_with_signal(*arguments: Any) -> Any:
        if len(train_epoch) == epoch:
            os.kill(os.getpid(), number)
        train_epoch.append(1)
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(run, "_epoch", epoch_with_signal)
        yield


@pytest.fixture
def heard() -> Iterator[None]:
    """Signals as a terminal delivers them: a suite under `nohup` or in the background is told to ignore two of them."""
    before = {name: signal.signal(getattr(signal, name), signal.default_int_handler) for name in NAMES}
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_saves_a_checkpoint_and_says_how_to_go_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ansgt("train", *GCN, "--run-dir", str(tmp_path / "whole")).exit_code == 0
    folder = tmp_path / "a run"
    before = signal.getsignal(getattr(signal, name))
    with signalled(monkeypatch, getattr(signal, name), 3):
        done = ansgt("train", *GCN, "--run-dir", str(folder))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("interrupted: what was trained is saved")
    assert f"--run-dir '{folder}' --resume" in done.stderr
    assert "Traceback" not in done.stderr
    assert signal.getsignal(getattr(signal, name)) is before
    assert RunFolder(folder).split(0).checkpoint()["epoch"] == 4  # the epoch of the signal is not lost
    assert ansgt("train", *GCN, "--run-dir", str(folder), "--resume").exit_code == 0
    assert outcome(folder) == outcome(tmp_path / "whole")


def test_resume_and_overwrite_contradict_each_other(tmp_path: Path) -> None:
    done = ansgt("train", *GCN, "--run-dir", str(tmp_path / "r"), "--resume", "--overwrite")
    assert done.exit_code == 2
    assert "only one of them" in done.stderr


def test_an_epoch_that_does_not_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.cli.interrupt.PATIENCE", 0.05)
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        interrupts.on_epoch(None)
        os.kill(os.getpid(), signal.SIGTERM)
        began = time.perf_counter()
        while time.perf_counter() - began < 10:
            time.sleep(0.01)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_the_second_signal_and_one_before_training_count_at_once() -> None:
    for trained, signals in ((True, 2), (False, 1)):
        with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
            if trained:
                interrupts.on_epoch(None)
            for number in range(signals):
                assert number == signals - 1 or trained
                os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("the signal was not heard")


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sigterm_from_outside(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ansgt", "train", *GCN[:-1], "epochs=100000", "-o", "patience=null"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "ANSGT_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [*command, "--run-dir", "r"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "r" / "config.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.terminate()
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.startswith("interrupted:")
    assert stderr.count("\n") == 1
    assert RunFolder(tmp_path / "r").split(0).has_checkpoint


def full(*arguments: Any, **named: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/[file]")


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_a_full_disk_is_one_sentence(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = str(tmp_path / "run")
    assert ansgt("train", *GCN, "--run-dir", run).exit_code == 0
    verbs = {
        "train": ["train", *GCN, "--run-dir", str(tmp_path / "other")],
        "predict": ["predict", run],
        "report": ["report", run],
        "coarsen": ["coarsen", "newman", "--output", str(tmp_path / "c.npz")],
    }
    for arguments in verbs.values():
        with monkeypatch.context() as patch:
            patch.setattr(storage.os, place, full)
            done = ansgt(*arguments)
        assert done.exit_code == 1, done.stderr
        assert "the disk is full" in done.stderr
        assert "Traceback" not in done.stderr
        assert len([line for line in done.stderr.splitlines() if line.startswith("error:")]) == 1
    assert not (tmp_path / "c.npz").exists()
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """A real refusal by the system, wherever in a run it comes."""
    code = f"""
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        import ansgt.cli
        resource.setrlimit(resource.RLIMIT_FSIZE, ({{limit}}, {{limit}}))
        sys.argv = ["ansgt", "train", *{GCN!r}, "--run-dir", "run{{limit}}", "--cache-dir", "cache"]
        ansgt.cli.main()
    """
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = python(code.format(limit=20_000), tmp_path)  # the weights do not fit
    assert done.returncode == 1, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_the_system_says() -> None:
    assert refusal(OSError(errno.EDQUOT, "x")) is not None
    said = refusal(RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"))
    assert said is not None
    assert "the disk is full" in said
    assert "Read-only file system" in str(refusal(OSError(errno.EROFS, "x", b"f\xff")))
    assert refusal(ValueError("of our own")) is None


@pytest.mark.parametrize("arguments", ["--help", "datasets --json"])
def test_a_reader_that_leaves(arguments: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stdout:
        done = to(stdout, arguments, tmp_path)
    assert (done.returncode, said(done)) == (1, "")


def test_a_full_stdout(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as stdout:
        done = to(stdout, "datasets --json", tmp_path)
    assert (done.returncode, said(done)) == (1, "error: The result cannot be printed: the disk is full.")


def to(stdout: IO[str], arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(ROOT), "ANSGT_CACHE": str(folder), "ANSGT_DATA": str(folder)}
    command = [sys.executable, "-m", "ansgt", *arguments.split()]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=env, text=True, check=False)


def said(done: "subprocess.CompletedProcess[str]") -> str:
    """Its words on stderr, without those of PyG while it reads a data set."""
    lines = done.stderr.splitlines()
    return "\n".join(line for line in lines if line not in ("Processing...", "Done!"))


def test_private_folders_travel_and_go(tiny_run: Path) -> None:
    folder = PrivateFolder.copy_of(RunFolder(tiny_run))
    packed = folder.packed()
    assert packed["split-0/result.json"] == (tiny_run / "split-0" / "result.json").read_bytes()
    assert ".lock" not in packed
    other = PrivateFolder.unpacked(folder.packed())
    assert other.packed() == folder.packed()
    path = folder.path
    del folder
    assert not path.exists()
    assert other.path.exists()
