"""Figure 5: networks of three homophilies, and their records."""

from pathlib import Path

import pytest

from ansgt.reproduce import resolve_item
from ansgt.reproduce.records import Records
from ansgt.reproduce.task import Setup
from ansgt.reproduce.train import make_records, records_folder

ITEM = resolve_item("fig-adjacency")


def test_a_network_has_the_homophily_that_was_asked_for(tmp_path: Path) -> None:
    make_records(ITEM, Setup(), tmp_path, lambda progress: None)
    shown = ITEM.show(Records(records_folder(tmp_path)), Setup())
    found = {row: number for row, column, number in shown.tables[0].numbers() if column == "homophily"}
    assert list(found) == ["α = 0.75", "α = 0.25", "α = 0.05"]
    for number in found.values():
        assert number.value == pytest.approx(number.paper, abs=0.03)
    assert len(shown.pictures) == 1


def test_without_records_there_is_no_picture(tmp_path: Path) -> None:
    assert ITEM.show(Records(tmp_path), Setup()).pictures == []
