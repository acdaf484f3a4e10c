"""The progress bar on a terminal of 80 columns."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from ansgt.cli import progress
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
