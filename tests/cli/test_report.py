"""`ansgt report`: one page with its charts inside."""

import json
import re
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import ansgt
from ansgt.cli import build_app
from ansgt.runs.folder import open_run


def test_report_is_one_page_with_its_charts_inside(tiny_run: Path) -> None:
    result = CliRunner().invoke(build_app(["report"]), ["report", str(tiny_run), "--json"])
    assert result.exit_code == 0, result.stderr
    page = (tiny_run / "report.html").read_text()
    assert page.count('<figure class="chart">') == 4  # loss, validation, weights, calibration
    assert not re.findall(r"(?:src|href)=['\"]?https?:", page)
    accuracy = np.mean([r["test_accuracy"] for r in open_run(tiny_run).results()])
    assert f"{100 * accuracy:.2f} ±" in page
    assert "uniform-60-20-20" in page
    assert (tiny_run / "weights.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(result.stdout)["pictures"] == [str(tiny_run / "weights.png")]


def test_a_classifier_without_a_test_part_says_so_and_shows_validation(tmp_path: Path) -> None:
    data = ansgt.load_dataset("newman")
    data.test_mask = None
    ansgt.NodeClassifier("gcn", epochs=3).fit(data).save(tmp_path / "model")
    result = CliRunner().invoke(build_app(["report"]), ["report", str(tmp_path / "model")])
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "model" / "report.html").read_text()
    assert "There is no test part" in page
    assert "<th>validation accuracy</th>" in page
    assert "nan" not in page.split("<script")[0]
