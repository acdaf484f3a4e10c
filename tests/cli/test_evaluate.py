"""`ansgt evaluate`: a run scores what its record says."""

import json
import shutil
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.runs.folder import open_run
from ansgt.storage import content_hash


def test_a_run_evaluates_to_what_the_record_says(tiny_run: Path) -> None:
    arguments = ["evaluate", str(tiny_run), "--device", "cpu"]
    result = json.loads(CliRunner().invoke(build_app(["evaluate"]), [*arguments, "--json"]).stdout)
    assert result["matches_record"]
    stored = [row["test_accuracy"] for row in open_run(tiny_run).results()]
    assert result["test_accuracy"]["per_split"] == stored
    assert "equal to those in the record" in CliRunner().invoke(build_app(["evaluate"]), arguments).stdout


def test_another_record_is_noticed(tiny_run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_run, tmp_path / "copy")
    split = open_run(copy).split(1)
    arrays, result = split.predictions(), split.result()
    reversed_rows = np.ascontiguousarray(arrays["probabilities"][::-1])
    split.write_predictions(reversed_rows, arrays["label"])
    split.write_result({**result, "prediction_hash": content_hash(reversed_rows)})  # seals what was changed
    done = CliRunner().invoke(build_app(["evaluate"]), ["evaluate", str(copy), "--device", "cpu"])
    assert "different from those in the record" in done.stdout
