"""A training under somebody's eyes: a bar on terminals of 80 and 160 columns, a line in a notebook, lines through a pipe."""

import io
import time

import pytest
import torch
from rich.console import Console
from rich.text import Text

import ansgt
from ansgt.runs import watching
from ansgt.runs.run import Progress
from ansgt.runs.watching import Lines, NotebookLine
from ansgt.stages import Stage

STATUS = {"1-hop": 0.25, "2-hop": 0.25, "ppr": 0.25, "knn": 0.25}


def epoch(number: int, split: int = 0) -> Progress:
    return Progress(split, 10, number, 300, 1.2345, 0.667, STATUS)


@pytest.mark.parametrize("columns", [80, 160])
def test_count_time_left_and_probabilities_fit_a_narrow_terminal(columns: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=columns)
    with watching.watching("wisconsin ansgt x3", 251, console) as watch:
        watch.on_epoch(epoch(41))
    last = [line.rstrip() for line in Text.from_ansi(out.getvalue()).plain.splitlines() if line.strip()][-2:]
    for part in ("wisconsin ansgt x3 split 1/10", "42/300", "left", "val 66.7", "1-hop 25", "knn 25"):
        assert part in " ".join(last)
    assert all(len(line) <= columns for line in last)


def test_through_a_pipe_there_is_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    out = io.StringIO()
    watch = Lines("newman ansgt", 128, Console(file=out, width=80))
    for number in range(12):
        now += 2.0
        watch.on_epoch(epoch(number))
    lines = out.getvalue().splitlines()
    assert [line.partition(",")[0].split()[-1] for line in lines] == ["5/300", "10/300"]
    assert lines[0] == (
        "newman ansgt split 1/10: epoch 5/300, 590 s left, val 66.7 %, loss 1.234 1-hop 25 2-hop 25 ppr 25 knn 25"
    )


@pytest.mark.parametrize(("first", "seconds_left"), [(0, 590), (100, 390)])
def test_seconds_that_are_left(first: int, seconds_left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the epochs of this split and this call: 2 s each, whatever was trained before."""
    now, out = 50.0, io.StringIO()
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    watch = Lines("x", 128, Console(file=out, width=80))
    for number in range(first, first + 6):
        now += 2.0
        watch.on_epoch(epoch(number))
    assert f"epoch {first + 5}/300, {seconds_left} s left" in out.getvalue()
    for number in range(4):  # of the next split
        now += 3.0
        watch.on_epoch(epoch(number, split=1))
    assert "split 2/10: epoch 3/300, 891 s left" in out.getvalue()


def test_stages_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, out = 50.0, io.StringIO()
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    watch = Lines("x", 6000, Console(file=out, width=80))
    for moment, stage in (
        (51.9, Stage("soon", 10)),
        (52.0, Stage("late", 10)),
        (52.5, Stage("late", 10)),
        (57.4, Stage("late", 10, done=2)),
        (57.5, Stage("late", 10, done=3)),
        (62.4, Stage("late", 10, done=4)),
        (62.5, Stage("late", 10, done=5)),
        (70.0, Stage("late", 10, done=10)),
        (80.0, Stage("late", None, done=7)),
    ):
        now = moment
        watch.on_stage(stage)
    assert out.getvalue().splitlines() == ["late ...", "late 30 %", "late 50 %"]
    Lines("x", 6001, Console(file=out, width=80)).on_stage(Stage("at once"))
    assert out.getvalue().splitlines()[3:] == ["at once ..."]


def test_a_notebooks_line_changes_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = 50.0, list[str]()
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(NotebookLine, "say", lambda self, text: said.append(text))
    watch = NotebookLine("x", 128, Console())
    watch.end()
    assert said == []
    for number in range(5):
        now += 0.25
        watch.on_epoch(epoch(number))
    watch.end()
    assert [text.split("/300")[0].split()[-1] for text in said] == ["1", "3", "5", "5"]


def test_a_notebook_has_one_line_and_no_widget() -> None:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    InteractiveShell.instance()
    try:
        with capture_output() as caught:
            watch = NotebookLine("newman ansgt", 128, Console(stderr=True))
            watch.on_epoch(epoch(0))
            watch.on_epoch(epoch(1))
            watch.end()
    finally:
        InteractiveShell.clear_instance()
    first, *updates = caught.outputs
    assert set(first.data) == {"text/plain"}
    assert "epoch 1/300" in first.data["text/plain"]
    assert all(one.update and one.transient == first.transient for one in updates)
    assert "epoch 2/300" in updates[-1].data["text/plain"]


@pytest.mark.parametrize(("num_nodes", "named"), [(128, False), (100_000, True)])
def test_stages_are_named_on_large_graphs_alone(num_nodes: int, named: bool) -> None:
    out = io.StringIO()
    watch = Lines("x", num_nodes, Console(file=out, width=80))
    watch.on_stage(Stage("candidates", 10))
    watch.on_stage(Stage("rows are streamed", is_note=True))
    assert out.getvalue().splitlines() == (["candidates ..."] if named else []) + ["rows are streamed"]


def test_fit_is_silent_unless_it_is_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "EVERY", 0.0)
    data, seen = ansgt.load_dataset("newman"), []
    with torch.random.fork_rng(devices=[]):
        ansgt.NodeClassifier("gcn", epochs=2).fit(data)
        assert capsys.readouterr() == ("", "")
        ansgt.NodeClassifier("gcn", epochs=2).fit(data, verbose=True, on_epoch=seen.append)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(",")[0] for line in err.splitlines()] == [
        "graph gcn split 1/1: epoch 1/2",
        "graph gcn split 1/1: epoch 2/2",
    ]
    assert len(seen) == 2
