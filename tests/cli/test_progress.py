"""The progress bar on a terminal of 80 columns; the events that TensorBoard reads."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from ansgt.cli import build_app, progress
from ansgt.runs.run import Progress


@pytest.mark.parametrize("columns", [80, 160])
def test_count_and_time_left_fit_a_narrow_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(progress, "err", Console(file=out, force_terminal=True, width=columns))
    status = {"1-hop": 0.25, "2-hop": 0.25, "ppr": 0.25, "knn": 0.25}
    with progress.training_bar("wisconsin ansgt x3") as report:
        report(Progress(0, 10, 41, 300, 1.2345, 0.667, status))
    last = Text.from_ansi(out.getvalue().split("\r")[-1]).plain
    for part in ("wisconsin ansgt x3 split 1/10", "42/300", "left", "val 66.7"):
        assert part in last
    assert ("knn 25" in last) == (columns == 160)


def test_events_of_a_training(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is an extra")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with progress.event_log(tmp_path) as log:
        log(Progress(0, 2, 0, 3, 1.5, None, {"knn": 0.25}))
        log(Progress(0, 2, 1, 3, 1.25, 0.5, {"knn": 0.5}))
        log(Progress(1, 2, 0, 3, 2.0, None, {"knn": 0.25}))
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("split-0/loss")] == [(0, 1.5), (1, 1.25)]
    assert [e.value for e in events.Scalars("split-0/val_accuracy")] == [0.5]
    assert [e.value for e in events.Scalars("split-0/probability/knn")] == [0.25, 0.5]
    assert [e.value for e in events.Scalars("split-1/loss")] == [2.0]


def test_train_logs_its_events(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is an extra")
    arguments = ["train", "newman", "--model", "mlp", "--device", "cpu", "-o", "epochs=2", "--tensorboard"]
    assert CliRunner().invoke(build_app(["train"]), [*arguments, "--run-dir", str(tmp_path)]).exit_code == 0
    assert list((tmp_path / "tensorboard").iterdir())
