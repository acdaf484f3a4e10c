"""The files of an item: what each says, and the command that makes it again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ansgt.reproduce import resolve_item
from ansgt.reproduce.records import stored_records
from ansgt.reproduce.task import Setup
from ansgt.reproduce.write import command, missing_words, outcome, write_item


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        (Setup(), "ansgt reproduce table-accuracy"),
        (Setup(preset="paper", quick=True), "ansgt reproduce table-accuracy --preset paper --quick"),
        (Setup(split="geom-gcn"), "ansgt reproduce table-accuracy --split geom-gcn"),
    ],
)
def test_the_command_makes_the_same_item(setup: Setup, words: str) -> None:
    assert command(resolve_item("table-accuracy"), setup) == words


def test_what_a_claim_lacks_other_items_make(tmp_path: Path) -> None:
    found = outcome(resolve_item("claims"), tmp_path, Setup())
    assert found.training == "ansgt reproduce all --train"
    assert missing_words(found).endswith("ansgt reproduce all --train")


def test_one_record_and_many() -> None:
    found = outcome(resolve_item("table-datasets"), stored_records(), Setup())
    assert missing_words(replace(found, missing={})) == ""
    assert missing_words(replace(found, missing={"a.json": 60.0})).startswith("1 record is missing (a.json)")
    many = dict.fromkeys("abcde", 3600.0)
    assert "5 records are missing (a, b, c and 2 more)" in missing_words(replace(found, missing=many))
    assert "about 5.0 hours" in missing_words(replace(found, missing=many))


def test_files_of_an_item(tmp_path: Path) -> None:
    found = outcome(resolve_item("fig-ablation"), stored_records(), Setup())
    paths = write_item(found, tmp_path)
    assert {path.suffix for path in paths} == {".md", ".csv", ".tex", ".json", ".png", ".svg"}
    page = (tmp_path / "fig-ablation.md").read_text()
    assert "![" in page
    assert "(fig-ablation.png)" in page
    assert all(f"`{record.path}`" in page for record in found.used)
    stored = json.loads((tmp_path / "fig-ablation.json").read_text())
    assert stored["records"] == [record.path for record in found.used]
    assert len(stored["numbers"]) == 18
