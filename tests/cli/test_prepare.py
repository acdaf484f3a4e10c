"""`ansgt prepare`, as a user calls it."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner, Result

from ansgt.cli import build_app, prepare
from ansgt.runs.rows import Stored


def call(*arguments: object) -> Result:
    return CliRunner().invoke(build_app(["prepare"]), ["prepare", *map(str, arguments)])


def test_rows_are_stored_once(tmp_path: Path) -> None:
    command = ("newman", "--cache-dir", tmp_path, "--device", "cpu", "-o", "restart_prob=0.3")
    first = call(*command, "--json")
    assert first.exit_code == 0
    result = json.loads(first.stdout)
    assert {"store", "shards", "seconds", "peak_bytes"} <= set(result)
    assert len(list(Path(result["store"]).glob("*/*.safetensors"))) == result["shards"] == 4
    assert "ppr 0 of 128 rows are there" in first.stderr
    again = call(*command)
    assert "ppr 128 of 128 rows are there" in again.stderr
    assert "rows of 1-hop, 2-hop, ppr, knn for newman" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.npz",), "does not exist"),
        (("newman", "-o", "restart_prob=7"), "restart_prob"),
        (("newman", "-o", "nothing=1"), "nothing"),
    ],
)
def test_bad_input_is_a_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    result = call(*arguments, "--cache-dir", tmp_path)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_bar_per_heuristic_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(prepare, "err", Console(file=out, force_terminal=True, width=80))
    with prepare.rows_bar() as show:
        for done in (0, 65_536, 170_000):
            show(Stored("ppr", done, 170_000))
        show(Stored("knn", 1000, 170_000))
    last = [Text.from_ansi(line).plain for line in out.getvalue().split("\n")]
    assert any("ppr" in line and "170,000/170,000 rows" in line for line in last)
    assert any("knn" in line and "1,000/170,000 rows" in line and "left" in line for line in last)


def test_lines_say_what_is_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ticks = iter([0.0, 1.0, 10.0, 30.0])
    monkeypatch.setattr(prepare.time, "monotonic", lambda: next(ticks))
    lines: list[str] = []
    monkeypatch.setattr(prepare, "tell", lambda text, head, style: lines.append(f"{head} {text}"))
    told = prepare._Lines()
    for done in (20, 30, 60, 100):  # 40 rows in 10 s since it began with 20
        told(Stored("ppr", done, 100))
    assert lines == [
        "ppr 20 of 100 rows are there",
        "ppr 60 of 100 rows, 10 s left",
        "ppr 100 of 100 rows",
    ]
