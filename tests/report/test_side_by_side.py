"""Runs side by side: grouped by their data, told apart by what differs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ansgt.datasets import load
from ansgt.datasets.custom import write_graph
from ansgt.report.side_by_side import Options, read_runs
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import train

NO_DATA = Options(device="cpu")
Train = Callable[..., RunFolder]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Train:
    folder = tmp_path_factory.mktemp("runs")

    def run(name: str, dataset: str = "newman", model: str = "gcn", **settings: object) -> RunFolder:
        train(dataset, model, run_dir=folder / name, device="cpu", overrides={"epochs": 2, **settings})
        return RunFolder(folder / name)

    return run


def test_names_say_what_differs_and_nothing_else(trained: Train) -> None:
    low, high, mlp = trained("low", lr=0.001), trained("high", lr=0.01), trained("mlp", model="mlp")
    (runs,) = read_runs([low, high, mlp], NO_DATA)
    assert [run.name for run in runs] == ["gcn · lr=0.001", "gcn · lr=0.01", "mlp"]
    assert [run.color for run in runs] == [0, 1, 2]


def test_the_same_settings_twice_are_told_apart_by_the_folder(tiny_run: Path, tmp_path: Path) -> None:
    copies = [RunFolder(shutil.copytree(tiny_run, tmp_path / name)) for name in ("first", "second")]
    (runs,) = read_runs(copies, NO_DATA)
    assert [run.name for run in runs] == ["ansgt (first)", "ansgt (second)"]


def test_other_data_are_another_group_and_missing_data_a_sentence(trained: Train, tmp_path: Path) -> None:
    groups = read_runs([trained("here"), trained("there", dataset="newman-0.25")], NO_DATA)
    assert [[run.name for run in runs] for runs in groups] == [["gcn"], ["gcn"]]
    data = load("newman")
    write_graph(tmp_path / "mine.npz", data.graph, data.split("uniform-60-20-20", 0, 0))
    lost = trained("lost", dataset=str(tmp_path / "mine.npz"))
    (tmp_path / "mine.npz").unlink()
    ((run,),) = read_runs([lost], NO_DATA)
    assert isinstance(run.opened, str)
    assert "mine.npz" in run.opened
    assert run.has_test


def test_scored_nodes_are_the_labelled_ones_of_the_part(tiny_run: Path) -> None:
    ((run,),) = read_runs([RunFolder(tiny_run)], NO_DATA)
    for split, accuracy in zip(run.splits, run.accuracies("test"), strict=True):
        probabilities, label = split.scored("test")
        assert np.mean(probabilities.argmax(axis=1) == label) == pytest.approx(accuracy)
    diagnosis = run.diagnosis("test")
    assert diagnosis is not None
    assert diagnosis.count == sum(len(split.scored("test")[1]) for split in run.splits)
