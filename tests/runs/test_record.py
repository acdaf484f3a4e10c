"""What a split's record says of its parts; the rest of it is in test_run.py and test_ensemble.py."""

import json
import platform
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch

from ansgt.datasets import load
from ansgt.metrics import METRICS
from ansgt.runs.folder import SplitFolder, open_run
from ansgt.runs.prepare import Request, build_config
from ansgt.runs.record import (
    bandit_summary,
    joined_record,
    joint_standing,
    never_predicted,
    scores_of,
    summarize,
    versions,
)
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.runs.run import run


def test_every_metric_of_both_parts_is_stored_and_evaluated_again(tiny_run: Path) -> None:
    run = FinishedRun.open(tiny_run, device="cpu")
    stored = [scores_of(split) for split in run.folder.finished_splits()]
    assert [list(one["test"]) for one in stored] == [list(METRICS)] * 2
    result = evaluate_run(run)
    summary = json.loads((tiny_run / "summary.json").read_text())
    for name in METRICS:
        values = [one["test"][name] for one in stored]
        assert result["scores"]["test"][name]["per_split"] == pytest.approx(values, abs=1e-5)
        assert summary["scores"]["test"][name]["mean"] == pytest.approx(np.mean(values))
    assert stored[0]["test"]["accuracy"] == run.folder.results()[0]["test_accuracy"]
    assert result["official_metric"] == "accuracy"


def test_several_models_are_joined_by_the_mean_of_what_they_predict(tmp_path: Path) -> None:
    request, alone = Request("newman", "gcn", "uniform-60-20-20"), []
    data, config = load("newman"), build_config(request, overrides=["epochs=2", "hidden_channels=4"])
    for seed in (0, 1):
        run(replace(config, seed=seed), data, tmp_path / str(seed))
        alone.append(open_run(tmp_path / str(seed)).split(0))
    for one, learned in zip(alone, (1.0, 4.0), strict=True):
        one.write_result({**one.result(), "learned": {"scale": learned}, "chosen": {"gcn": "calm"}})
    split = data.split(config.split)
    joined = joined_record(config, data.graph, split, alone)
    told = [one.predictions()["probabilities"] for one in alone]
    np.testing.assert_allclose(joined.probabilities, (told[0] + told[1]) / 2, atol=1e-6)
    one, two = (one.result() for one in alone)
    assert joined.facts["num_parameters"] == one["num_parameters"] + two["num_parameters"]
    assert joined.facts["epochs_run"] == 4
    assert (joined.facts["learned"], joined.facts["chosen"]) == ({"scale": 2.5}, {"gcn": "calm"})
    assert joined.facts["best_epoch"] == min(one["best_epoch"], two["best_epoch"])
    assert joined.facts["seconds"] == one["seconds"] + two["seconds"]
    assert [model["val_accuracy"] for model in joined.facts["models"]] == [
        one["val_accuracy"],
        two["val_accuracy"],
    ]
    right = (joined.probabilities.argmax(1) == data.graph.y).double()
    assert joined.facts["val_accuracy"] == pytest.approx(float(right[split.val].mean()))
    assert [(row["model"], row["epoch"]) for row in joined.metrics] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    folder = SplitFolder(tmp_path / "joined")
    replace(joined, history=[{"epoch": 3}]).write(data.graph, split, folder)
    assert (folder.history(), folder.metrics()) == ([{"epoch": 3}], joined.metrics)
    alone_there = folder.alone()
    assert alone_there is not None
    assert np.array_equal(alone_there["probabilities"], joined.alone.probabilities)
    assert np.array_equal(alone_there["nodes"], joined.alone.nodes)
    assert torch.equal(torch.from_numpy(folder.predictions()["probabilities"]), joined.probabilities)


def test_versions_are_those_of_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    found = versions()
    assert {name: found[name] for name in ("numpy", "torch", "numba")} == {
        name: metadata.version(name) for name in ("numpy", "torch", "numba")
    }
    assert (found["python"], found["platform"]) == (platform.python_version(), sys.platform)

    def absent(package: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr("ansgt.runs.record.version", absent)
    monkeypatch.setattr("ansgt.runs.record.card", lambda: "a card")
    assert (versions()["scipy"], versions()["gpu"]) == ("unknown", "a card")
    monkeypatch.setattr("ansgt.runs.record.card", lambda: None)
    assert "gpu" not in versions()


def test_means_over_splits_skip_what_is_not_known() -> None:
    assert summarize([1.0, None, 2.0]) == {"mean": 1.5, "std": 0.5, "per_split": [1.0, None, 2.0]}  # type: ignore[list-item]
    assert summarize([None]) == {"mean": None, "std": None, "per_split": [None]}  # type: ignore[list-item]


def test_bandits_of_several_models_and_splits() -> None:
    first = {"bandit": {"updates": 3, "acted": True, "settled": True}}
    other = {"bandit": {"updates": 2, "acted": True, "settled": False}}
    assert joint_standing([first, other, {}]) == {"bandit": {"updates": 2, "acted": True, "settled": False}}
    assert bandit_summary([first, other, {}]) == {"bandit": {"acted": 2, "settled": 1, "of": 2}}
    assert joint_standing([{}]) == bandit_summary([{}]) == {}


def test_scores_of_a_record_that_has_none_come_from_its_predictions(tiny_run: Path) -> None:
    split = open_run(tiny_run).split(0)

    class Older(type(split)):  # type: ignore[misc]
        def result(self) -> dict[str, object]:
            return {name: value for name, value in super().result().items() if name != "scores"}

    assert scores_of(Older(split.path)) == scores_of(split)


def test_classes_that_no_other_node_is_given(tiny_run: Path) -> None:
    split = FinishedRun.open(tiny_run, device="cpu").split()
    label = np.arange(128) // 32
    told = np.eye(4)[label]
    assert never_predicted(told, label, split) == []
    told[:, 2] = 0
    assert never_predicted(told, label, split) == [2]
    told[split.train.numpy()[0], 2] = 2  # a node that was trained on does not count
    assert never_predicted(told, label, split) == [2]
