"""Several models per split: the mean of plain runs with other seeds, one record, resumable, usable by every verb."""

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
from ansgt.prediction.ensemble import Ensemble, joined, weights_of
from ansgt.report.figures import complete_histories
from ansgt.report.page import write_report
from ansgt.runs.folder import SplitFolder, open_run
from ansgt.runs.prepare import prepare_run, train
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.runs.run import Environment, Job, Progress, run, train_model

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


def jobs(model: str, folder: Path, *more: str, seed: int = 0) -> list[Job]:
    """The jobs of the models of one split."""
    data, config = prepare_run("newman", model, device="cpu", seed=seed, overrides=[*TINY[model], *more])
    split = data.split(config.split, 0, config.seed)
    return Job(config, data.graph, split, SplitFolder(folder), Environment()).models


def probabilities(folder: Path) -> np.ndarray:
    return open_run(folder).split(0).predictions()["probabilities"]


def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "split-0" / "result.json").read_text())


def test_the_first_of_several_models_is_the_plain_run() -> None:
    models = jobs("mlp", Path("nowhere"), "num_models=3", seed=4)
    seeds = [job.config.seed for job in models]
    assert seeds[0] == 4
    assert len(set(seeds)) == 3
    assert {job.config.train.num_models for job in models} == {1}


@pytest.mark.parametrize("model", TINY)
def test_the_record_is_the_mean_of_runs_that_differ_in_their_seed(tmp_path: Path, model: str) -> None:
    together = trained(tmp_path / "together", model, "num_models=2")
    data, config = prepare_run("newman", model, device="cpu", overrides=[*TINY[model], "num_models=2"])
    split = data.split(config.split, 0, config.seed)
    alone = []
    for job in jobs(model, tmp_path / "alone", "num_models=2"):
        train_model(job)
        alone.append(job.folder.path)
    expected = np.mean([np.load(folder / "predictions.npz")["probabilities"] for folder in alone], axis=0)
    np.testing.assert_allclose(probabilities(together), expected, atol=1e-7)
    whole, parts = result(together), [json.loads((f / "result.json").read_text()) for f in alone]
    assert [r["test_accuracy"] for r in whole["models"]] == [r["test_accuracy"] for r in parts]
    assert whole["num_parameters"] == sum(r["num_parameters"] for r in parts)
    assert whole["epochs_run"] == sum(r["epochs_run"] for r in parts)
    hit = expected.argmax(axis=1) == data.graph.y.numpy()
    assert whole["test_accuracy"] == pytest.approx(hit[split.test.numpy()].mean())
    assert whole["val_accuracy"] == pytest.approx(hit[split.val.numpy()].mean())


@pytest.mark.parametrize("model", TINY)
def test_a_run_evaluates_to_its_record_and_leaves_no_parts_behind(tmp_path: Path, model: str) -> None:
    folder = trained(tmp_path / "run", model, "num_models=2")
    assert evaluate_run(FinishedRun.open(folder, device="cpu"))["matches_record"]
    assert not list(folder.glob("split-0/model-*/"))
    rows = open_run(folder).split(0).metrics()
    assert {row["model"] for row in rows} == {0, 1}


@pytest.mark.parametrize("model", TINY)
def test_interrupted_in_the_second_model_and_resumed_is_the_same(tmp_path: Path, model: str) -> None:
    whole = trained(tmp_path / "whole", model, "num_models=3")
    data, config = prepare_run("newman", model, device="cpu", overrides=[*TINY[model], "num_models=3"])
    seen: list[int] = []

    def stop(progress: Progress) -> None:
        seen.append(progress.epoch)
        if progress.epoch == config.train.epochs + 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, data, tmp_path / "cut", environment=Environment(on_epoch=stop, checkpoint_seconds=0.0))
    listening = Environment(on_epoch=lambda p: seen.append(p.epoch))
    run(config, data, tmp_path / "cut", resume=True, environment=listening)
    assert result(tmp_path / "cut")["prediction_hash"] == result(whole)["prediction_hash"]
    assert seen.count(0) == 1, "the first model was not trained again"
    assert seen[-1] < 3 * config.train.epochs


def test_parts_that_a_kill_left_behind_go_with_the_next_start(tmp_path: Path) -> None:
    folder = trained(tmp_path / "run", "mlp", "num_models=2")
    before = result(folder)
    (folder / "split-0" / "model-1").mkdir()
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=[*TINY["mlp"], "num_models=2"])
    run(config, data, folder, resume=True)
    assert not list(folder.glob("split-0/model-*/"))
    assert result(folder) == before


def test_the_mean_moves_to_another_graph_and_says_when_it_cannot(tmp_path: Path) -> None:
    finished = FinishedRun.open(trained(tmp_path / "run", "mlp", "num_models=2"), device="cpu")
    other = load("newman").graph
    nodes = torch.arange(5)
    expected = finished.trained().predict_proba(nodes)
    torch.testing.assert_close(finished.moved(other).predict_proba(nodes), expected)
    narrow = other.with_features(other.x[:, :3])
    with pytest.raises(InputError, match="features"):
        finished.moved(narrow)


def test_an_explanation_is_of_all_models(tmp_path: Path) -> None:
    finished = FinishedRun.open(trained(tmp_path / "run", "ansgt", "num_models=2"), device="cpu")
    ensemble = finished.trained()
    assert isinstance(ensemble, Ensemble)
    stored = probabilities(finished.folder.path)
    together = ensemble.explain(7)
    np.testing.assert_allclose(together.probabilities, stored[7], atol=1e-5)
    assert sum(together.kinds.values()) == pytest.approx(1.0)
    every = ensemble.explain(7, top=10_000).attended
    classes = stored.argmax(axis=1)
    assert [row.prediction for row in every] == [classes[row.node] for row in every]
    alone = [model.explain(7, top=10_000) for model in ensemble.models]
    node = together.attended[0].node
    shares = [sum(row.significance for row in one.attended if row.node == node) for one in alone]
    assert together.attended[0].significance == pytest.approx(sum(shares) / 2)


def test_weights_of_version_0_1_are_understood() -> None:
    one, other = {"a.b": torch.ones(1)}, {"a.b": torch.zeros(1)}
    stored = joined([one, other])
    assert weights_of(stored, 1) == other
    old = {name.replace("model-", "restart-"): value for name, value in stored.items()}
    assert weights_of(old, 1) == other


def test_pages_show_a_line_for_every_model(tmp_path: Path) -> None:
    folder = open_run(trained(tmp_path / "run", "ansgt", "num_models=2"))
    histories = complete_histories(folder, 1)
    assert len(histories) == 2
    assert all(len({row["epoch"] for row in rows}) == len(rows) == 3 for rows in histories)
    write_report([folder], tmp_path / "page.html")
    assert "Sampling weights" in (tmp_path / "page.html").read_text()


def test_a_classifier_of_several_models_can_be_saved_and_loaded(tmp_path: Path) -> None:
    graph = load("newman").graph
    data = Data(x=graph.x, edge_index=torch.from_numpy(np.stack(graph.adj.nonzero())), y=graph.y)
    classifier = NodeClassifier("mlp", epochs=5, device="cpu", num_models=2, hidden_channels=8).fit(data)
    classifier.save(tmp_path / "saved")
    again = NodeClassifier.load(tmp_path / "saved", device="cpu")
    np.testing.assert_allclose(again.predict_proba(), classifier.predict_proba(), atol=1e-6)


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"train\.num_models must be in \[1, 1000\], not 0"):
        prepare_run("newman", "mlp", device="cpu", overrides=["num_models=0"])
