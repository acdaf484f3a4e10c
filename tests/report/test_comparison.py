"""A comparison on paper: what the table, the CSV and the picture hold."""

import csv
import io
from pathlib import Path

from ansgt.report.comparison import (
    comparison_csv,
    comparison_latex,
    comparison_markdown,
    plot_comparison,
)
from ansgt.runs.statistics import Cell, paired_differences

CELLS = [
    Cell("gcn", "x", "v1", (0.8, 0.9), 0.85, 0.05, 0.8, 2.0, 10**6, 1234, ("a", "b")),
    Cell("mlp", "x", "v1", (0.7, 0.7), 0.7, 0.0, 0.7, 1.0, None, 99, ("a", "b")),
    Cell("san", "x", error="needs about 90.0 GiB"),
]


def test_markdown_holds_accuracies_differences_costs_and_failures() -> None:
    text = comparison_markdown(CELLS, paired_differences(CELLS, "mlp"), "uniform-60-20-20", "mlp")
    assert "| model | x (v1) |" in text
    assert "| gcn | **85.00 ± 5.00** |" in text
    assert "| san | failed |" in text
    assert "| gcn | x | +15.00 [" in text
    assert "| gcn | x | 1 | 2.0 | 1 | 1,234 |" in text
    assert "- san on x: needs about 90.0 GiB" in text
    assert "`uniform-60-20-20`, 2 splits" in text


def test_latex_holds_the_same_three_tables() -> None:
    text = comparison_latex(CELLS, paired_differences(CELLS, "mlp"), "uniform-60-20-20", "mlp")
    assert text.count(r"\begin{table}") == 3
    assert r"gcn & \textbf{85.00 $\pm$ 5.00} \\" in text
    assert r"gcn & x & 1 & 2.0 & 1 & 1,234 \\" in text


def test_csv_has_one_row_per_cell() -> None:
    rows = list(csv.DictReader(io.StringIO(comparison_csv(CELLS))))
    assert [row["model"] for row in rows] == ["gcn", "mlp", "san"]
    assert rows[0]["split_1"] == "0.9"
    assert rows[2]["mean"] == ""
    assert rows[2]["error"] == "needs about 90.0 GiB"


def test_picture_is_written_even_with_failed_cells(tmp_path: Path) -> None:
    plot_comparison(CELLS, tmp_path / "c.png", "uniform-60-20-20")
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"
