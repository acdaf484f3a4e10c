"""Loggers: what the libraries themselves read back, and a logger of one's own."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ansgt
from ansgt.cli import build_app
from ansgt.errors import InputError
from ansgt.runs.loggers import LOGGERS, Logger, MLflow, TensorBoard, WeightsAndBiases, logged, logger
from ansgt.runs.run import Progress

EPOCHS = [
    Progress(0, 2, 0, 3, 1.5, None, {"knn": 0.25}),
    Progress(0, 2, 1, 3, 1.25, 0.5, {"knn": 0.5}),
    Progress(1, 2, 0, 3, 2.0, None, {"knn": 0.25}),
]


def tell(one: Logger) -> None:
    with logged([one], "a run", {"lr": 0.1, "model": "gcn"}) as on_epoch:
        for progress in EPOCHS:
            on_epoch(progress)


class Own:
    """A logger of one's own."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        self.heard.append((name, dict(settings)))

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        self.heard.append((epoch, dict(values)))

    def finish(self) -> None:
        self.heard.append("finished")


def test_a_logger_of_ones_own_hears_everything() -> None:
    own = Own()
    tell(own)
    assert own.heard[0] == ("a run", {"lr": 0.1, "model": "gcn"})
    assert own.heard[2] == (
        1,
        {"split-0/loss": 1.25, "split-0/val_accuracy": 0.5, "split-0/probability/knn": 0.5},
    )
    assert own.heard[-1] == "finished"


def test_an_error_finishes_every_logger_that_was_started() -> None:
    class Refusing(Own):
        def start(self, name: str, settings: Mapping[str, Any]) -> None:
            raise InputError("no")

    first, second, third = Own(), Refusing(), Own()
    with pytest.raises(InputError, match="no"), logged([first, second, third]):
        pass
    assert (first.heard[-1], second.heard, third.heard) == ("finished", ["finished"], [])


def test_fit_takes_loggers() -> None:
    own = Own()
    with logged([own]) as on_epoch:
        ansgt.NodeClassifier("mlp", epochs=3, device="cpu").fit(
            ansgt.load_dataset("newman"), on_epoch=on_epoch
        )
    assert [epoch for epoch, _ in own.heard[1:-1]] == [0, 1, 2]


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is an extra")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tell(TensorBoard(tmp_path))
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("split-0/loss")] == [(0, 1.5), (1, 1.25)]
    assert [e.value for e in events.Scalars("split-0/val_accuracy")] == [0.5]
    assert [e.value for e in events.Scalars("split-0/probability/knn")] == [0.25, 0.5]
    assert [e.value for e in events.Scalars("split-1/loss")] == [2.0]


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is an extra")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    one = MLflow(uri=tmp_path.as_uri())
    tell(one)
    client = mlflow.MlflowClient(tracking_uri=tmp_path.as_uri())
    run = client.get_run(one.run_id)
    assert (run.data.params["model"], run.info.status) == ("gcn", "FINISHED")
    losses = client.get_metric_history(one.run_id, "split-0/loss")
    assert [(point.step, point.value) for point in losses] == [(0, 1.5), (1, 1.25)]


def test_weights_and_biases_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is an extra")
    monkeypatch.setenv("WANDB_SILENT", "true")
    tell(WeightsAndBiases(tmp_path / "wandb", mode="offline"))
    (stored,) = (tmp_path / "wandb").rglob("run-*.wandb")
    end = time.monotonic() + 30  # its service writes the file when `finish` has returned
    while b"split-1/loss" not in stored.read_bytes():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert b"split-0/loss" in stored.read_bytes()


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    for name in LOGGERS:
        with pytest.raises(InputError, match=rf"pip install 'ansgt\[{name}\]'"):
            logger(name, tmp_path)


def test_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is an extra")
    app, arguments = build_app(["train"]), ["train", "newman", "--model", "mlp", "--device", "cpu"]
    arguments += ["-o", "epochs=2", "--run-dir", str(tmp_path)]
    assert CliRunner().invoke(app, [*arguments, "--log", "tensorboard"]).exit_code == 0
    assert list((tmp_path / "tensorboard").iterdir())
    refused = CliRunner().invoke(app, [*arguments, "--overwrite", "--log", "papyrus"])
    assert refused.exit_code == 2
    assert "Unknown logger 'papyrus'" in refused.stderr
