"""The order in which `study.scripts.train_records` works, and what becomes of its lines: what the command would make."""

import argparse
import json
from pathlib import Path

from ansgt.reproduce import resolve_items
from ansgt.reproduce.task import Setup
from study.scripts.train_records import all_tasks, collect, make_part, plan


def options(tmp_path: Path) -> argparse.Namespace:
    return argparse.Namespace(
        root=tmp_path,
        cache=tmp_path / "cache",
        device="cpu",
        splits=2,
        quick=True,
        items=["fig-motivation"],
        paper=["texas"],
    )


def test_first_splits_come_first() -> None:
    setup = Setup(num_splits=3)
    tasks = all_tasks(["table-coarsening", "fig-weights"], setup, ["texas"])
    keys = plan(tasks)
    assert len(keys) == len(set(keys)) == 3 * len(tasks)
    assert [key[0] for key in keys[:4]] == ["paper"] * 3 + ["shipped"]
    assert [key[2] for key in keys[3:]] == sorted(key[2] for key in keys[3:])


def test_a_part_is_what_the_command_would_have_made(tmp_path: Path) -> None:
    """The quick task by parts, and whole."""
    [item] = resolve_items(["fig-motivation"])
    setup = Setup(tmp_path, tmp_path / "cache", quick=True, num_splits=2)
    task = item.tasks(setup)[0]
    whole = task.measure(setup, tmp_path / "whole")
    asked = options(tmp_path)
    lines = [json.dumps(make_part(("shipped", task.path, index), asked)) for index in (1, 0)]
    [path] = collect([*lines, json.dumps({"task": "x", "error": "no"})], tmp_path / "into")
    record = json.loads(path.read_text())
    assert record["asked"] == json.loads(json.dumps(task.asked(setup)))
    same = ("index", "test_accuracy", "split_hash", "prediction_hash")
    assert [[row[key] for key in same] for row in record["splits"]] == [
        [row[key] for key in same] for row in whole["splits"]
    ]
