"""Graphs from what people have: tables of edges, networkx, scipy, PyG's `Data`, DGL, a dict, a file or a folder.

All become a PyG `Data` with `x`, `edge_index`, `y`, and beside them `node_names`, `class_names` and the `table` that the
features were made of. `Graph.from_data` reads it.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.datasets import custom
from ansgt.datasets.tables import SUFFIXES, Plan, Table, features_of, fit_plan, unified
from ansgt.errors import InputError, reason
from ansgt.names import Names, encoded_labels, is_missing
from ansgt.settings import brief, shown

if TYPE_CHECKING:
    from torch_geometric.data import Data

NODES = ("node", "node_id", "nodeid", "id", "name")
LABELS = ("label", "labels", "y", "class", "target_class")
SPLITS = ("split", "part")
ENDS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("node1", "node2"))
"""Usual names of columns, in small letters."""
PARTS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
GRAPH_FILES = (".npz", ".pt", ".pth", ".graphml", *SUFFIXES)
DEGREES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
LINK_COLUMNS = 256
WHOLE = "a DataFrame of edges: ansgt.from_edges(edges, features, labels)"


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
        features: such a table with one row per node; mixed columns are understood. None: columns of degree and links.
        labels: such a table, a dict or pandas Series from name to label, or the name of a column of `features`. None: the
            column `label` of `features`, if it has one.
        node: column with the names of nodes; by default `node` or `id`, or pandas' own index.
        source, target: columns with the ends of an edge; by default `source` and `target` (or `src`, `from`, ...), else the
            first two.

    A column `split` of the features or labels that says train, val or test becomes the masks.

    >>> data = from_edges([("ada", "bob"), ("bob", "eve")], {"node": ["ada", "bob", "eve"], "age": [36, None, 20]},
    ...                   {"ada": "cat", "eve": "dog"})
    >>> data.num_nodes, data.y.tolist(), data.class_names
    (3, [0, -1, 1], Names(2: 'cat', 'dog', ...))
    """
    ends = _ends(edges, source, target)
    table = None if features is None else Table.of(features, "table of features")
    given = _labels(labels, table, node)
    names = None if table is None else _names_of(table, node)
    first, second, listed, labelled = unified(*ends, names or [], [] if given is None else given[0])
    order = {name: place for place, name in enumerate(listed)}
    if len(order) < len(listed):
        raise InputError(f"The table of features has several rows for one node: {shown(_twice(listed))}.")
    strangers = list(dict.fromkeys(name for name in (*first, *second) if name not in order))
    if strangers and table is not None:
        warnings.warn(
            f"{len(strangers)} nodes of the edges have no row of features (the first is {shown(strangers[0])}): "
            "their features count as absent.",
            stacklevel=2,
        )
    elif table is None:
        strangers = _sorted(strangers)
    order |= {name: len(listed) + place for place, name in enumerate(strangers)}
    pairs = np.array([[order[name] for name in first], [order[name] for name in second]], dtype=np.int64)
    found = _with_labels(order, labelled, given)
    if table is not None:
        rows = [*range(len(listed)), *([-1] * len(strangers))]
        table = table.without(*found.pop("taken", ())).taken(rows)
    return _data(torch.from_numpy(pairs.reshape(2, -1)), list(order), table, **found)


def _ends(edges: Any, source: str | None, target: str | None) -> tuple[list[Any], list[Any]]:
    """The names at both ends of every edge."""
    if isinstance(edges, np.ndarray | Tensor | list | tuple):
        pairs = edges.tolist() if hasattr(edges, "tolist") else list(edges)
        if len(pairs) == 2 and len(pairs[0]) != 2 and len(pairs[0]) == len(pairs[1]):
            return list(pairs[0]), list(pairs[1])  # an edge_index [2, E]
        if any(isinstance(pair, str) or len(pair) != 2 for pair in pairs):
            raise InputError("Edges are pairs of nodes, [E, 2].")
        return [one for one, _ in pairs], [other for _, other in pairs]
    table = Table.of(edges, "table of edges")
    if (
        "node" in table.columns
        and "node" not in (source, target)
        and len(table.names) > 2
        and hasattr(edges, "iloc")
    ):
        table = table.without("node")  # the index of an edge
    small = {name.strip().lower(): name for name in reversed(table.names)}
    usual = next(((small[a], small[b]) for a, b in ENDS if a in small and b in small), None)
    if usual is None and len(table.names) < 2:
        raise InputError(
            f"The {table.what} needs two columns, the ends of an edge; it has {len(table.names)}."
        )
    one, other = usual or (table.names[0], table.names[1])
    one, other = source or one, target or other
    rest = [name for name in table.names if name not in (one, other)]
    found = table[one], table[other]
    for row, ends in enumerate(zip(*found, strict=True)):
        if any(is_missing(end) for end in ends):
            raise InputError(f"Row {row} of the {table.what} has no node in {one!r} or {other!r}.")
    if rest:
        warnings.warn(
            f"Left out of the edges: {', '.join(map(brief, rest))} (edges have no weights, kinds or times here).",
            stacklevel=3,
        )
    return found


def _names_of(table: Table, node: str | None) -> list[Any]:
    column = table.chosen(node, NODES)
    if column is None:
        raise InputError(
            f"Which column of the {table.what} names the nodes? Say node=... ({', '.join(table.names[:12])})."
        )
    names = table[column]
    absent = next((row for row, name in enumerate(names) if is_missing(name)), None)
    if absent is not None:
        raise InputError(f"Row {absent} of the {table.what} has no name in column {column!r}.")
    return names


def _labels(
    labels: Any, table: Table | None, node: str | None
) -> tuple[list[Any], list[Any], list[Any] | None, tuple[str, ...]] | None:
    """Names, their labels, their parts, and which columns of the table of features these are."""
    if labels is None and table is None:
        return None
    own = labels is None or (isinstance(labels, str) and not labels.lower().endswith(SUFFIXES))
    if own and table is None:
        raise InputError(f"labels={shown(labels)} names a column of the features, but there are none.")
    found = table if own and table is not None else Table.of(labels, "table of labels")
    names, key = _names_of(found, node), found.chosen(node, NODES)
    part = found.chosen(None, SPLITS)
    rest = [name for name in found.names if name not in (key, part)]
    label = found.chosen(labels if own else None, LABELS)
    if label is None and not own:
        if len(rest) != 1:
            raise InputError(
                f"Call the column of the {found.what} that holds the labels 'label', not one of {rest}."
            )
        label = rest[0]
    splits = found[part] if part is not None and _are_parts(found[part]) else None
    values = [None] * len(names) if label is None else found[label]
    taken = (
        (key, label, part if splits is not None else None) if own else (table and table.chosen(node, NODES),)
    )
    return names, values, splits, tuple(name for name in taken if isinstance(name, str))


def _are_parts(values: Sequence[Any]) -> bool:
    known = {str(value).lower() for value in values if not is_missing(value)}
    return bool(known) and known <= set(PARTS)


def _with_labels(order: Mapping[Any, int], labelled: list[Any], given: Any) -> dict[str, Any]:
    """`y`, masks, and which columns are no features."""
    if given is None:
        return {}
    _, values, splits, taken = given
    places = [order.get(name) for name in labelled]
    unknown = [name for name, place in zip(labelled, places, strict=True) if place is None]
    if unknown:
        warnings.warn(
            f"{len(unknown)} labels are of nodes without edges and features, and are left out ({shown(unknown[0])}).",
            stacklevel=3,
        )
    y: list[Any] = [None] * len(order)
    parts: list[Any] = [None] * len(order)
    for row, place in enumerate(places):
        if place is not None:
            y[place] = values[row]
            parts[place] = None if splits is None else splits[row]
    found: dict[str, Any] = {"taken": taken, "y": y}
    if splits is not None:
        said = np.array([PARTS.get(str(part).lower(), "") for part in parts])
        found |= {f"{part}_mask": torch.from_numpy(said == part) for part in ("train", "val", "test")}
    return found


def _twice(names: Sequence[Any]) -> Any:
    seen: set[Any] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _sorted(names: list[Any]) -> list[Any]:
    try:
        return sorted(names)
    except TypeError:
        return names


def _data(
    edge_index: Tensor, names: list[Any] | None, table: Table | None, y: Any = None, **more: Any
) -> "Data":
    """A PyG `Data`, its features made of a table, or of degrees and links."""
    from torch_geometric.data import Data

    number = len(names) if names is not None else more.pop("num_nodes")
    labels, _, classes = encoded_labels(y, number)
    known = None if names is None or names == list(range(number)) else Names(names)
    data = Data(edge_index=edge_index, y=labels, node_names=known, class_names=classes, **more)
    if table is not None and table.names:
        data.table = table
        return planned(data, fit_plan(table))
    return without_features(data, known, number)


def planned(data: Any, plan: Plan) -> Any:
    """The same data, its features made of its table by a plan: that of the graph a model was trained on."""
    x = torch.from_numpy(features_of(data.table, plan))
    if x.shape[1] == 0:
        raise InputError(
            "No column of the table of features can be used; features=None takes degree and links."
        )
    data.x, data.columns = x, plan
    return data


def without_features(data: Any, names: Names | None, num_nodes: int) -> Any:
    """The substitute for features: steps of the degree, and the node's row of A hashed by the neighbours' names."""
    import zlib

    warnings.warn(
        f"The graph has no features: {len(DEGREES)} columns of degree and {LINK_COLUMNS} of links stand in.",
        stacklevel=3,
    )
    row, col = (part.numpy() for part in torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1))
    adjacency = sp.csr_array((np.ones(len(row)), (row, col)), shape=(num_nodes, num_nodes))
    adjacency.data[:] = 1.0
    texts = range(num_nodes) if names is None else names.values
    column = np.array([zlib.crc32(str(text).encode()) % LINK_COLUMNS for text in texts])
    hashed = sp.csr_array(
        (np.ones(num_nodes), (np.arange(num_nodes), column)), shape=(num_nodes, LINK_COLUMNS)
    )
    degree = np.diff(adjacency.indptr)
    steps = (degree[:, None] >= np.array(DEGREES)).astype(np.float32)
    links = (
        np.asarray((adjacency @ hashed).toarray(), dtype=np.float32) / np.sqrt(np.maximum(degree, 1))[:, None]
    )
    data.x = torch.from_numpy(np.concatenate([steps, links.astype(np.float32)], axis=1))
    data.columns = {}
    return data


def from_networkx(graph: Any, *, label: str | None = None, features: Sequence[str] | None = None) -> "Data":
    """From a networkx graph, or a GraphML file; attributes of nodes are features.

    Args:
        graph: the graph, or the path of a `.graphml` file.
        label: attribute that holds the class; by default `label`, `y` or `class`.
        features: attributes to use; by default all others.
    """
    if isinstance(graph, str | Path):
        graph = _graphml(Path(graph))
    names = list(graph.nodes)
    kept = list(dict.fromkeys(key for _, values in graph.nodes(data=True) for key in values))
    columns = {key: [values.get(key) for _, values in graph.nodes(data=True)] for key in kept}
    table = Table(
        {"node": names} | {str(key): values for key, values in columns.items() if key != "node"},
        "graph's nodes",
    )
    chosen = table.chosen(label, LABELS)
    dropped = ["direction"] if graph.is_directed() else []
    dropped += sorted({str(key) for *_, values in graph.edges(data=True) for key in values})
    _warn_dropped(dropped)
    wanted = (
        [name for name in table.names if name not in ("node", chosen)] if features is None else list(features)
    )
    table = Table(
        {"node": names}
        | {name: table[name] for name in wanted}
        | ({"label": table[chosen]} if chosen else {})
    )
    return from_edges(
        [(one, other) for one, other in graph.edges()],
        table if wanted else {"node": names},
        None if chosen is None else {"node": names, "label": table["label"]},
    )


def _graphml(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"The graph file {path} does not exist.")
    try:
        import networkx
    except ImportError:
        raise InputError("GraphML needs networkx: pip install networkx.") from None
    try:
        return networkx.read_graphml(path)
    except Exception as error:  # of XML, of networkx
        raise InputError(f"Cannot read the graph file {path}: {reason(error)}.") from None


def from_scipy(adjacency: Any, x: Any = None, y: Any = None, *, names: Sequence[Any] | None = None) -> "Data":
    """From a square scipy matrix, features [n, p] (None: degree and links) and labels [n]."""
    from torch_geometric.data import Data

    if not sp.issparse(adjacency) or len(adjacency.shape) != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(f"The adjacency must be a square scipy matrix, not {shown(adjacency)}.")
    matrix = sp.coo_array(adjacency)
    kept = matrix.data != 0
    weighted = bool((matrix.data[kept] != 1).any())
    directed = bool((sp.csr_array(adjacency) != sp.csr_array(adjacency).T).nnz)
    _warn_dropped(["weights"] * weighted + ["direction"] * directed)
    edges = torch.from_numpy(np.stack([matrix.row[kept], matrix.col[kept]]).astype(np.int64))
    given = None if names is None else Names(list(names))
    data = Data(edge_index=edges, y=y, node_names=given)
    if x is None:
        return without_features(data, given, adjacency.shape[0])
    data.x = x
    return data


def _warn_dropped(dropped: Sequence[str]) -> None:
    if dropped:
        warnings.warn(
            f"Left out of the edges: {', '.join(map(brief, dropped))}; a graph is undirected and unweighted here.",
            stacklevel=3,
        )


def as_data(source: Any) -> Any:
    """Whatever holds a graph, as something with `x`, `edge_index` (or `adj_t`) and `y`; for `fit` and `predict`.

    Args:
        source: a PyG `Data`, a `Graph`, networkx, scipy, DGL, a dict of fields, tables (edges, features, labels), or
            the path of a graph file, of a folder with tables, or of several tables between commas.
    """
    kind = type(source).__name__
    if isinstance(source, str | Path):
        return read_graph_file(str(source))
    if kind == "HeteroData" or hasattr(source, "edge_types"):
        raise InputError(
            "A HeteroData has several kinds of nodes, which is not supported; data.to_homogeneous() makes one kind of them."
        )
    if hasattr(source, "nodes") and hasattr(source, "is_directed") and hasattr(source, "adj"):
        return from_networkx(source)
    if sp.issparse(source):
        return from_scipy(source)
    if hasattr(source, "ndata") and hasattr(source, "edges"):
        return _from_dgl(source)
    if isinstance(source, tuple) and 2 <= len(source) <= 3:
        return from_edges(*source)
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if hasattr(source, "to_pydict") or hasattr(source, "get_columns") or hasattr(source, "iloc"):
        raise InputError(f"One table alone is no graph; give {WHOLE}.")
    if (
        getattr(source, "x", None) is None
        and getattr(source, "edge_index", None) is not None
        and hasattr(source, "clone")
    ):
        return without_features(source.clone(), None, int(source.num_nodes))
    _warn_dropped(_dropped_by(source))
    return source


def _dropped_by(data: Any) -> list[str]:
    """What a PyG `Data` says of its edges beyond who is linked to whom."""
    edges = getattr(data, "edge_index", None)
    names = [
        name for name in ("edge_attr", "edge_weight", "edge_type") if getattr(data, name, None) is not None
    ]
    one_way = isinstance(edges, Tensor) and edges.ndim == 2 and edges.shape[0] == 2 and _one_way(edges)
    return names + ["direction"] * (one_way and bool(names))


def _one_way(edges: Tensor) -> bool:
    size = int(edges.max()) + 1 if edges.numel() else 0
    return not torch.equal(torch.unique(edges[0] * size + edges[1]), torch.unique(edges[1] * size + edges[0]))


def _from_dgl(graph: Any) -> Any:
    """A DGL graph: features in `ndata["feat"]` or `["x"]`, labels in `["label"]` or `["y"]`."""
    row, col = graph.edges()
    fields = graph.ndata
    x = next((fields[key] for key in ("feat", "features", "x", "h") if key in fields), None)
    y = next((fields[key] for key in ("label", "labels", "y") if key in fields), None)
    masks = {key: fields[key] for key in ("train_mask", "val_mask", "test_mask") if key in fields}
    data = SimpleNamespace(
        x=x, edge_index=torch.stack([torch.as_tensor(row), torch.as_tensor(col)]), y=y, **masks
    )
    return data if x is not None else without_features(data, None, int(graph.num_nodes()))


def _from_mapping(source: Mapping[str, Any]) -> Any:
    if "edges" in source:
        unknown = set(source) - {"edges", "features", "labels", "node", "source", "target"}
        if unknown:
            raise InputError(f"A dict of tables holds edges, features and labels, not {shown(min(unknown))}.")
        return from_edges(**source)
    if "edge_index" not in source and "adj_t" not in source:
        raise InputError(
            "A dict holds x, edge_index and y (and masks), or the tables edges, features and labels; "
            f"this one has {', '.join(map(brief, list(source)[:8]))}."
        )
    custom.check_names(source)
    data = SimpleNamespace(**source)
    if source.get("x") is None and source.get("edge_index") is not None:
        edges = data.edge_index = torch.as_tensor(np.asarray(source["edge_index"]))
        number = len(source["y"]) if source.get("y") is not None else int(edges.max()) + 1
        return without_features(data, None, number)
    return data


def read_graph_file(name: str) -> Any:
    """The graph of a path: a graph file, a folder with tables, or tables between commas (edges, features, labels)."""
    path = Path(name)
    if path.is_dir():
        return from_edges(*_tables_in(path))
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if parts and all(part.lower().endswith(SUFFIXES) for part in parts) and not path.is_file():
        if len(parts) > 3:
            raise InputError("Tables are given as EDGES, EDGES,FEATURES or EDGES,FEATURES,LABELS.")
        return from_edges(*parts)
    if name.lower().endswith(".graphml"):
        return from_networkx(path)
    if name.lower().endswith(SUFFIXES):
        return from_edges(path)
    if not name.endswith((".npz", ".pt", ".pth")):
        raise InputError(
            f"A graph is read from {', '.join(GRAPH_FILES)} or a folder of tables, not from {brief(name)!r}."
        )
    return custom.load(path)


def is_graph_path(name: str) -> bool:
    """Whether a name is that of a graph on disk, not of a known data set."""
    return name.lower().endswith(GRAPH_FILES) or ("/" in name and Path(name).is_dir())


def _tables_in(folder: Path) -> list[Path | None]:
    """Files of a folder: edges, features (or nodes), labels."""
    found: list[Path | None] = []
    for stems in (("edges", "links"), ("features", "nodes"), ("labels",)):
        paths = [folder / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES]
        found.append(next((path for path in paths if path.is_file()), None))
    if found[0] is None:
        raise InputError(f"The folder {folder} has no table of edges: name it edges.csv (or .parquet).")
    return found
