"""A table's forms: ours beside the paper's, marks, what is missing, LaTeX."""

import csv
import io

import pytest

from ansgt.reproduce.records import Record
from ansgt.reproduce.tables import Number, Table, csv_text, latex, markdown, with_best


def record(models: int = 1, quick: bool = False) -> Record:
    row = {"test_accuracy": 0.8, "val_accuracy": 0.8, "seconds": 3.0, "models": [{}] * models}
    content = {"splits": [row, row], "split": "uniform-60-20-20", "commit": "abc", "date": "2026-11-19"}
    return Record("runs/a--cora--uniform-60-20-20.json", content, quick)


@pytest.fixture
def table() -> Table:
    known = Number(81.25, 0.5, 80.0, 0.3, "runs/a.json", record(), 2)
    missing = Number(None, None, 70.0, None, "runs/b.json")
    return Table("Accuracy.", ["model", "cora", "n_s"], [["a", known, "-"], ["b", missing, "-"]])


def test_the_paper_stands_beside_ours_with_the_difference(table: Table) -> None:
    assert "| a | 81.25 ± 0.50 (80.00, +1.25) | - |" in markdown(table)
    assert "In brackets: the paper's value, and ours minus the paper's (unit: %)." in markdown(table)


def test_what_is_missing_says_so(table: Table) -> None:
    assert "| b | missing (70.00) | - |" in markdown(table)
    rows = list(csv.DictReader(io.StringIO(csv_text([table]))))
    assert [row["record"] for row in rows] == ["runs/a.json", "runs/b.json (missing)"]
    assert rows[1]["ours"] == ""


def test_a_line_of_csv_says_where_its_number_comes_from(table: Table) -> None:
    row = next(csv.DictReader(io.StringIO(csv_text([table]))))
    assert (row["row"], row["column"]) == ("a", "cora")
    assert (row["ours"], row["paper"], row["difference"]) == ("81.25", "80.0", "1.25")
    assert (row["split"], row["models_per_split"], row["seconds"]) == ("uniform-60-20-20", "1", "6.0")
    assert (row["commit"], row["date"], row["machine"]) == ("abc", "2026-11-19", "CPU")


def test_marks_of_several_models_and_of_a_quick_training() -> None:
    number = Number(80.0, source=record(models=3, quick=True))
    table = Table("T.", ["a", "b"], [["x", number]])
    assert "80.00†‡" in markdown(table)
    assert len(table.notes()) == 2
    assert not table.has_paper


def test_the_best_of_a_column_is_bold() -> None:
    rows = with_best([["a", Number(1.0)], ["b", Number(2.0)], ["c", Number(None)]])
    assert [entry.best for row in rows for entry in row if isinstance(entry, Number)] == [False, True, False]
    rows = with_best([["a", Number(1.0)], ["b", Number(2.0)]], lower=True)
    assert [entry.best for row in rows for entry in row if isinstance(entry, Number)] == [True, False]


def test_latex_escapes_and_has_the_papers_value_below(table: Table) -> None:
    text = latex(table)
    assert r"n\_s" in text
    assert r"\makecell{81.25{\tiny$\pm$0.50}\\[-2pt]{\tiny\color{gray}80.00$\pm$0.30}}" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    assert "below, small, the paper's" in text


def test_sentences_break_over_lines_and_pages() -> None:
    table = Table("Claims.", ["claim", "verdict"], [["It is good & cheap.", "holds"]], widths=(0.7, 0.2))
    text = latex(table)
    assert r"\begin{longtable}{@{}p{0.7\linewidth}p{0.2\linewidth}@{}}" in text
    assert r"good \& cheap" in text
    assert "the paper's" not in text
