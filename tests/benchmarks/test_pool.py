"""The pool of benchmarks/ ends at its deadline or with its last worker, and no worker leaves while there is work."""

import json
import subprocess
import sys
from pathlib import Path

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

def dies(task, options):
    os._exit(9)

def meets(task, options):
    (FOLDER / f"here-{{task[1]}}").touch()
    for _ in range(300):
        if len(list(FOLDER.glob("here-*"))) == options.workers:
            return {{"number": task[1]}}
        time.sleep(0.1)
    raise TimeoutError("the others never came")

if __name__ == "__main__":
    tasks = [("long" * 200, number) for number in range({count})]
    options = argparse.Namespace(seconds={seconds}, workers={workers})
    run_pool({work}, tasks, options, FOLDER / "out.jsonl")
"""


def run(
    folder: Path, work: str, count: int, seconds: float, workers: int = 1, timeout: float = 120
) -> list[dict[str, object]]:
    script, root = folder / "script.py", str(Path(__file__).parents[2])
    settings = {"root": root, "folder": str(folder), "work": work}
    script.write_text(SCRIPT.format(count=count, seconds=seconds, workers=workers, **settings))
    subprocess.run([sys.executable, str(script)], check=True, timeout=timeout)
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_untaken_tasks_do_not_keep_it_alive(tmp_path: Path) -> None:
    assert len(run(tmp_path, "sleeps", 2000, 4.0)) < 2000


def test_an_error_leaves_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    lines = run(tmp_path, "sleeps", 3, 60.0)
    assert sorted(line["number"] for line in lines if "error" not in line) == [0, 2]
    assert [line["error"] for line in lines if "error" in line] == ["ValueError: no"]


def test_every_worker_gets_a_task(tmp_path: Path) -> None:
    """A task here is done only when all are being worked on; two readers at once made one of them leave."""
    lines = run(tmp_path, "meets", 4, 100.0, workers=4)
    assert sorted(line["number"] for line in lines) == [0, 1, 2, 3]


def test_it_ends_with_its_last_worker(tmp_path: Path) -> None:
    assert run(tmp_path, "dies", 2, 3600.0, timeout=100) == []
