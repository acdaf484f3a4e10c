"""Records: which file answers for which number, and what is noted as missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from ansgt.errors import InputError
from ansgt.reproduce.records import Record, Records, cell_of, joined_rows, run_path, split_row, stored_records


def write(folder: Path, path: str, content: Any) -> None:
    file = folder / f"{path}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def test_a_full_record_goes_before_a_quick_one(tmp_path: Path) -> None:
    write(tmp_path, "reproduce/a/shipped-quick/x", {"value": 1})
    found = Records(tmp_path).find("reproduce/a/shipped/x")
    assert found is not None
    assert (found.path, found.quick) == ("reproduce/a/shipped-quick/x.json", True)
    write(tmp_path, "reproduce/a/shipped/x", {"value": 2})
    found = Records(tmp_path).find("reproduce/a/shipped/x")
    assert found is not None
    assert (found.content, found.quick) == ({"value": 2}, False)


def test_what_is_looked_for_in_vain_is_noted_with_its_cost(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert records.get("reproduce/a/full/x", 60.0) is None
    assert records.missing == {"reproduce/a/full/x.json": 60.0}
    assert list(records) == []


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "runs/a", [1, 2])
    with pytest.raises(InputError, match="must hold a JSON object"):
        Records(tmp_path).find("runs/a")


def test_rows_of_several_networks_are_counted_from_zero() -> None:
    rows = [{"splits": [{"index": 0, "test_accuracy": a}], "model": "ansgt"} for a in (0.5, 0.6)]
    assert [row["index"] for row in joined_rows(rows)["splits"]] == [0, 1]


def test_the_mean_of_a_cell_is_over_its_splits() -> None:
    row = {"val_accuracy": 0.5, "seconds": 2.0, "split_hash": "a"}
    content = {
        "splits": [{**row, "test_accuracy": 0.6}, {**row, "test_accuracy": 0.8}],
        "model": "gcn",
        "dataset": "cora",
        "data_variant": "",
        "num_parameters": 7,
    }
    cell = cell_of(content, "x.json")
    assert cell.mean == pytest.approx(0.7)
    assert cell.std == pytest.approx(0.1)
    assert (cell.seconds, cell.run_dir) == (4.0, "x.json")


def test_the_machine_in_words() -> None:
    cpu = {"machine": {"cpu": "AMD EPYC", "cores": 2, "gpu": None}}
    assert Record("a", cpu).machine == "AMD EPYC, 2 cores"
    assert Record("a", {"versions": {"gpu": "H200"}, "config": {"device": "cuda"}}).machine == "one H200"
    assert Record("a", {"versions": {"gpu": "H200"}, "config": {"device": "cpu"}}).machine == "CPU"


def test_what_a_split_keeps() -> None:
    row = split_row(
        {"index": 0, "test_accuracy": 0.5, "learned": {"1-hop": 0.66666, "knn": 0.33334}, "other": 1}
    )
    assert row == {"index": 0, "test_accuracy": 0.5, "p": [0.6667, 0.3333]}


def test_stored_records_are_all_readable() -> None:
    """Every record has where it was made, and every one of a training its splits."""
    folder = stored_records()
    paths = sorted((folder / "reproduce").rglob("*.json"))
    assert paths
    for path in paths:
        content = json.loads(path.read_text())
        assert {"asked", "machine", "commit", "date"} <= content.keys(), path
        assert "splits" in content or "values" in content or "sequence" in content, path
    assert (folder / f"{run_path('ansgt', 'cora', 'uniform-60-20-20')}.json").is_file()
