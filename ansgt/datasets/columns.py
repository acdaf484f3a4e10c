"""How the columns of a table become features, the same way for the table of a later graph.

Numbers and truth values are standardised, an absent one is the median and told by a column of its own; categories are
one-hot, absence being all zeros; a column of vectors is taken as it is; text, dates and empty columns are left out with a
warning. What was learned of the training table (`Plan`) is stored with the graph.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ansgt.datasets.tables import Table
from ansgt.errors import InputError, one_sentence
from ansgt.names import is_missing
from ansgt.settings import brief, shown

MOST_CATEGORIES = 100
"""A column of more different texts is text."""
NUMBERS = (bool, np.bool_, int, float, np.number)

Plan = dict[str, dict[str, Any]]
"""Column -> {"kind": "number", "median", "mean", "scale", "absent"}, {"kind": "category", "values"} or {"kind": "vector",
"length"}; JSON can hold it."""


def fit_plan(table: Table) -> Plan:
    """How the columns of a table become features; says in one warning which are left out.

    The numbers are those of scikit-learn's `ColumnTransformer` with median imputation and indicators of absence,
    standardisation, and one-hot columns that ignore unknown categories.

    >>> fit_plan(Table({"kind": ["b", "a", None], "flag": [True, True, False]}))["kind"]
    {'kind': 'category', 'values': ['a', 'b']}
    """
    plan: Plan = {}
    left_out: dict[str, str] = {}
    for name in table.names:
        values = [None if is_missing(value) else value for value in table[name]]
        with one_sentence(f"The column {brief(name)!r} of features"):
            found = _kind(name, values)
        if isinstance(found, str):
            left_out[name] = found
        else:
            plan[name] = found
    if left_out:
        named = ", ".join(f"{brief(name)} ({kind})" for name, kind in left_out.items())
        warnings.warn(f"Columns left out of the features: {named}.", stacklevel=2)
    return plan


def features_of(table: Table, plan: Plan) -> np.ndarray:
    """The features [n, p] of a table by a plan, float32; a column of the plan that is missing is absent everywhere."""
    missing = [name for name in plan if name not in table.columns]
    if missing:
        named = ", ".join(map(brief, missing))
        warnings.warn(
            f"Columns of the training table that are not there, and count as absent: {named}.", stacklevel=2
        )
    parts = []
    for name, one in plan.items():
        with one_sentence(f"The column {brief(name)!r} of features"):
            parts.append(_column(name, table.columns.get(name, [None] * len(table)), one))
    return np.concatenate([np.zeros((len(table), 0), np.float32), *parts], axis=1)


def _kind(name: str, values: Sequence[Any]) -> dict[str, Any] | str:
    """The plan of one column, or in a word what it holds that cannot be used."""
    known = [value for value in values if value is not None]
    if not known:
        return "empty"
    if all(isinstance(value, NUMBERS) for value in known):
        return _number_plan(name, values)
    if all(hasattr(value, "__len__") and not isinstance(value, str | bytes) for value in known):
        lengths = {len(value) for value in known}
        return {"kind": "vector", "length": lengths.pop()} if len(lengths) == 1 else "lists"
    if any(not isinstance(value, str | bool | int | float) for value in known):
        return type(
            next(value for value in known if not isinstance(value, str | bool | int | float))
        ).__name__
    texts = sorted({str(value) for value in known})
    repeated = len(texts) < len(known) and len(texts) <= MOST_CATEGORIES
    return {"kind": "category", "values": texts} if len(texts) <= 2 or repeated else "text"


def _number_plan(name: str, values: Sequence[Any]) -> dict[str, Any]:
    known = np.array([float(value) for value in values if value is not None])
    if not np.isfinite(known).all():
        raise InputError(f"The column {brief(name)!r} of features holds an infinite number.")
    median = float(np.median(known))
    filled, absent = _filled(name, values, median)
    return {
        "kind": "number",
        "median": median,
        "mean": float(filled.mean()),
        "scale": float(filled.std()) or 1.0,
        "absent": bool(absent.any()),
    }


def _column(name: str, values: Sequence[Any], one: dict[str, Any]) -> np.ndarray:
    """The features [n, c] of one column."""
    if one["kind"] == "vector":
        return _vectors(name, values, one["length"])
    if one["kind"] == "category":
        places = {value: place for place, value in enumerate(one["values"])}
        code = np.array(
            [-1 if is_missing(value) else places.get(str(value), -1) for value in values], dtype=np.int64
        )
        hot: np.ndarray = (code[:, None] == np.arange(len(places))).astype(np.float32)
        return hot
    filled, absent = _filled(name, values, one["median"])
    scaled = (filled - one["mean"]) / one["scale"]
    return np.stack([scaled, absent] if one["absent"] else [scaled], axis=1).astype(np.float32)


def _vectors(name: str, values: Sequence[Any], length: int) -> np.ndarray:
    try:
        rows = [[0.0] * length if is_missing(value) else value for value in values]
        found: np.ndarray = np.array(rows, dtype=np.float32).reshape(len(rows), length)
        return found
    except (TypeError, ValueError):
        raise InputError(
            f"The column {brief(name)!r} of features must hold {length} numbers per node."
        ) from None


def _filled(name: str, values: Sequence[Any], median: float) -> tuple[np.ndarray, np.ndarray]:
    """A column of numbers with the median where none is known, and where that is."""
    try:
        found = np.array(
            [np.nan if is_missing(value) else float(value) for value in values], dtype=np.float64
        )
    except (TypeError, ValueError, OverflowError):
        wrong = next(value for value in values if not is_missing(value) and not _is_number(value))
        raise InputError(
            f"The column {brief(name)!r} held numbers in training and holds {shown(wrong)} now."
        ) from None
    absent = np.isnan(found)
    return np.where(absent, median, found), absent


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
