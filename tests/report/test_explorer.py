"""The explorer's data are the record's predictions and what `explain` says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ansgt
from ansgt.report.explorer import TOP, explorer_data
from ansgt.report.side_by_side import Options, RunOnPage, read_runs
from ansgt.runs.folder import RunFolder
from ansgt.runs.reopen import FinishedRun

EXPLAINED = 20


@pytest.fixture(scope="module")
def run(tiny_run: Path) -> RunOnPage:
    ((run,),) = read_runs([RunFolder(tiny_run)], Options(device="cpu"))
    return run


@pytest.fixture(scope="module")
def data(run: RunOnPage) -> dict[str, Any]:
    return explorer_data([[run]], Options(device="cpu", explained=2 * EXPLAINED))


def test_nodes_edges_and_probabilities_are_those_of_the_graph_and_the_record(
    data: dict[str, Any], run: RunOnPage
) -> None:
    (graph,) = data["graphs"]
    assert not isinstance(run.opened, str)
    drawn = run.opened.graph
    assert graph["degree"] == drawn.degree.tolist()
    pairs = np.array(graph["edges"]).reshape(-1, 2)
    assert len(pairs) == drawn.num_edges == graph["numEdges"]
    assert (drawn.adj[pairs[:, 0], pairs[:, 1]] > 0).all()
    for view, split in zip(data["views"], run.splits, strict=True):
        stored = split.predictions["probabilities"]
        assert np.allclose(np.reshape(view["proba"], stored.shape) / 1000, stored, atol=5.1e-4)
        letters = np.array(list(view["part"]))
        assert np.array_equal(np.flatnonzero(letters == "s"), np.sort(split.parts["test"]))
        assert np.array_equal(np.flatnonzero(letters == "t"), np.sort(split.parts["train"]))


def test_attention_is_what_explain_says(data: dict[str, Any], tiny_run: Path) -> None:
    trained = FinishedRun.open(tiny_run, device="cpu").trained(1)
    view = data["views"][1]
    assert len(view["attention"]) == EXPLAINED
    for row, flat in list(view["attention"].items())[:3]:
        explanation = trained.explain(int(row), TOP)
        table = np.reshape(flat, (-1, 2 + len(view["heuristics"])))
        assert table[:, 0].tolist() == [one.node for one in explanation.attended]
        assert np.allclose(table[:, 1] / 1000, [one.significance for one in explanation.attended], atol=6e-4)
        brought = [[one.heuristics[name] for name in view["heuristics"]] for one in explanation.attended]
        assert np.allclose(table[:, 2:] / 100, brought, atol=6e-3)


def test_the_worst_errors_are_the_surest_wrong_nodes_of_the_test_part(
    data: dict[str, Any], run: RunOnPage
) -> None:
    for view, split in zip(data["views"], run.splits, strict=True):
        stored = split.predictions
        wrong = [
            (-stored["probabilities"][v].max(), v)
            for v in split.parts["test"]
            if stored["probabilities"][v].argmax() != stored["label"][v]
        ]
        assert [one["row"] for one in view["worst"]] == [v for _, v in sorted(wrong)][:12]


def test_without_the_graph_there_is_a_sentence_in_its_place(run: RunOnPage) -> None:
    from dataclasses import replace

    lost = replace(run, opened="The files are not there.")
    data = explorer_data([[lost]], Options())
    assert data["graphs"][0]["missing"] == "The files are not there."
    assert "x" not in data["graphs"][0]
    assert "attention" not in data["views"][0]


def test_names_come_along(tmp_path: Path) -> None:
    data = ansgt.load_dataset("newman")
    data.node_names = [f"actor {node}" for node in range(128)]
    data.class_names = ["red", "green", "blue", "<b>"]
    ansgt.NodeClassifier("gcn", epochs=2).fit(data).save(tmp_path / "model")
    ((run,),) = read_runs([RunFolder(tmp_path / "model")], Options(device="cpu"))
    (graph,) = explorer_data([[run]], Options(explained=0))["graphs"]
    assert graph["names"][5] == "actor 5"
    assert graph["classes"] == ["red", "green", "blue", "<b>"]
