"""`ansgt predict`: per-node probabilities as CSV and NPZ."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from ansgt.cli import build_app


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
    assert "must end in .csv, .npz or .parquet" in failed.stderr
