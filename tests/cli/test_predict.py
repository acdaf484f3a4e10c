"""`ansgt predict`: per-node probabilities as CSV and NPZ."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.cli.predict import write_predictions


def call(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(build_app([arguments[0]]), [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_csv_and_npz_hold_the_same(tiny_run: Path, tmp_path: Path) -> None:
    for suffix in ("csv", "npz"):
        target = tmp_path / f"out.{suffix}"
        assert call("predict", str(tiny_run), "--output", str(target))["num_nodes"] == 128
    table = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    with np.load(tmp_path / "out.npz") as arrays:
        assert np.allclose(table[:, 3:], arrays["probabilities"], rtol=1e-4, atol=1e-6)
        assert np.array_equal(table[:, 1], arrays["prediction"])


def test_bad_outputs_are_refused(tiny_run: Path) -> None:
    failed = CliRunner().invoke(build_app(["predict"]), ["predict", str(tiny_run), "--output", "p.txt"])
    assert failed.exit_code == 2
    assert "must end in .csv or .npz" in failed.stderr


def test_the_csv_by_hand(tmp_path: Path) -> None:
    probabilities = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    write_predictions(tmp_path / "p.csv", probabilities, np.array([1, -1]))
    assert (tmp_path / "p.csv").read_text() == "node,prediction,label,p0,p1\n0,1,1,0.25,0.75\n1,0,-1,1,0\n"
