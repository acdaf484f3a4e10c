"""Records in the making: a process may be killed at any moment, and no two make the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansgt.errors import BusyError
from ansgt.reproduce import resolve_item
from ansgt.reproduce.task import Setup
from ansgt.reproduce.train import Progress, is_made, make_records, records_folder
from ansgt.storage import read_json, write_json

QUICK = Setup(device="cpu", quick=True)
COMMAND = (
    sys.executable,
    "-m",
    "ansgt",
    "reproduce",
    "fig-motivation",
    "--train",
    "--quick",
    "--workers",
    "1",
)


def test_a_killed_process_is_continued_and_another_is_told(tmp_path: Path) -> None:
    item = resolve_item("fig-motivation")
    process = subprocess.Popen([*COMMAND, "--output", str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        while not list(records_folder(tmp_path).rglob("*.json")):
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.02)
        with pytest.raises(BusyError, match="Another process is making the records of fig-motivation"):
            make_records(item, QUICK, tmp_path, lambda progress: None)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    made = {path: path.stat().st_mtime_ns for path in records_folder(tmp_path).rglob("*.json")}
    told: list[Progress] = []
    assert make_records(item, QUICK, tmp_path, told.append) == {}
    assert len(told) == len(item.tasks(QUICK)) - len(made), "what was made is not made again"
    assert all(path.stat().st_mtime_ns == time for path, time in made.items())
    assert all(is_made(task, QUICK, tmp_path) for task in item.tasks(QUICK))


def test_the_time_left_counts_what_is_left(tmp_path: Path) -> None:
    told: list[Progress] = []
    make_records(resolve_item("fig-adjacency"), QUICK, tmp_path, told.append)
    assert [(progress.done, progress.total) for progress in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[-1].left == 0
    assert all(progress.error == "" for progress in told)


def test_a_record_that_was_asked_for_otherwise_is_made_again(tmp_path: Path) -> None:
    item = resolve_item("fig-adjacency")
    make_records(item, QUICK, tmp_path, lambda progress: None)
    [path] = records_folder(tmp_path).rglob("0.75.json")
    write_json(path, {**read_json(path), "asked": {"homophily": 0.75, "seed": 7}})
    told: list[Progress] = []
    make_records(item, QUICK, tmp_path, told.append)
    assert [progress.path for progress in told] == ["reproduce/fig-adjacency/quick/0.75"]


def test_a_task_that_fails_is_named_and_does_not_stop_the_others(tmp_path: Path) -> None:
    setup = Setup(root=tmp_path / "nowhere", device="cpu", quick=True)
    told: list[Progress] = []
    failed = make_records(resolve_item("table-datasets"), setup, tmp_path / "out", told.append)
    assert len(failed) == len(told) == 9
    assert all("does not exist" in why or "not found" in why or "nowhere" in why for why in failed.values())


def test_a_record_says_where_and_when_it_was_made(tmp_path: Path) -> None:
    make_records(resolve_item("fig-adjacency"), QUICK, tmp_path, lambda progress: None)
    record = read_json(next(records_folder(tmp_path).rglob("*.json")))
    assert record["machine"]["cores"] == os.cpu_count()
    assert {"load", "commit", "date", "asked", "values"} <= record.keys()
