"""Restarts: the mean of plain runs with other seeds, one record, resumable, usable by every verb."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ansgt import NodeClassifier
from ansgt.datasets import load
from ansgt.errors import InputError
from ansgt.pipeline import prepare_run, train
from ansgt.report.explanation import explain_node
from ansgt.report.html import complete_histories, write_report
from ansgt.storage import DiskCache
from ansgt.training import open_run
from ansgt.training.evaluate import evaluate_run, load_learner, load_run, move_learner
from ansgt.training.fit import Progress, run, train_model
from ansgt.training.restarts import Restarts, restarted

TINY = {
    "mlp": ["epochs=12", "hidden_channels=8"],
    "ansgt": [
        "epochs=6",
        "patience=null",
        "num_layers=1",
        "hidden_channels=16",
        "num_heads=2",
        "num_augmentations=2",
        "update_period=2",
    ],
}


def trained(folder: Path, model: str, *more: str) -> Path:
    train("newman", model, device="cpu", run_dir=folder, overrides=[*TINY[model], *more])
    return folder


def probabilities(folder: Path) -> np.ndarray:
    return open_run(folder).predictions(0)["probabilities"]


def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "split-0" / "result.json").read_text())


def test_the_first_of_several_models_is_the_plain_run() -> None:
    _, config = prepare_run("newman", "mlp", device="cpu", seed=4, overrides=["restarts=3"])
    seeds = [restarted(config, number).seed for number in range(3)]
    assert seeds[0] == 4
    assert len(set(seeds)) == 3
    assert restarted(config, 2).train.restarts == 1


@pytest.mark.parametrize("model", TINY)
def test_the_record_is_the_mean_of_runs_that_differ_in_their_seed(tmp_path: Path, model: str) -> None:
    together = trained(tmp_path / "together", model, "restarts=2")
    data, config = prepare_run("newman", model, device="cpu", overrides=[*TINY[model], "restarts=2"])
    split = data.split(config.split, 0, config.seed)
    alone = [tmp_path / "alone-0", tmp_path / "alone-1"]
    for number, folder in enumerate(alone):
        train_model(restarted(config, number), data.graph, split, folder, DiskCache(None))
    expected = np.mean([np.load(folder / "predictions.npz")["probabilities"] for folder in alone], axis=0)
    np.testing.assert_allclose(probabilities(together), expected, atol=1e-7)
    whole, parts = result(together), [json.loads((f / "result.json").read_text()) for f in alone]
    assert [r["test_accuracy"] for r in whole["restarts"]] == [r["test_accuracy"] for r in parts]
    assert whole["num_parameters"] == sum(r["num_parameters"] for r in parts)
    assert whole["epochs_run"] == sum(r["epochs_run"] for r in parts)
    hit = expected.argmax(axis=1) == data.graph.y.numpy()
    assert whole["test_accuracy"] == pytest.approx(hit[split.test.numpy()].mean())
    assert whole["val_accuracy"] == pytest.approx(hit[split.val.numpy()].mean())


@pytest.mark.parametrize("model", TINY)
def test_a_run_evaluates_to_its_record_and_leaves_no_parts_behind(tmp_path: Path, model: str) -> None:
    folder = trained(tmp_path / "run", model, "restarts=2")
    assert evaluate_run(folder, device="cpu")["matches_record"]
    assert not list(folder.glob("split-0/restart-*"))
    rows = open_run(folder).metrics(0)
    assert {row["restart"] for row in rows} == {0, 1}


@pytest.mark.parametrize("model", TINY)
def test_interrupted_in_the_second_model_and_resumed_is_the_same(tmp_path: Path, model: str) -> None:
    whole = trained(tmp_path / "whole", model, "restarts=3")
    data, config = prepare_run("newman", model, device="cpu", overrides=[*TINY[model], "restarts=3"])
    seen: list[int] = []

    def stop(progress: Progress) -> None:
        seen.append(progress.epoch)
        if progress.epoch == config.train.epochs + 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, data, tmp_path / "cut", report=stop, checkpoint_seconds=0.0)
    run(config, data, tmp_path / "cut", resume=True, report=lambda p: seen.append(p.epoch))
    assert result(tmp_path / "cut")["prediction_hash"] == result(whole)["prediction_hash"]
    assert seen.count(0) == 1, "the first model was not trained again"
    assert seen[-1] < 3 * config.train.epochs


def test_parts_that_a_kill_left_behind_go_with_the_next_start(tmp_path: Path) -> None:
    folder = trained(tmp_path / "run", "mlp", "restarts=2")
    before = result(folder)
    (folder / "split-0" / "restart-1").mkdir()
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=[*TINY["mlp"], "restarts=2"])
    run(config, data, folder, resume=True)
    assert not list(folder.glob("split-0/restart-*"))
    assert result(folder) == before


def test_the_mean_moves_to_another_graph_and_says_when_it_cannot(tmp_path: Path) -> None:
    folder, config, data = load_run(trained(tmp_path / "run", "mlp", "restarts=2"), device="cpu")
    predictor, _ = load_learner(folder, config, data, 0)
    other = load("newman").graph
    moved = move_learner(predictor, config, data.graph, other)
    nodes = torch.arange(5)
    torch.testing.assert_close(moved.predict_proba(nodes), predictor.predict_proba(nodes))
    narrow = other.with_features(other.x[:, :3])
    with pytest.raises(InputError, match="features"):
        move_learner(predictor, config, data.graph, narrow)


def test_an_explanation_is_of_all_models(tmp_path: Path) -> None:
    folder, config, data = load_run(trained(tmp_path / "run", "ansgt", "restarts=2"), device="cpu")
    predictor, _ = load_learner(folder, config, data, 0)
    assert isinstance(predictor, Restarts)
    together = explain_node(predictor, data.graph, 7)
    np.testing.assert_allclose(together.probabilities, probabilities(folder.path)[7], atol=1e-5)
    assert sum(together.kinds.values()) == pytest.approx(1.0)
    every = explain_node(predictor, data.graph, 7, top=10_000).attended
    classes = probabilities(folder.path).argmax(axis=1)
    assert [row.prediction for row in every] == [classes[row.node] for row in every]
    alone = [explain_node(model, data.graph, 7, top=10_000) for model in predictor.models()]
    node = together.attended[0].node
    shares = [sum(row.significance for row in one.attended if row.node == node) for one in alone]
    assert together.attended[0].significance == pytest.approx(sum(shares) / 2)


def test_pages_show_a_line_for_every_model(tmp_path: Path) -> None:
    folder = open_run(trained(tmp_path / "run", "ansgt", "restarts=2"))
    histories = complete_histories(folder, 1)
    assert len(histories) == 2
    assert all(len({row["epoch"] for row in rows}) == len(rows) == 3 for rows in histories)
    write_report([folder], tmp_path / "page.html")
    assert "sampling weights" in (tmp_path / "page.html").read_text()


def test_a_classifier_can_be_restarted_saved_and_loaded(tmp_path: Path) -> None:
    graph = load("newman").graph
    data = Data(x=graph.x, edge_index=torch.from_numpy(np.stack(graph.adj.nonzero())), y=graph.y)
    classifier = NodeClassifier("mlp", epochs=5, device="cpu", restarts=2, hidden_channels=8).fit(data)
    classifier.save(tmp_path / "saved")
    again = NodeClassifier.load(tmp_path / "saved", device="cpu")
    np.testing.assert_allclose(again.predict_proba(), classifier.predict_proba(), atol=1e-6)


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"train\.restarts must be positive, not 0"):
        prepare_run("newman", "mlp", device="cpu", overrides=["restarts=0"])
