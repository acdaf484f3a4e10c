"""Tables 2 and 4: which trainings and measurements stand behind a cell."""

from pathlib import Path

from ansgt.reproduce.paper import COARSENERS, RATES
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_coarsening import HIERARCHY, TableCoarsening
from ansgt.reproduce.tables import Number
from ansgt.reproduce.task import Setup

ITEM = TableCoarsening()


def test_at_rate_one_a_record_stands_in_three_rows() -> None:
    assert len(ITEM.cells(Setup())) == 2 * len(COARSENERS) * len(RATES)
    assert len(ITEM.tasks(Setup())) == 2 * (len(COARSENERS) * (len(RATES) - 1) + 1)
    assert len({ITEM.task(Setup(), "cora", method, 1.0).path for method in COARSENERS}) == 1


def test_every_training_has_supernodes() -> None:
    for task in ITEM.tasks(Setup()):
        assert HIERARCHY.items() <= dict(task.overrides).items()
        assert task.overrides["coarsening_method"] in COARSENERS


def test_a_missing_cell_has_a_path(tmp_path: Path) -> None:
    [table] = ITEM.show(Records(tmp_path), Setup()).tables
    numbers = [entry for row in table.rows for entry in row if isinstance(entry, Number)]
    assert len(numbers) == 30
    assert all(
        number.value is None and number.record.startswith("reproduce/table-coarsening/") for number in numbers
    )
