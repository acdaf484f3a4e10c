"""The harness: selection on validation alone, records, resumption bit for bit after kill -9."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ansgt.datasets import load
from ansgt.datasets.load import Source
from ansgt.errors import BusyError, InputError
from ansgt.graph import Graph
from ansgt.runs.clock import TimeLimit
from ansgt.runs.folder import open_run
from ansgt.runs.prepare import prepare_run, train
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.runs.run import Environment, Selection, _warn_of_absent_classes, run
from ansgt.settings import TrainSettings
from ansgt.storage import folder_lock
from ansgt.training import build_learner

MLP = {"model": "mlp", "device": "cpu", "overrides": ["epochs=15", "hidden_channels=8"]}


def record(folder: Path) -> dict[str, Any]:
    """Everything in a run that must not depend on how often it was interrupted."""
    content: dict[str, Any] = {}
    for split in sorted(folder.glob("split-*")):
        result = json.loads((split / "result.json").read_text())
        del result["seconds"], result["sha256"]
        content[split.name] = (
            result,
            (split / "metrics.jsonl").read_text(),
            (split / "model.safetensors").read_bytes(),
        )
        with np.load(split / "predictions.npz") as arrays:
            content[split.name] += (arrays["probabilities"].tobytes(),)
    return content


def test_run_writes_a_record_that_evaluates_the_same(tmp_path: Path) -> None:
    summary = train("newman", run_dir=tmp_path / "r", num_splits=2, source=Source(cache_dir=tmp_path), **MLP)
    folder = open_run(tmp_path / "r")
    assert len(folder.results()) == 2
    assert summary["test_accuracy"]["mean"] == pytest.approx(np.mean(summary["test_accuracy"]["per_split"]))
    assert summary["test_accuracy"]["std"] == pytest.approx(np.std(summary["test_accuracy"]["per_split"]))
    rows = folder.split(0).metrics()
    assert folder.results()[0]["val_accuracy"] == max(row["val_accuracy"] for row in rows)
    assert not list((tmp_path / "r").rglob("*.tmp"))
    again = evaluate_run(FinishedRun.open(tmp_path / "r", device="cpu", cache_dir=tmp_path))
    assert again["matches_record"]
    assert again["test_accuracy"] == summary["test_accuracy"]


def test_same_seed_same_record_and_the_callers_generator_is_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    train("newman", run_dir=tmp_path / "a", source=Source(cache_dir=tmp_path), **MLP)
    assert torch.equal(torch.rand(1), expected)
    torch.rand(5)
    train("newman", run_dir=tmp_path / "b", source=Source(cache_dir=tmp_path), **MLP)
    assert record(tmp_path / "a") == record(tmp_path / "b")
    train("newman", run_dir=tmp_path / "c", source=Source(cache_dir=tmp_path), seed=1, **MLP)
    assert record(tmp_path / "a") != record(tmp_path / "c")


def test_a_learner_is_freed_before_the_next_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where it sits in a reference cycle, as captured graphs do."""
    built: list[weakref.ref[Any]] = []

    def build(*given: Any) -> Any:
        assert all(earlier() is None for earlier in built)
        learner: Any = build_learner(*given)
        learner.itself = learner
        built.append(weakref.ref(learner))
        return learner

    monkeypatch.setattr("ansgt.runs.run.build_learner", build)
    train("newman", run_dir=tmp_path / "r", num_splits=3, source=Source(cache_dir=tmp_path), **MLP)
    assert len(built) == 3


def test_whoever_listens_hears_what_every_scored_epoch_says_of_the_validation_nodes(tmp_path: Path) -> None:
    heard: list[tuple[int, torch.Tensor]] = []
    listening = Environment(on_validation=lambda epoch, probabilities: heard.append((epoch, probabilities)))
    data, config = prepare_run("newman", "mlp", device="cpu", overrides={"epochs": 5, "eval_every": 2})
    run(config, data, tmp_path / "r", environment=listening)
    run(config, data, tmp_path / "alone")
    assert record(tmp_path / "r") == record(tmp_path / "alone")
    assert [epoch for epoch, _ in heard] == [1, 3, 4]
    val = data.split().val
    hits = [float((p.argmax(dim=1) == data.graph.y[val]).double().mean()) for _, p in heard]
    rows = open_run(tmp_path / "r").split(0).metrics()
    assert hits == [row["val_accuracy"] for row in rows if "val_accuracy" in row]


def test_labels_outside_training_and_validation_never_matter(tmp_path: Path) -> None:
    """Scrambling every test label changes the test score and nothing else."""
    data, config = prepare_run("newman", **MLP)
    run(config, data, tmp_path / "a")
    split = data.split()
    data.graph.y[split.test] = (data.graph.y[split.test] + 1) % 4
    fixed = type(data)(data.name, data.variant, data.graph, "given", {"given": [split]})
    run(type(config)(**{**config.__dict__, "split": "given"}), fixed, tmp_path / "b")
    one, other = record(tmp_path / "a")["split-0"], record(tmp_path / "b")["split-0"]
    assert one[1:] == other[1:]
    assert one[0]["test_accuracy"] != other[0]["test_accuracy"]


def test_directory_rules(tmp_path: Path) -> None:
    data, config = prepare_run("newman", **MLP)
    run(config, data, tmp_path / "r")
    before = record(tmp_path / "r")
    with pytest.raises(InputError, match="already holds a run"):
        run(config, data, tmp_path / "r")
    _, other = prepare_run("newman", "mlp", device="cpu", overrides=["epochs=16"])
    with pytest.raises(InputError, match=r"other settings \(settings, train\)"):
        run(other, data, tmp_path / "r", resume=True)
    with pytest.raises(InputError, match="on other data"):
        run(config, load("newman", seed=9), tmp_path / "r", resume=True)
    run(config, data, tmp_path / "r", resume=True)
    run(config, data, tmp_path / "r", overwrite=True)
    assert record(tmp_path / "r") == before
    with folder_lock(tmp_path / "r"), pytest.raises(BusyError):
        run(config, data, tmp_path / "r", resume=True)
    with pytest.raises(InputError, match="does not exist"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not a run directory"):
        open_run(tmp_path)


SCRIPT = """
import sys
from ansgt.runs.prepare import prepare_run
from ansgt.runs.run import Environment, run
overrides = sys.argv[3].split(",")
data, config = prepare_run("newman", sys.argv[2], device="cpu", num_splits=3, overrides=overrides)
run(config, data, sys.argv[1], resume=True, environment=Environment(checkpoint_seconds=0.0))
"""


def start(folder: Path, model: str, overrides: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), model, overrides],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


LONG = {
    "gcn": "epochs=60,hidden_channels=8,patience=null",
    "ansgt": "epochs=12,patience=null,num_layers=1,hidden_channels=16,num_heads=2,num_augmentations=2,update_period=2",
}


@pytest.mark.parametrize("model", LONG)
def test_killed_at_several_moments_ends_bit_identical(tmp_path: Path, model: str) -> None:
    overrides = LONG[model]
    assert start(tmp_path / "whole", model, overrides).wait() == 0
    folder = tmp_path / "killed"
    kills = 0
    for moment in (
        "split-0/checkpoint.safetensors",
        "split-0/model.safetensors",
        "split-1/checkpoint.safetensors",
    ):
        process = start(folder, model, overrides)
        while process.poll() is None and not (folder / moment).exists():
            time.sleep(0.001)
        time.sleep(0.02 * kills)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills >= 2
    assert start(folder, model, overrides).wait() == 0
    assert record(folder) == record(tmp_path / "whole")


class FixedWeights:
    def weights(self) -> dict[str, torch.Tensor]:
        return {"w": torch.zeros(1)}


def test_selection_prefers_accuracy_then_loss_and_stops() -> None:
    selection, learner = Selection(), FixedWeights()
    offers = [(0.5, 1.0), (0.6, 2.0), (0.6, 1.5), (0.6, 1.7), (0.4, 0.1)]
    for epoch, (accuracy, loss) in enumerate(offers):
        selection.offer(epoch, accuracy, accuracy, loss, learner)  # type: ignore[arg-type]
    assert (selection.best_epoch, selection.val_accuracy, selection.val_loss) == (2, 0.6, 1.5)
    selection.offer(5, 0.6, 0.9, 1.5, learner)  # type: ignore[arg-type]
    assert selection.best_epoch == 2, "of equals the first is kept"
    assert list(selection.best_weights) == ["w"]
    assert not Selection().exhausted(99, TrainSettings(patience=3))
    assert not selection.exhausted(4, TrainSettings(patience=3))
    assert selection.exhausted(5, TrainSettings(patience=3))
    assert not selection.exhausted(500, TrainSettings(patience=None))
    by_loss = Selection()
    for epoch, (accuracy, loss) in enumerate(offers):
        by_loss.offer(epoch, -loss, accuracy, loss, learner)  # type: ignore[arg-type]
    assert by_loss.best_epoch == 4


def test_an_auc_that_is_none_counts_as_zero() -> None:
    selection, learner = Selection(), FixedWeights()
    for epoch, value in enumerate((float("nan"), 0.4, float("nan"))):
        selection.offer(epoch, value, 0.5, 1.0, learner)  # type: ignore[arg-type]
    assert selection.best_epoch == 1


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([[1]], "Class 1 is never predicted outside the training part; "),
        ([[1], []], "Class 1 is never predicted outside the training part in 1 of 2 splits; "),
        ([[1, 2], [2]], "Classes 2, 1 are never predicted outside the training part in 2 of 2 splits; "),
    ],
)
def test_classes_that_no_split_predicts_are_named(results: list[list[int]], words: str) -> None:
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=["epochs=1"])
    with pytest.warns(UserWarning, match=f"^{words}"):
        _warn_of_absent_classes(config, data.graph, [{"never_predicted": codes} for codes in results])


def test_what_helps_against_absent_classes_and_nothing_where_there_are_none() -> None:
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=["train.class_weight=balanced"])
    with pytest.warns(UserWarning, match="; select=macro_f1 or other settings may help"):
        _warn_of_absent_classes(config, data.graph, [{"never_predicted": [1]}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn_of_absent_classes(config, data.graph, [{"never_predicted": []}, {}])
    assert Environment().checkpoint_seconds == 10.0


@pytest.mark.parametrize(("number", "more"), [(5, ""), (6, " and 1 others"), (7, " and 2 others")])
def test_of_many_absent_classes_five_are_named(number: int, more: str) -> None:
    config = prepare_run("newman", "mlp", device="cpu", overrides=["epochs=1"])[1]
    graph = Graph.from_arrays(torch.eye(8), [[0], [1]], list(range(8)))
    with pytest.warns(UserWarning, match=f"Classes 0, 1, 2, 3, 4{more} are never"):
        _warn_of_absent_classes(config, graph, [{"never_predicted": list(range(number))}])


@pytest.mark.parametrize(("started", "moment"), [(5.0, 5.0), (None, 7.0)])
def test_a_time_limit_counts_from_the_start_that_is_told_or_from_now(
    started: float | None, moment: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []

    def limit(seconds: float | None, start: float) -> TimeLimit:
        seen.append(start)
        return TimeLimit(seconds, start)

    monkeypatch.setattr("ansgt.runs.run.TimeLimit", limit)
    monkeypatch.setattr("ansgt.runs.run.time.perf_counter", lambda: 7.0)
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=["epochs=1"])
    run(config, data, tmp_path, environment=Environment(started=started))
    assert seen == [moment]
