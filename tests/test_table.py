"""One table in all its forms."""

import csv
import io
from pathlib import Path

import pytest

from ansgt.errors import InputError
from ansgt.table import WRITERS, Table

TABLE = Table(
    ["name", "share", "n"],
    [["a|b_<i>", 0.25, 3], ["c\nd", None, 12]],
    title="50 % of it",
    formats={"share": ".0%"},
    best=frozenset({(0, 0), (0, 1)}),
    missing="-",
)


def test_forms_by_hand() -> None:
    assert TABLE.markdown() == (
        "**50 % of it**\n\n| name | share | n |\n|---|---:|---:|\n"
        "| **a\\|b_<i>** | **25%** | 3 |\n| c d | - | 12 |\n"
    )
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [
        ["name", "share", "n"],
        ["a|b_<i>", "0.25", "3"],
        ["c\nd", "", "12"],
    ]
    latex = TABLE.latex()
    assert r"\caption{50 \% of it}" in latex
    assert r"\textbf{a|b\_<i>} & \textbf{25\%} & 3 \\" in latex
    assert r"{@{}lrr@{}}" in latex
    assert "<i>" not in TABLE.html()
    assert '<td style="text-align:right"><b>25%</b></td>' in TABLE.html()
    assert Table(["x", "word"], [[1, "a"], [10, "bb"]]).text() == " x  word\n 1  a\n10  bb\n"


@pytest.mark.parametrize("suffix", WRITERS)
def test_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table{suffix}"
    TABLE.write(path)
    assert path.read_text() == WRITERS[suffix](TABLE)


def test_an_empty_table_and_an_unknown_suffix(tmp_path: Path) -> None:
    empty = Table(["a", "b"], [])
    for write in WRITERS.values():
        assert "a" in write(empty)
    with pytest.raises(InputError, match=r"not to 'table\.xls'"):
        empty.write(tmp_path / "table.xls")
