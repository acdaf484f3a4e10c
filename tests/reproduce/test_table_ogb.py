"""Table 7: real files where they are, else graphs that are called synthetic."""

from pathlib import Path

from ansgt.reproduce.records import Records
from ansgt.reproduce.table_ogb import MODELS, TableOgb
from ansgt.reproduce.task import Setup

ITEM = TableOgb()


def test_a_stand_in_is_called_what_it_is(tmp_path: Path) -> None:
    tasks = ITEM.tasks(Setup(root=tmp_path, large=True))
    assert [task.dataset for task in tasks] == ["synthetic-170000"] * 4 + ["synthetic-2400000-50"] * 4
    assert [task.model for task in tasks[:4]] == list(MODELS)
    assert all(task.overrides["data.normalize_features"] == "none" for task in tasks), (
        "features of both signs"
    )


def test_real_files_come_first(tmp_path: Path) -> None:
    (tmp_path / "ogbn_arxiv").mkdir()
    tasks = ITEM.tasks(Setup(root=tmp_path))
    assert {task.dataset for task in tasks} == {"ogbn-arxiv"}
    assert {task.split for task in tasks} == {"official"}
    assert {task.overrides["train.epochs"] for task in tasks} == {200, 10}


def test_no_value_of_the_paper_stands_beside_a_synthetic_one(tmp_path: Path) -> None:
    [table] = ITEM.show(Records(tmp_path), Setup(root=tmp_path)).tables
    assert all(number.paper is None for _, _, number in table.numbers())
    assert table.rows[1][0] == "ogbn-arxiv (paper)"
    assert "72.84 ± 0.34" in table.rows[1]
