"""What the page says is what the records say."""

import shutil
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from ansgt.report.content import Content, gather
from ansgt.report.side_by_side import Options
from ansgt.runs.comparison import read_cell
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import train
from ansgt.runs.statistics import paired_difference


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("other") / "gcn"
    train("newman", "gcn", run_dir=folder, device="cpu", num_splits=2, overrides={"epochs": 2})
    return RunFolder(folder)


@pytest.fixture(scope="module")
def content(tiny_run: Path, other: RunFolder) -> Content:
    return gather([RunFolder(tiny_run), other], Options(device="cpu", explained=8))


def test_accuracies_and_differences_are_those_of_the_comparison(
    content: Content, tiny_run: Path, other: RunFolder
) -> None:
    (group,) = content.groups
    cells = {"ansgt": read_cell(RunFolder(tiny_run)), "gcn": read_cell(other)}
    for row in group.rows:
        cell = cells[row.cells[0]]
        assert row.cells[1] == f"{100 * fmean(cell.per_split):.2f} ± {100 * np.std(cell.per_split):.2f} %"
    (shown,) = group.differences
    difference = paired_difference(cells[shown.name], cells[group.reference])
    assert shown.text.startswith(f"{100 * difference.mean:+.2f} [")
    assert shown.at[1] is not None
    assert (shown.at[1] < 90) == (difference.mean < 0)
    assert [row.best for row in group.rows] == [row.cells[0] == group.reference for row in group.rows]


def test_confusions_count_every_scored_node(content: Content, tiny_run: Path) -> None:
    (group,) = content.groups
    scored = sum(len(RunFolder(tiny_run).split(index).parts()["test"]) for index in range(2))
    for classes in group.classes:
        assert sum(cell.count for row in classes.confusion for cell in row) == scored
        assert [int(row[1]) for row in classes.rows] == [sum(c.count for c in r) for r in classes.confusion]
        assert [cell.right for row in classes.confusion for cell in row] == np.eye(4).astype(
            bool
        ).ravel().tolist()


def test_charts_show_every_model_and_the_kept_epoch(content: Content, tiny_run: Path) -> None:
    (group,) = content.groups
    loss, accuracy = group.curves
    assert len(loss.paths) == 4  # two runs of two splits
    kept = [result["best_epoch"] for result in RunFolder(tiny_run).results()]
    assert [mark.words for mark in accuracy.marks if "ansgt" in mark.words] == [
        f"ansgt, split {index}: epoch {epoch} kept, {100 * result['val_accuracy']:.1f} %"
        for index, (epoch, result) in enumerate(zip(kept, RunFolder(tiny_run).results(), strict=True))
    ]
    (weights,) = group.weights
    assert [name for _, name in weights.legend] == ["1-hop", "2-hop", "ppr", "knn"]


def test_a_run_without_a_finished_split_is_named(tmp_path: Path, tiny_run: Path) -> None:
    empty = RunFolder(shutil.copytree(tiny_run, tmp_path / "empty"))
    for index in range(2):
        empty.split(index).remove()
    (empty.path / "summary.json").unlink()
    content = gather([empty, RunFolder(tiny_run)], Options(device="cpu", explained=0))
    assert content.unfinished == [str(empty.path)]
    assert len(content.groups) == 1
    assert gather([empty], Options()).groups == []
