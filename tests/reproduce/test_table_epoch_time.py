"""Table 6: what is timed, and by which clock."""

import time
from dataclasses import replace
from pathlib import Path

import torch

from ansgt.graph import Split
from ansgt.reproduce.paper import EPOCH_SECONDS, SIX
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_epoch_time import (
    LONG,
    REPEATS,
    PassTask,
    TableEpochTime,
    clock_of,
    measured_part,
    repeated,
)
from ansgt.reproduce.task import Setup
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import write_json


def test_sleeping_costs_no_cpu_seconds() -> None:
    clock = clock_of(lambda: time.sleep(0.05), "cpu")
    assert clock.wall >= 0.05
    assert clock.cpu < clock.wall


def test_the_first_call_does_not_count() -> None:
    calls: list[int] = []
    assert len(repeated(lambda: calls.append(1), "cpu")) == REPEATS
    assert len(calls) == REPEATS + 1
    assert LONG > 1


def test_measured_centres_are_drawn_from_all_and_the_rest_stays() -> None:
    nodes = torch.arange(100)
    split = Split(nodes[:60], nodes[60:80], nodes[80:], "uniform-60-20-20", 0)
    config = build_config(Request("newman", "ansgt", "uniform-60-20-20"), None, {})
    part = measured_part(split, 10, config)
    assert len(part.train) == 10
    assert set(part.train.tolist()) <= set(range(60))
    assert part.train.max() > 20, "not the first ones"
    assert torch.equal(part.val, split.val)


def test_a_pass_of_a_small_graph(tmp_path: Path) -> None:
    record = PassTask("a", 1.0, "graphormer", "newman").measure(Setup(device="cpu"), tmp_path)
    assert record["values"]["epoch_s"] > 0
    assert (record["threads"], record["model"]) == (1, "graphormer")


def test_cpu_and_gpu_stand_beside_each_other(tmp_path: Path) -> None:
    item = TableEpochTime()
    for device in ("cuda", "cpu"):
        setup = replace(Setup(), device=device)
        machine = {"cpu": "A processor", "cores": 2, "gpu": "A card" if device == "cuda" else None}
        for task in item.tasks(setup):
            write_json(
                tmp_path / f"{task.path}.json", {"values": {"epoch_s": 1.0}, "machine": machine, "threads": 1}
            )
    tables = item.show(Records(tmp_path), Setup()).tables
    assert [table.title.split(" On ")[1] for table in tables] == [
        "A card.",
        "A processor, 2 cores, CPU seconds of one thread.",
    ]
    numbers = {(row, column): number for row, column, number in tables[0].numbers()}
    assert len(numbers) == 3 * len(SIX)
    assert numbers["Graphormer", "pubmed"].paper == EPOCH_SECONDS["graphormer"]["pubmed"]
