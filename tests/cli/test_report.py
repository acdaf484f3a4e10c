"""`ansgt report`: one page with its pictures inside."""

import json
import re
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.runs.folder import open_run


def test_report_is_one_page_with_its_pictures_inside(tiny_run: Path) -> None:
    result = CliRunner().invoke(build_app(["report"]), ["report", str(tiny_run), "--json"])
    assert result.exit_code == 0, result.stderr
    page = (tiny_run / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert not re.findall(r"(?:src|href)='?https?:", page)
    accuracy = np.mean([r["test_accuracy"] for r in open_run(tiny_run).results()])
    assert f"{100 * accuracy:.2f} ±" in page
    assert "uniform-60-20-20" in page
    assert (tiny_run / "weights.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(result.stdout)["pictures"] == [str(tiny_run / "weights.png")]
