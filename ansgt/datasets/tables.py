"""Tables: pandas, polars, Arrow, a dict of columns or a CSV/Parquet file, read as columns; and how columns become features.

Features of a table: numbers standardised, an absent one filled with the median and told by a column of its own; truth
values as 0 and 1; categories one-hot, absence being one of them; text and dates left out with a warning. What was
learned of the training table (`Plan`) is stored with the graph, so that a further table becomes the same features.
"""

import csv
import gzip
import io
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.errors import InputError, reason
from ansgt.names import is_missing
from ansgt.settings import brief, shown

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
"""Files that are tables."""
MOST_CATEGORIES = 100
"""A column of more different texts is text."""
UNKNOWN = ("", "na", "n/a", "nan", "null", "none")
"""Cells of a CSV file that say that nothing is known, in small letters."""

Plan = dict[str, dict[str, Any]]
"""Column -> {"kind": "number", "median", "mean", "scale", "absent"} or {"kind": "category", "values"}; JSON can hold it."""


class Table:
    """Columns of equal length by their names.

    >>> table = Table({"node": ["a", "b"], "size": [1, None]})
    >>> table.names, len(table), table["size"]
    (['node', 'size'], 2, [1, None])
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], what: str = "table") -> None:
        self.columns = {str(name): list(values) for name, values in columns.items()}
        self.what = what
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) > 1:
            raise InputError(f"The columns of {what} have different lengths: {sorted(lengths)}.")

    @classmethod
    def of(cls, source: Any, what: str = "table") -> "Table":
        """From whatever holds a table.

        Args:
            source: a pandas or polars DataFrame, an Arrow table, a dict of columns, or the path of a CSV or Parquet file.
            what: how an error calls it.
        """
        if isinstance(source, Table):
            return source
        if isinstance(source, str | Path):
            return cls(_read(Path(source)), f"{what} ({Path(source).name})")
        try:
            return cls(_columns(source), what)
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


def _columns(source: Any) -> Mapping[str, Sequence[Any]]:
    if hasattr(source, "to_pydict"):  # an Arrow table
        return source.to_pydict()  # type: ignore[no-any-return]
    if hasattr(source, "get_columns"):  # polars
        return {column.name: column.to_list() for column in source.get_columns()}
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        index = source.index
        named = index.name is not None or type(index).__name__ != "RangeIndex"
        own = {str(index.name or "node"): index.tolist()} if named else {}
        return own | {str(name): source[name].tolist() for name in source.columns}
    if hasattr(source, "iloc") and hasattr(source, "items"):  # a pandas Series: names -> values
        return {
            str(source.index.name or "node"): source.index.tolist(),
            str(source.name or "label"): source.tolist(),
        }
    if isinstance(source, Mapping):
        if source and all(
            hasattr(value, "__len__") and not isinstance(value, str) for value in source.values()
        ):
            return {name: _listed(values) for name, values in source.items()}
        return {"node": list(source), "label": list(source.values())}  # node -> label
    raise InputError(
        f"A table is a pandas or polars DataFrame, an Arrow table, a dict of columns or a path, not {shown(source)}."
    )


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
    if len(bare) > 1 and bare[0] == "0" and bare[1] != ".":
        raise ValueError  # 007 is a name
    number = float(cell)
    if not np.isfinite(number):
        raise ValueError
    return number


def fit_plan(table: Table) -> Plan:
    """How the columns of a table become features; says in one warning which are left out.

    The numbers are those of scikit-learn's `ColumnTransformer` with median imputation, standardisation and one-hot columns.
    """
    plan: Plan = {}
    left_out = {}
    for name in table.names:
        values = [None if is_missing(value) else value for value in table[name]]
        known = [value for value in values if value is not None]
        if not known:
            left_out[name] = "empty"
        elif all(isinstance(value, bool | np.bool_ | int | float | np.number) for value in known):
            plan[name] = _number_plan(values)
        elif any(not isinstance(value, str | bool | int | float) for value in known):
            left_out[name] = type(known[0]).__name__
        elif (distinct := len(set(known))) <= 2 or (distinct < len(known) and distinct <= MOST_CATEGORIES):
            plan[name] = {"kind": "category", "values": sorted(set(map(str, known)))}
        else:
            left_out[name] = "text"
    if left_out:
        named = ", ".join(f"{brief(name)} ({kind})" for name, kind in left_out.items())
        warnings.warn(f"Columns left out of the features: {named}.", stacklevel=2)
    return plan


def _number_plan(values: Sequence[Any]) -> dict[str, Any]:
    median = float(np.median([float(value) for value in values if value is not None]))
    filled, absent = _filled(values, median)
    if not np.isfinite(filled).all():
        raise InputError("A column of features holds an infinite number.")
    scale = float(filled.std()) or 1.0
    return {
        "kind": "number",
        "median": median,
        "mean": float(filled.mean()),
        "scale": scale,
        "absent": bool(absent.any()),
    }


def features_of(table: Table, plan: Plan) -> np.ndarray:
    """The features [n, p] of a table by a plan, float32; a column of the plan that is missing is absent everywhere."""
    parts: list[np.ndarray] = []
    for name, one in plan.items():
        values = table.columns.get(name, [None] * len(table))
        if one["kind"] == "number":
            filled, absent = _filled(values, one["median"])
            parts.append((filled - one["mean"]) / one["scale"])
            if one["absent"]:
                parts.append(absent.astype(np.float64))
        else:
            places = {value: place for place, value in enumerate(one["values"])}
            hot = np.zeros((len(table), len(places)))
            for row, value in enumerate(values):
                place = None if is_missing(value) else places.get(str(value))
                if place is not None:
                    hot[row, place] = 1.0
            parts.extend(hot.T)
    return np.stack(parts, axis=1).astype(np.float32) if parts else np.zeros((len(table), 0), np.float32)


def _filled(values: Sequence[Any], median: float) -> tuple[np.ndarray, np.ndarray]:
    """A column of numbers with the median where none is known, and where that is."""
    try:
        found = np.array(
            [np.nan if is_missing(value) else float(value) for value in values], dtype=np.float64
        )
    except (TypeError, ValueError):
        wrong = next(value for value in values if not is_missing(value) and not _is_number(value))
        raise InputError(f"A column that held numbers in training holds {shown(wrong)} now.") from None
    absent = np.isnan(found)
    return np.where(absent, median, found), absent


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def unified(*columns: Sequence[Hashable]) -> list[list[Any]]:
    """Names of nodes from several tables: where one has texts and another numbers, all are texts.

    >>> unified([1, 2], ["1", "x"])
    [['1', '2'], ['1', 'x']]
    """
    kinds = {isinstance(value, str) for column in columns for value in column}
    return [[str(value) for value in column] if len(kinds) > 1 else list(column) for column in columns]
