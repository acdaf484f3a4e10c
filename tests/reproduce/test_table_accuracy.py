"""Table 1: shipped settings read the study's records, others their own; both kinds of split."""

from pathlib import Path

from ansgt.reproduce.paper import ACCURACY, NINE
from ansgt.reproduce.records import Records, stored_records
from ansgt.reproduce.table_accuracy import QUICK_EPOCHS, TableAccuracy, model_task
from ansgt.reproduce.task import Setup

ITEM = TableAccuracy()


def test_all_twelve_models_on_all_nine_data_sets() -> None:
    tasks = ITEM.tasks(Setup())
    assert {(task.model, task.dataset) for task in tasks} == {(m, d) for m in ACCURACY for d in NINE}
    assert all(task.path.startswith("runs/") for task in tasks)


def test_other_settings_have_records_of_their_own() -> None:
    paper = model_task(ITEM, Setup(preset="paper"), "ansgt", "cora")
    quick = model_task(ITEM, Setup(quick=True), "ansgt-fixed", "cora")
    assert paper.path == "reproduce/table-accuracy/paper/ansgt--cora--uniform-60-20-20"
    assert quick.path == "reproduce/table-accuracy/shipped-quick/ansgt-fixed--cora--uniform-60-20-20"
    assert quick.overrides == {"sampling": "fixed", "train.epochs": QUICK_EPOCHS, "train.num_models": 1}
    assert paper.seconds > 50 * quick.seconds


def test_both_kinds_of_split_stand_below_each_other() -> None:
    tables = ITEM.show(Records(stored_records()), Setup()).tables
    assert [table.title.split("Split: ")[1] for table in tables] == [
        "uniform-60-20-20.",
        "per-class-60-20-20.",
    ]
    assert [row[0] for row in tables[0].rows][-1] == "ANS-GT"


def test_the_presets_table_is_alone(tmp_path: Path) -> None:
    shown = ITEM.show(Records(tmp_path), Setup(preset="paper"))
    assert len(shown.tables) == 1
    assert all(number.value is None for _, _, number in shown.tables[0].numbers())
