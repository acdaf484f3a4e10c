"""Tables: pandas, polars, Arrow, a dict of columns or a CSV/Parquet file, read as columns of Python values."""

import csv
import gzip
import io
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.datasets.files import SUFFIXES
from ansgt.errors import InputError, reason
from ansgt.settings import brief, shown

NODES = ("node", "node_id", "nodeid", "id", "name")
"""Usual names of the column that names the nodes, in small letters."""
UNKNOWN = ("", "na", "n/a", "nan", "null", "none")
"""Cells of a CSV file that say that nothing is known, in small letters."""


class Table:
    """Columns of equal length by their names.

    >>> table = Table({"node": ["a", "b"], "size": [1, None]})
    >>> table.names, len(table), table["size"]
    (['node', 'size'], 2, [1, None])
    """

    plan: dict[str, Any] | None = None
    """How the columns became features (`ansgt.datasets.columns`), once they have."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], what: str = "table") -> None:
        self.columns = {str(name): list(values) for name, values in columns.items()}
        self.what = what
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) > 1:
            raise InputError(f"The columns of {what} have different lengths: {sorted(lengths)}.")

    @classmethod
    def of(cls, source: Any, what: str = "table", index: bool = True) -> "Table":
        """From whatever holds a table.

        Args:
            source: a pandas or polars DataFrame, an Arrow table, a dict of columns, or the path of a CSV or Parquet file.
            what: how an error calls it.
            index: whether pandas' index may be a column.
        """
        if isinstance(source, Table):
            return source
        if isinstance(source, str | Path):
            return cls(_read(Path(source)), f"{what} ({Path(source).name})")
        try:
            return cls(_columns(source, index), what)
        except InputError:
            raise
        except Exception as error:  # of the object's own conversion
            raise InputError(f"The {what} cannot be read as a table: {reason(error)}.") from None

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise InputError(
                f"The {self.what} has no column {brief(name)!r}; it has {', '.join(map(brief, self.names[:12]))}."
            )
        return self.columns[name]

    def without(self, *names: str) -> "Table":
        kept = {name: values for name, values in self.columns.items() if name not in names}
        return Table(kept, self.what)

    def chosen(self, given: str | None, usual: Iterable[str]) -> str | None:
        """A column by the name that was given, or the first that is called as usual; None where there is no such one."""
        if given is not None:
            return given if self[given] is not None else None
        small = {name.strip().lower(): name for name in reversed(self.names)}
        return next((small[name] for name in usual if name in small), None)

    def taken(self, rows: Sequence[int]) -> "Table":
        """Some rows; -1 gives one without values."""
        found = {
            name: [None if row < 0 else values[row] for row in rows] for name, values in self.columns.items()
        }
        return Table(found, self.what)

    def with_plan(self, plan: dict[str, Any]) -> "Table":
        """The same table, with how its columns became features."""
        table = Table(self.columns, self.what)
        table.plan = plan
        return table

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(map(brief, self.names[:8]))}{', ...' * (len(self.names) > 8)})"


def _columns(source: Any, with_index: bool) -> Mapping[str, Sequence[Any]]:
    if hasattr(source, "to_pydict"):  # an Arrow table
        return source.to_pydict()  # type: ignore[no-any-return]
    if hasattr(source, "get_columns"):  # polars
        return {column.name: column.to_list() for column in source.get_columns()}
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        if getattr(source.index, "nlevels", 1) > 1:
            return _columns(source.reset_index(), with_index)
        nameless = source.index.name is None and not with_index
        own = (
            {}
            if nameless or _is_row_number(source)
            else {str(source.index.name or NODES[0]): source.index.tolist()}
        )
        return own | {str(name): source[name].tolist() for name in source.columns}
    if hasattr(source, "iloc") and hasattr(source, "items"):  # a pandas Series: names -> values
        return {
            str(source.index.name or "node"): source.index.tolist(),
            str(source.name or "label"): source.tolist(),
        }
    if isinstance(source, Mapping):
        if source and all(_is_column(value) for value in source.values()):
            return {name: _listed(values) for name, values in source.items()}
        return {"node": list(source), "label": list(source.values())}  # node -> label
    if hasattr(source, "collect"):  # a query of polars that nobody has run yet
        raise InputError(f"A table must be there already: give {type(source).__name__}.collect().")
    raise InputError(
        f"A table is a pandas or polars DataFrame, an Arrow table, a dict of columns or a path, not {shown(source)}."
    )


def _is_column(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str | bytes)


def _is_row_number(frame: Any) -> bool:
    """Whether pandas' index says no more than which row it is: one of whole numbers beside a column that names the nodes."""
    index = frame.index
    if index.name is not None:
        return False
    if type(index).__name__ == "RangeIndex":
        return True
    named = any(str(name).strip().lower() in NODES for name in getattr(frame, "columns", ()))
    return named and index.dtype.kind in "iu"


def _listed(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _read(path: Path) -> Mapping[str, Sequence[Any]]:
    if not path.is_file():
        raise InputError(f"The table {path} does not exist.")
    if not path.name.lower().endswith(SUFFIXES):
        raise InputError(f"A table is a file in {', '.join(SUFFIXES)}, not {path.name!r}.")
    try:
        if path.suffix.lower() == ".parquet":
            return _read_parquet(path)
        opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rb") as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            return _read_csv(text, path)
    except InputError:
        raise
    except Exception as error:  # of the system, the encoding, zlib, Arrow
        raise InputError(f"The table {path} cannot be read: {reason(error)}.") from None


def _read_parquet(path: Path) -> Mapping[str, Sequence[Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise InputError("Parquet needs pyarrow: pip install 'ansgt[tables]'.") from None
    return parquet.read_table(path).to_pydict()  # type: ignore[no-any-return]


def _read_csv(text: io.TextIOWrapper, path: Path) -> dict[str, list[Any]]:
    """Columns with numbers where all cells are; the separator is what the head has most of: , ; or tab."""
    head = text.readline()
    separator = max(",;\t", key=head.count)
    names = [name.strip() for name in next(csv.reader([head], delimiter=separator), [])]
    if not any(names) or len(set(names)) < len(names):
        raise InputError(f"The first line of {path} must name its columns, each once: {shown(head.strip())}.")
    rows = []
    for number, row in enumerate(csv.reader(text, delimiter=separator), start=2):
        if not row:
            continue
        if len(row) != len(names):
            raise InputError(f"Line {number} of {path} has {len(row)} cells, but the first has {len(names)}.")
        rows.append(row)
    return {name: typed([row[at] for row in rows]) for at, name in enumerate(names)}


def typed(cells: Sequence[str]) -> list[Any]:
    """Whole numbers, numbers or texts, whichever all known cells are; 007 is a text.

    >>> typed(["1", "", "3"]), typed(["1", "2.5"]), typed(["007", "1"])
    ([1, None, 3], [1.0, 2.5], ['007', '1'])
    """
    known = [None if cell.strip().lower() in UNKNOWN else cell.strip() for cell in cells]
    for kind in (_whole, _decimal):
        try:
            return [None if cell is None else kind(cell) for cell in known]
        except ValueError:
            continue
    return list(known)


def _whole(cell: str) -> int:
    number = int(cell)
    if str(number) != cell:
        raise ValueError
    return number


def _decimal(cell: str) -> float:
    bare = cell.lstrip("+-")
    if "_" in bare or (len(bare) > 1 and bare[0] == "0" and bare[1] not in ".eE"):
        raise ValueError  # 007 is a name
    number = float(cell)
    if not np.isfinite(number):
        raise ValueError
    return number


def unified(*columns: Sequence[Hashable]) -> list[list[Any]]:
    """Names of nodes from several tables: whole numbers are integers; of texts and numbers, all are texts.

    >>> unified([1, 2.0], ["1", "x"])
    [['1', '2'], ['1', 'x']]
    """
    whole = [
        [int(value) if type(value) is float and value.is_integer() else value for value in column]
        if any(type(value) is float for value in column)
        else list(column)
        for column in columns
    ]
    mixed = len({isinstance(value, str) for column in whole for value in column}) > 1
    return [[str(value) for value in column] for column in whole] if mixed else whole
