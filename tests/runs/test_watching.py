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
