"""The pool of benchmarks/ ends at its deadline or with its last worker, and no worker leaves while there is work."""

import argparse
import json
import multiprocessing
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch

from benchmarks.pool import _worker

SCRIPT = """
import argparse, os, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from benchmarks.pool import run_pool

FOLDER = Path({folder!r})

def sleeps(task, options):
    time.sleep(0.2)
    if task[1] == 1:
        raise ValueError("no")
    return {{"number": task[1]}}

SPOILT = []

def spoils(task, options):
    if SPOILT:
        raise ValueError("spoilt by an earlier task")
    if task[1] == 1:
        SPOILT.append(task)
        raise ValueError("no")
    return {{"number": task[1]}}

def dies(task, options):
    os._exit(9)

if __name__ == "__main__":
    tasks = [("long" * 200, number) for number in range({count})]
    options = argparse.Namespace(seconds={seconds}, workers=1)
    run_pool({work}, tasks, options, FOLDER / "out.jsonl")
"""


def run(folder: Path, work: str, count: int, seconds: float, timeout: float = 120) -> list[dict[str, object]]:
    script, root = folder / "script.py", str(Path(__file__).parents[2])
    settings = {"root": root, "folder": str(folder), "work": work}
    script.write_text(SCRIPT.format(count=count, seconds=seconds, **settings))
    subprocess.run([sys.executable, str(script)], check=True, timeout=timeout)
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_untaken_tasks_do_not_keep_it_alive(tmp_path: Path) -> None:
    assert len(run(tmp_path, "sleeps", 2000, 4.0)) < 2000


def test_an_error_leaves_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    lines = run(tmp_path, "sleeps", 3, 60.0)
    assert sorted(line["number"] for line in lines if "error" not in line) == [0, 2]
    assert [line["error"] for line in lines if "error" in line] == ["ValueError: no"]


def test_what_a_failed_task_leaves_behind_does_not_reach_the_next(tmp_path: Path) -> None:
    """As a broken CUDA context would: 104 of 180 tasks once."""
    lines = run(tmp_path, "spoils", 4, 60.0)
    assert sorted(line["number"] for line in lines if "error" not in line) == [0, 2, 3]
    assert [line["error"] for line in lines if "error" in line] == ["ValueError: no"]


def number(task: int, options: argparse.Namespace) -> dict[str, int]:
    return {"number": task}


def test_a_worker_waits_while_another_reads() -> None:
    """It had left when the queue was being read by somebody else, as if there were no more tasks."""
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


def test_it_ends_with_its_last_worker(tmp_path: Path) -> None:
    assert run(tmp_path, "dies", 2, 3600.0, timeout=100) == []
