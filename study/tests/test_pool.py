"""The pool ends at its deadline or with its last worker, and no worker leaves while there is work."""

import argparse
import json
import multiprocessing
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch

from study.scripts.pool import _worker

SCRIPT = """
import argparse, os, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from study.scripts.pool import run_pool

FOLDER = Path({folder!r})

def first_fails(task, options):
    if task[1] == 1:
        raise ValueError("no")
    return {{"number": task[1]}}

def slow(task, options):
    time.sleep(0.2)
    return {{"number": task[1]}}

SPOILT = []

def spoils_its_process(task, options):
    if SPOILT:
        raise ValueError("spoilt by an earlier task")
    if task[1] == 1:
        SPOILT.append(task)
        raise ValueError("no")
    return {{"number": task[1]}}

def kills_its_process(task, options):
    os._exit(9)

if __name__ == "__main__":
    tasks = [("long" * 200, number) for number in range({count})]
    options = argparse.Namespace(seconds={seconds}, workers=1)
    run_pool({work}, tasks, options, FOLDER / "out.jsonl")
"""


def run(folder: Path, work: str, count: int, seconds: float, timeout: float = 120) -> list[dict[str, object]]:
    """The lines of a pool with one worker, run by a script of its own, which must end within the timeout."""
    script, root = folder / "script.py", str(Path(__file__).parents[2])
    settings = {"root": root, "folder": str(folder), "work": work}
    script.write_text(SCRIPT.format(count=count, seconds=seconds, **settings))
    subprocess.run([sys.executable, str(script)], check=True, timeout=timeout)
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_no_task_starts_after_the_deadline_and_the_pool_ends_with_tasks_left(tmp_path: Path) -> None:
    """2,000 tasks of 0.2 s are 400 s of work; the pool has 4 s and must not wait for tasks that nobody takes."""
    lines = run(tmp_path, "slow", 2000, 4.0, timeout=60)
    assert len(lines) <= 4.0 / 0.2 + 1
    assert lines == [{"number": number} for number in range(len(lines))], "in the order given, each once"


def test_a_failed_task_leaves_its_error_and_the_others_their_results(tmp_path: Path) -> None:
    done, failed = split_lines(run(tmp_path, "first_fails", 3, 60.0))
    assert done == [0, 2]
    assert [(line["task"][1], line["error"]) for line in failed] == [(1, "ValueError: no")]


def test_a_new_process_takes_over_after_a_failed_task(tmp_path: Path) -> None:
    """A broken CUDA context fails every later task of its process: 104 of 180 tasks once."""
    done, failed = split_lines(run(tmp_path, "spoils_its_process", 4, 60.0))
    assert done == [0, 2, 3]
    assert [line["error"] for line in failed] == ["ValueError: no"]


def split_lines(lines: list[Any]) -> tuple[list[int], list[Any]]:
    """Numbers of the tasks that were done, and the lines of those that failed."""
    failed = [line for line in lines if "error" in line]
    return sorted(line["number"] for line in lines if "error" not in line), failed


def number(task: int, options: argparse.Namespace) -> dict[str, int]:
    return {"number": task}


def test_a_worker_waits_while_another_worker_reads_the_queue() -> None:
    """While the queue is being read, a worker that does not wait takes it for empty and goes home."""
    context = multiprocessing.get_context("spawn")
    waiting, finished = context.Queue(), context.Queue()
    for task in (3, None):
        waiting.put(task)
    waiting._rlock.acquire()  # what a worker in the middle of `get` holds
    threading.Timer(0.5, waiting._rlock.release).start()
    threads = torch.get_num_threads()
    try:
        _worker(number, waiting, finished, argparse.Namespace(), time.time() + 60)
    finally:
        torch.set_num_threads(threads)
    assert finished.get(timeout=10) == {"number": 3}


def test_the_pool_ends_long_before_its_deadline_when_its_last_worker_has_died(tmp_path: Path) -> None:
    assert run(tmp_path, "kills_its_process", 2, 3600.0, timeout=100) == []
