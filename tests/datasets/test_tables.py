"""Tables from pandas, polars, Arrow, dicts and files: the same columns whatever holds them."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from ansgt.datasets.tables import Table, typed
from ansgt.errors import InputError

COLUMNS: dict[str, list[Any]] = {"node": ["a", "b", "c"], "size": [1.5, None, 3.0], "kind": ["x", "y", None]}
TEXT = "node,size,kind\na,1.5,x\nb,,y\nc,3,NA\n"


def file(folder: Path, name: str, text: str = TEXT) -> Path:
    path = folder / name
    opened: Any = gzip.open if name.endswith(".gz") else open
    with opened(path, "wb") as stream:
        stream.write(text.encode())
    return path


def held(table: Table) -> dict[str, list[Any]]:
    return {name: [None if value != value else value for value in table[name]] for name in table.names}


@pytest.mark.parametrize(
    "kind", ["pandas", "index", "polars", "arrow", "dict", "csv", "tsv", "semicolons", "gz", "parquet"]
)
def test_the_same_columns_whatever_holds_them(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(COLUMNS)
    source: Any = {
        "pandas": lambda: frame,
        "index": lambda: frame.set_index("node"),
        "polars": lambda: pl.DataFrame(COLUMNS),
        "arrow": lambda: pa.table(COLUMNS),
        "dict": lambda: {name: np.array(values, dtype=object) for name, values in COLUMNS.items()},
        "csv": lambda: file(tmp_path, "t.csv"),
        "tsv": lambda: str(file(tmp_path, "t.tsv", TEXT.replace(",", "\t"))),
        "semicolons": lambda: file(tmp_path, "t.csv", TEXT.replace(",", ";")),
        "gz": lambda: file(tmp_path, "t.csv.gz", "\ufeff" + TEXT),
        "parquet": lambda: (
            parquet.write_table(pa.table(COLUMNS), tmp_path / "t.parquet"),
            tmp_path / "t.parquet",
        )[1],
    }[kind]()
    assert held(Table.of(source)) == COLUMNS


def test_cells_of_a_file_have_the_kind_that_all_of_a_column_have() -> None:
    assert typed(["1", " 2 ", "nan", "None", "-7"]) == [1, 2, None, None, -7]
    assert typed(["1", "2e3"]) == [1.0, 2000.0]
    for texts in (["01", "2"], ["1", "inf"], ["1_000", "2"], ["+1x", "2"]):
        assert typed(texts) == texts


def test_an_index_of_pandas_is_a_column_unless_it_counts_rows() -> None:
    frame = pd.DataFrame({"id": ["a", "b", "c"], "size": [1, 2, 3]})
    assert Table.of(frame[frame["size"] > 1]).names == ["id", "size"]  # what is left of a count of rows
    assert Table.of(pd.DataFrame({"size": [1, 2]}, index=["a", "b"]))["node"] == ["a", "b"]
    assert Table.of(pd.DataFrame({"size": [1, 2]}, index=[7, 9]))["node"] == [7, 9]
    assert Table.of(frame[frame["size"] > 1].drop(columns="id"), index=False).names == ["size"]
    pairs = pd.DataFrame(
        {"w": [1]}, index=pd.MultiIndex.from_tuples([("a", "b")], names=["source", "target"])
    )
    assert Table.of(pairs).names == ["source", "target", "w"]
    assert Table.of(pd.Series(["cat", "dog"], index=["a", "b"])).columns == {
        "node": ["a", "b"],
        "label": ["cat", "dog"],
    }


BAD_FILES = {
    "short row": ("node,size\na,1\nb\n", "Line 3 of .* has 1 cells, but the first has 2"),
    "no head": ("\n", "first line of .* must name its columns"),
    "a name twice": ("a,a\n1,2\n", "each once"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_damaged_files(case: str, tmp_path: Path) -> None:
    text, message = BAD_FILES[case]
    with pytest.raises(InputError, match=message):
        Table.of(file(tmp_path, "t.csv", text))


def test_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no more")
    (tmp_path / "t.csv").write_bytes(b"node,size\n\xff\xfe,1\n")
    (tmp_path / "t.csv.gz").write_bytes(b"not compressed")
    for name in ("t.parquet", "t.csv", "t.csv.gz"):
        with pytest.raises(InputError, match=f"The table .*{name} cannot be read"):
            Table.of(tmp_path / name)
    with pytest.raises(InputError, match=r"The table absent\.csv does not exist"):
        Table.of("absent.csv")
    with pytest.raises(InputError, match="A table is a pandas or polars DataFrame"):
        Table.of(3)
    with pytest.raises(InputError, match=r"give LazyFrame\.collect\(\)"):
        Table.of(pl.DataFrame(COLUMNS).lazy())
    with pytest.raises(InputError, match=r"different lengths: \[1, 2\]"):
        Table.of({"a": [1], "b": [1, 2]})
    with pytest.raises(InputError, match="has no column 'age'; it has size"):
        Table.of({"size": [1]})["age"]
