"""`ansgt export`: the JSON contract, and what it refuses."""

import json
from pathlib import Path

from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.prediction.export import load_program


def invoke(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(build_app(["export"]), ["export", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_run_as_a_program(tiny_run: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "model.pt2")
    code, out, err = invoke(str(tiny_run), "--output", target, "--device", "cpu", "--nodes", "20", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert {"output": target, "format": "torch"}.items() <= result.items()
    assert 0 <= result["largest_difference"] <= 1e-4
    _, about = load_program(target)
    assert about["dataset"] == "newman"


def test_refusals(tiny_run: Path, tmp_path: Path) -> None:
    for arguments, words in (
        (["--format", "tflite"], "Unknown format 'tflite'"),
        (["--output", str(tmp_path / "a.bin")], "must end in .pt2"),
        (["--split", "9"], "Split 9"),
    ):
        code, _, err = invoke(str(tiny_run), "--device", "cpu", *arguments)
        assert code == 2
        assert words in err
