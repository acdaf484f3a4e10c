"""The pool of benchmarks/ ends at its deadline, also with tasks that nobody took."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import argparse, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from benchmarks.pool import run_pool

def work(task, options):
    time.sleep(0.2)
    if task[1] == 1:
        raise ValueError("no")
    return {{"number": task[1]}}

if __name__ == "__main__":
    tasks = [("long" * 200, number) for number in range({count})]
    run_pool(work, tasks, argparse.Namespace(seconds={seconds}, workers=1), Path({out!r}))
"""


def run(tmp_path: Path, count: int, seconds: float) -> list[dict[str, object]]:
    script, out = tmp_path / "script.py", tmp_path / "out.jsonl"
    root = str(Path(__file__).parents[2])
    script.write_text(SCRIPT.format(root=root, count=count, seconds=seconds, out=str(out)))
    subprocess.run([sys.executable, str(script)], check=True, timeout=120)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_untaken_tasks_do_not_keep_it_alive(tmp_path: Path) -> None:
    assert len(run(tmp_path, 2000, 4.0)) < 2000


def test_an_error_leaves_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    lines = run(tmp_path, 3, 60.0)
    assert sorted(line.get("error", line.get("number", "")) for line in lines if "error" not in line) == [
        0,
        2,
    ]
    assert [line["error"] for line in lines if "error" in line] == ["ValueError: no"]
