"""`ansgt reproduce`: what is listed, what is written, what is missing, and how training goes on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.reproduce import ITEMS
from ansgt.reproduce.records import stored_records

RUNNER = CliRunner()
CHEAP = ("fig-adjacency", "fig-motivation", "fig-overview")


def reproduce(*arguments: object) -> dict[str, Any]:
    result = RUNNER.invoke(build_app(["reproduce"]), ["reproduce", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_list_names_every_item_and_writes_nothing(tmp_path: Path) -> None:
    found = reproduce("--list", "--output", tmp_path / "out")
    assert [item["name"] for item in found["items"]] == list(ITEMS)
    assert len(ITEMS) == 15 + 1, "seven tables, eight figures, and the claims"
    assert all(item["files"] == [] for item in found["items"])
    assert not (tmp_path / "out").exists()


def test_everything_from_records(tmp_path: Path) -> None:
    for item in reproduce("all", "--output", tmp_path)["items"]:
        suffixes = {Path(path).suffix for path in item["files"]}
        assert {".md", ".csv", ".tex", ".json"} <= suffixes
        assert all(Path(path).stat().st_size > 0 for path in item["files"])
        stored = json.loads((tmp_path / f"{item['name']}.json").read_text())
        assert stored["missing"] == item["missing"]
        for number in stored["numbers"]:
            assert (number["ours"] is None) == number["record"].endswith("(missing)")


def test_a_deleted_record_makes_its_cell_say_so(tmp_path: Path) -> None:
    records = tmp_path / "records"
    shutil.copytree(stored_records() / "runs", records / "runs")
    name = "runs/gcn--cora--uniform-60-20-20.json"
    (records / name).unlink()
    [item] = reproduce("table-accuracy", "--from", records, "--output", tmp_path / "out")["items"]
    assert item["missing"] == [name]
    assert item["missing_hours"] > 0
    text = (tmp_path / "out" / "table-accuracy.md").read_text()
    assert "| GCN | missing (87.33) |" in text
    assert name in text


def test_quick_training_of_the_cheapest(tmp_path: Path) -> None:
    """Made once; a second call makes nothing again."""
    found = reproduce(*CHEAP, "--train", "--quick", "--workers", 1, "--output", tmp_path)
    assert found["failed"] == {}
    assert [item["missing"] for item in found["items"]] == [[], [], []]
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "records").rglob("*.json")}
    assert len(made) == 3 + 4 + 1
    reproduce(*CHEAP, "--train", "--quick", "--workers", 1, "--output", tmp_path)
    assert made == {path: path.stat().st_mtime_ns for path in (tmp_path / "records").rglob("*.json")}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("table-acuracy",), "Did you mean 'table-accuracy'"),
        ((), "--list shows the names"),
        (("all", "--from", "nowhere"), "does not exist"),
        (("all", "--preset", "papper"), "preset"),
        (("all", "--train", "--from", "x"), "cannot be combined"),
    ],
)
def test_refusals(arguments: tuple[str, ...], words: str) -> None:
    result = RUNNER.invoke(build_app(["reproduce"]), ["reproduce", *arguments])
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
