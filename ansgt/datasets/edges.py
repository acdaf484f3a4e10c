"""`from_edges`: a graph from a table of edges, a table of features, and labels; nodes go by any names."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ansgt.datasets.columns import Plan, features_of, fit_plan
from ansgt.datasets.files import SUFFIXES
from ansgt.datasets.substitute import without_features
from ansgt.datasets.tables import NODES, Table, unified
from ansgt.errors import InputError, one_sentence
from ansgt.names import Names, encoded_labels, is_missing
from ansgt.settings import brief, shown

if TYPE_CHECKING:
    from torch_geometric.data import Data

LABELS = ("label", "labels", "y", "class", "target_class")
SPLITS = ("split", "part")
ENDS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("node1", "node2"))
"""Usual names of columns, in small letters."""
PARTS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@one_sentence("The graph")
def from_edges(
    edges: Any,
    features: Any = None,
    labels: Any = None,
    *,
    node: str | None = None,
    source: str | None = None,
    target: str | None = None,
) -> "Data":
    """A graph from a table of edges, a table of features and labels; nodes go by any names.

    Args:
        edges: pandas, polars, Arrow, a dict of columns, pairs [E, 2], or the path of a CSV or Parquet file. Edges have no
            direction and no weight here; further columns are left out with a warning.
        features: such a table with one row per node; mixed columns are understood. Also an array [n, p] where nodes are
            0..n-1. None: columns of degree and links.
        labels: such a table, a dict or pandas Series from name to label, one label per row of the features, or the name of a
            column of `features`. None: the column `label` of `features`, if it has one.
        node: column with the names of nodes; by default `node` or `id`, or pandas' own index.
        source, target: columns with the ends of an edge; by default `source` and `target` (or `src`, `from`, ...), else the
            first two.

    A column `split` of the features or labels that says train, val or test becomes the masks.

    >>> data = from_edges([("ada", "bob"), ("bob", "eve")], {"node": ["ada", "bob", "eve"], "age": [36, None, 20]},
    ...                   {"ada": "cat", "eve": "dog"})
    >>> data.num_nodes, data.y.tolist(), data.class_names
    (3, [0, -1, 1], Names(2: 'cat', 'dog', ...))
    """
    return with_features(read_edges(edges, features, labels, node=node, source=source, target=target))


def read_edges(
    edges: Any,
    features: Any = None,
    labels: Any = None,
    *,
    node: str | None = None,
    source: str | None = None,
    target: str | None = None,
) -> "Data":
    """As `from_edges`, its table of features still as it is, in `data.table`."""
    first, second = _ends(edges, source, target)
    if features is not None and _is_array(features):
        return _of_array(first, second, features, labels)
    table = None if features is None else _Rows.of(features, node, [*first, *second])
    given = _labels(labels, table, node)
    own = [] if table is None else table.names
    first, second, listed, labelled = unified(first, second, own, [] if given is None else given.names)
    order = {name: place for place, name in enumerate(listed)}
    if len(order) < len(listed):
        raise InputError(f"The table of features has several rows for one node: {shown(_twice(listed))}.")
    strangers = _strangers(first, second, order, table is not None)
    order |= {name: len(listed) + place for place, name in enumerate(strangers)}
    pairs = np.array([[order[name] for name in first], [order[name] for name in second]], dtype=np.int64)
    found = {} if given is None else _with_labels(order, labelled, given)
    rest = None
    if table is not None:
        taken = (table.key, *(() if given is None else given.taken))
        rest = table.table.without(*filter(None, taken)).taken(
            [*range(len(listed)), *([-1] * len(strangers))]
        )
    return named_data(torch.from_numpy(pairs.reshape(2, -1)), list(order), rest, **found)


def named_data(
    edge_index: Tensor, names: Sequence[Any], table: Table | None = None, y: Any = None, **more: Any
) -> "Data":
    """A PyG `Data` without `x`: edges both ways, names of nodes if not 0..n-1, labels as numbers, and the table."""
    from torch_geometric.data import Data

    labels, _, classes = encoded_labels(y, len(names))
    known = None if _are_numbers(names) else Names(names)
    used = None if table is None or not table.names else table
    return Data(
        edge_index=_both_ways(edge_index),
        y=labels,
        num_nodes=len(names),
        node_names=known,
        class_names=classes,
        table=used,
        **more,
    )


def _are_numbers(names: Sequence[Any]) -> bool:
    """Whether the names are 0..n-1, which need not be kept."""
    if isinstance(names, range):
        return names == range(len(names))
    kinds = (int, np.integer)
    return all(isinstance(name, kinds) and name == place for place, name in enumerate(names))


def _both_ways(edges: Tensor) -> Tensor:
    """Every edge once in either direction [2, E], sorted; loops stay."""
    if edges.numel() == 0:
        return edges
    size = int(edges.max()) + 1
    keys = torch.unique(torch.cat([edges[0] * size + edges[1], edges[1] * size + edges[0]]))
    return torch.stack([keys // size, keys % size])


def with_features(data: Any, plan: Plan | None = None) -> Any:
    """The same data with `x`: of its table, or in place of features where there are none.

    Args:
        data: may have a `table`.
        plan: how the table of the graph that a model was trained on became features; None: found out from the table.
    """
    table = getattr(data, "table", None)
    if table is None:
        return without_features(data) if _has_none(getattr(data, "x", None)) else data
    if not plan and getattr(data, "x", None) is not None:
        return data
    plan = plan or fit_plan(table)
    x = torch.from_numpy(features_of(table, plan))
    if x.shape[1] == 0:
        raise InputError(
            "No column of the table of features can be used; features=None takes degree and links."
        )
    planned = copy.copy(data)
    planned.x, planned.table = x, table.with_plan(plan)
    return planned


def _has_none(x: Any) -> bool:
    """Whether features are absent, or have no column."""
    shape: Any = getattr(x, "shape", ())
    return x is None or (len(shape) == 2 and shape[1] == 0)


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table with one row per node, the names of its rows, and the column that has them (None: rows are 0..n-1)."""

    table: Table
    names: list[Any]
    key: str | None

    @classmethod
    def of(
        cls, source: Any, node: str | None, ends: Sequence[Any] = (), what: str = "table of features"
    ) -> "_Rows":
        table = Table.of(source, what)
        key = table.chosen(node, NODES)
        if key is None:
            number = len(table)
            if ends and all(type(end) is int and 0 <= end < number for end in ends):
                return cls(table, list(range(number)), None)
            raise InputError(
                f"Which column of the {table.what} names the nodes? Say node=... ({', '.join(table.names[:12])})."
            )
        names = table[key]
        for row, name in enumerate(names):
            if is_missing(name):
                raise InputError(f"Row {row} of the {table.what} has no name in column {brief(key)!r}.")
            _check_name(name, row, table.what)
        return cls(table, names, key)


@dataclass(frozen=True, eq=False)
class _Labels:
    """Names, their labels, their parts (train, val, test), and columns of the table of features that are no features."""

    names: list[Any]
    values: list[Any]
    parts: list[Any] | None = None
    taken: tuple[str | None, ...] = field(default=())


def _ends(edges: Any, source: str | None, target: str | None) -> tuple[list[Any], list[Any]]:
    """The names at both ends of every edge."""
    if isinstance(edges, np.ndarray | Tensor | list | tuple):
        return _pairs(edges.tolist() if hasattr(edges, "tolist") else list(edges))
    table = Table.of(edges, "table of edges", index=False)
    small = {name.strip().lower(): name for name in reversed(table.names)}
    usual = next(((small[a], small[b]) for a, b in ENDS if a in small and b in small), None)
    if usual is None and len(table.names) < 2:
        raise InputError(
            f"The {table.what} needs two columns, the ends of an edge; it has {len(table.names)}."
        )
    one, other = usual or (table.names[0], table.names[1])
    one, other = source or one, target or other
    found = table[one], table[other]
    for row, ends in enumerate(zip(*found, strict=True)):
        if is_missing(ends[0]) or is_missing(ends[1]):
            raise InputError(
                f"Row {row} of the {table.what} has no node in {brief(one)!r} or {brief(other)!r}."
            )
        for name in ends:
            _check_name(name, row, table.what)
    warn_dropped([name for name in table.names if name not in (one, other)], stacklevel=5)
    return found


def _check_name(name: Any, row: int, what: str) -> None:
    try:
        hash(name)
    except TypeError:
        raise InputError(
            f"Row {row} of the {what} names a node by a {type(name).__name__}; names are texts, numbers or tuples."
        ) from None


def _pairs(pairs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Of pairs [E, 2], or of an edge_index [2, E]."""
    rows = all(hasattr(pair, "__len__") and not isinstance(pair, str) for pair in pairs)
    if rows and len(pairs) == 2 and len(pairs[0]) != 2 and len(pairs[0]) == len(pairs[1]):
        return list(pairs[0]), list(pairs[1])
    if not rows or any(len(pair) != 2 for pair in pairs):
        raise InputError("Edges are pairs of nodes, [E, 2], or a table with a column for either end.")
    return [one for one, _ in pairs], [other for _, other in pairs]


def warn_dropped(names: Sequence[str], stacklevel: int = 3) -> None:
    """Says in one warning what a graph's edges had that is not used."""
    if names:
        listed = ", ".join(map(brief, names))
        warnings.warn(
            f"Left out of the edges: {listed}; a graph is undirected and unweighted here.",
            stacklevel=stacklevel,
        )


def _is_array(features: Any) -> bool:
    return isinstance(features, np.ndarray | Tensor) or hasattr(features, "tocsr")


def _of_array(first: list[Any], second: list[Any], x: Any, labels: Any) -> "Data":
    """Nodes are the rows of an array."""
    number = x.shape[0]
    wrong = next((end for end in (*first, *second) if not (isinstance(end, int) and 0 <= end < number)), None)
    if wrong is not None:
        raise InputError(
            f"Features in an array are of the nodes 0..{number - 1}, but an edge names {shown(wrong)}; "
            "give a table with a column of names."
        )
    if isinstance(labels, Mapping):
        labels = [labels.get(node) for node in range(number)]
    data = named_data(
        torch.tensor([first, second], dtype=torch.int64).reshape(2, -1), range(number), y=labels
    )
    data.x = x
    return data


def _strangers(first: list[Any], second: list[Any], known: Mapping[Any, int], have_rows: bool) -> list[Any]:
    """Nodes that edges alone name; without a table in the order of their names."""
    found = [name for name in dict.fromkeys([*first, *second]) if name not in known]
    if not have_rows:
        return _sorted(found)
    if found:
        warnings.warn(
            f"{len(found)} nodes of the edges have no row of features (the first is {shown(found[0])}): "
            "their features count as absent.",
            stacklevel=4,
        )
    return found


def _labels(labels: Any, table: _Rows | None, node: str | None) -> _Labels | None:
    is_name = isinstance(labels, str) and not labels.lower().endswith(SUFFIXES)
    if is_name and table is None:
        raise InputError(f"labels={shown(labels)} names a column of the features, but there are none.")
    if table is not None and (is_name or labels is None):
        return _own_labels(table, labels)
    if labels is None:
        return None
    if _is_column(labels):
        return _aligned(labels, table)
    rows = _Rows.of(labels, node, what="table of labels")
    found = rows.table
    part = _part_column(found)
    rest = [name for name in found.names if name not in (rows.key, part)]
    label = found.chosen(None, LABELS) or (rest[0] if len(rest) == 1 else None)
    if label is None:
        raise InputError(
            f"Call the column of the {found.what} that holds the labels 'label', not one of {rest}."
        )
    return _Labels(rows.names, found[label], None if part is None else found[part])


def _own_labels(table: _Rows, name: str | None) -> _Labels:
    """Those in a column of the features."""
    found = table.table
    label, part = found.chosen(name, LABELS), _part_column(found)
    values = [None] * len(found) if label is None else found[label]
    return _Labels(table.names, values, None if part is None else found[part], (label, part))


def _is_column(labels: Any) -> bool:
    """One label per row: a list, an array, or pandas' series without names of its own."""
    row_numbers = type(getattr(labels, "index", None)).__name__ == "RangeIndex" and not hasattr(
        labels, "columns"
    )
    return isinstance(labels, list | tuple | np.ndarray | Tensor) or row_numbers


def _aligned(labels: Any, table: _Rows | None) -> _Labels:
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if table is None or len(values) != len(table.names):
        rows = "no table of features" if table is None else f"{len(table.names)} rows of features"
        raise InputError(
            f"A list of {len(values)} labels with {rows}: whose are they? Give a dict or table from node to label."
        )
    return _Labels(table.names, values)


def _part_column(table: Table) -> str | None:
    """The column that says train, val or test, if there is one."""
    name = table.chosen(None, SPLITS)
    known = set() if name is None else {str(value).lower() for value in table[name] if not is_missing(value)}
    return name if known and known <= set(PARTS) else None


def _with_labels(order: Mapping[Any, int], labelled: list[Any], given: _Labels) -> dict[str, Any]:
    """`y` and masks."""
    places = [order.get(name) for name in labelled]
    unknown = [name for name, place in zip(labelled, places, strict=True) if place is None]
    if unknown:
        warnings.warn(
            f"{len(unknown)} labels are of nodes without edges and features, and are left out "
            f"(the first: {shown(unknown[0])}).",
            stacklevel=4,
        )
    y: list[Any] = [None] * len(order)
    said = np.full(len(order), "", dtype="U5")
    for row, place in enumerate(places):
        if place is not None:
            y[place] = given.values[row]
            if given.parts is not None:
                said[place] = PARTS.get(str(given.parts[row]).lower(), "")
    if given.parts is None:
        return {"y": y}
    return {"y": y} | {f"{part}_mask": torch.from_numpy(said == part) for part in ("train", "val", "test")}


def _twice(names: Sequence[Any]) -> Any:
    seen: set[Any] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _sorted(names: list[Any]) -> list[Any]:
    try:
        return sorted(names)
    except TypeError:
        return names
