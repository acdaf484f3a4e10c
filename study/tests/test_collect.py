"""From run directories and lines of results to one record per cell, of today's ansgt and of version 0.1."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from ansgt.reproduce.records import read_cells
from ansgt.runs.prepare import train
from study.scripts.collect import add, of_lines, of_runs

OLD_RUN = Path(__file__).parents[2] / "tests" / "fixtures" / "version-0.1.tar.gz"
LINE: dict[str, Any] = {
    "model": "ansgt",
    "sampling": "fixed",
    "dataset": "cora",
    "data_variant": "Planetoid",
    "split": "public",
    "num_parameters": 3,
    "split_hash": "a",
    "val_accuracy": 0.7,
    "seconds": 1.0,
    "learned": {"1-hop": 0.25, "knn": 0.75},
}


@pytest.mark.parametrize("key", ["models", "restarts"], ids=["today", "version 0.1"])
def test_lines_become_one_record_per_cell(tmp_path: Path, key: str) -> None:
    """A later line for the same split replaces an earlier one; what single models learned is left out."""
    alone = [
        {"test_accuracy": 0.5, "learned": {"1-hop": 1.0}},
        {"test_accuracy": 0.75, "learned": {"1-hop": 0.0}},
    ]
    lines = [
        {**LINE, "index": 1, "test_accuracy": 0.5, key: alone},
        {**LINE, "index": 0, "test_accuracy": 0.25, key: alone},
        {**LINE, "index": 1, "test_accuracy": 0.75, key: alone},
    ]
    log = tmp_path / "results.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for record in of_lines(log):
        add(record, tmp_path)
    stored = json.loads((tmp_path / "ansgt-fixed--cora--public.json").read_text())
    assert [split["index"] for split in stored["splits"]] == [0, 1]
    assert stored["splits"][0]["models"] == [{"test_accuracy": 0.5}, {"test_accuracy": 0.75}]
    assert stored["heuristics"] == ["1-hop", "knn"]
    assert stored["splits"][0]["p"] == [0.25, 0.75]
    (cell,) = read_cells(tmp_path, "public")
    assert cell.per_split == (0.25, 0.75)
    assert (cell.num_models, cell.one_model) == (2, (0.625, 0.625))


def test_runs_below_a_folder_become_records(tmp_path: Path) -> None:
    overrides = {"epochs": 2, "hidden_channels": 8, "num_models": 2}
    for model in ("mlp", "gcn"):
        folder = tmp_path / "runs" / "newman" / model
        train("newman", model, run_dir=folder, num_splits=2, device="cpu", overrides=overrides)
    records = list(of_runs(tmp_path / "runs"))
    assert [(record["model"], record["index"]) for record in records] == [
        ("gcn", 0),
        ("gcn", 1),
        ("mlp", 0),
        ("mlp", 1),
    ]
    for record in records:
        add(record, tmp_path)
    gcn, mlp = read_cells(tmp_path, "uniform-60-20-20")
    assert (gcn.model, mlp.model) == ("gcn", "mlp")
    assert gcn.split_hashes == mlp.split_hashes
    assert gcn.num_models == 2


def test_a_run_of_version_0_1_becomes_a_record(tmp_path: Path) -> None:
    with tarfile.open(OLD_RUN) as archive:
        archive.extractall(tmp_path, filter="data")
    records = list(of_runs(tmp_path))
    assert records
    assert all(record["config"]["model_name"] == record["model"] for record in records)
