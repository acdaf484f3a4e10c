"""Graphs from what people have: tables of edges, networkx, scipy, PyG's `Data`, DGL, a dict, a file or a folder.

All become something with `x`, `edge_index` and `y`, mostly a PyG `Data`, and beside them `node_names`, `class_names` and
the `table` that the features were made of. `as_graph` is what `fit` and `predict` call.
"""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.arrays import check_room, numbers
from ansgt.datasets import custom
from ansgt.datasets.columns import Plan
from ansgt.datasets.edges import LABELS, named_data, read_edges, warn_dropped, with_features
from ansgt.datasets.files import read_tables
from ansgt.datasets.tables import Table
from ansgt.errors import InputError, one_sentence, reason
from ansgt.graph import Graph, check_foreign
from ansgt.names import Names
from ansgt.settings import brief, shown

if TYPE_CHECKING:
    from torch_geometric.data import Data

TABLES = {"edges", "features", "labels", "node", "source", "target"}
ONE_TABLE = "One table alone is no graph; give one of edges, and one of features: from_edges(edges, features, labels)."
KINDS = "a PyG Data, networkx, scipy, tables (ansgt.from_edges), a dict or a path"
FIELDS = {"x": ("feat", "features", "x", "h"), "y": ("label", "labels", "y")}
"""What nodes' features and labels are called in DGL."""
MASKS = ("train_mask", "val_mask", "test_mask")


@one_sentence("The graph")
def as_graph(source: Any, trained_on: Graph | None = None) -> tuple[Graph, Any]:
    """The graph of whatever holds one, and the data it was made of (with masks, if there are any).

    Args:
        source: see `as_data`.
        trained_on: the graph of a trained model: a table becomes features by its plan, labels are of its classes.
    """
    data = as_data(source, None if trained_on is None else trained_on.columns)
    graph = data if isinstance(data, Graph) else Graph.from_data(data)
    return graph if trained_on is None else graph.with_classes_of(trained_on), data


@one_sentence("The graph")
def as_data(source: Any, plan: Plan | None = None) -> Any:
    """Whatever holds a graph, as something with `x`, `edge_index` (or `adj_t`) and `y`; for `fit` and `predict`.

    Args:
        source: a PyG `Data`, a `Graph`, networkx, scipy, DGL, a dict of fields, tables (edges, features, labels), or
            the path of a graph file, of a folder with tables, or of several tables between commas.
        plan: how a table becomes features; None: found out from the table.
    """
    if isinstance(source, Graph):
        return source
    return with_features(_read(source), plan)


def content_of(source: Any) -> tuple[Any, ...] | None:
    """What tells a graph in memory from every other one; None where that would take as long as reading it.

    Args:
        source: whatever `as_data` takes; a `Graph` is itself, tensors and arrays are told by what they hold.
    """
    from ansgt.linalg import fingerprint

    if isinstance(source, Graph):
        return (source,)
    fields = source.to_dict() if hasattr(source, "to_dict") and hasattr(source, "edge_index") else None
    found: list[Any] = []
    for name, value in (fields or {}).items():
        with contextlib.suppress(TypeError):  # a tensor of another device or layout
            value = value.detach().numpy() if isinstance(value, Tensor) else value
        if isinstance(value, np.ndarray) and value.flags.c_contiguous and value.dtype.kind in "biuf":
            found.append((name, fingerprint(value)))
        elif isinstance(value, str | int | Names):
            found.append((name, value))
        else:
            return None
    return tuple(found) or None


def _read(source: Any) -> Any:
    """`as_data`, the table of features still as it is."""
    if isinstance(source, str | Path):
        return _read_file(str(source))
    _refuse(source)
    if hasattr(source, "ndata") and hasattr(source, "edges"):
        return _read_dgl(source)
    if hasattr(source, "nodes") and hasattr(source, "is_directed") and hasattr(source, "adj"):
        return _read_networkx(source)
    if sp.issparse(source):
        return _read_scipy(source)
    if isinstance(source, tuple) and 2 <= len(source) <= 3:
        return read_edges(*source)
    if isinstance(source, Mapping):
        return _read_mapping(source)
    if not (hasattr(source, "edge_index") or hasattr(source, "adj_t") or hasattr(source, "x")):
        raise InputError(f"A graph is {KINDS}, not {shown(source)}.")
    warn_dropped(_dropped_by(source), stacklevel=6)
    return source


def _refuse(source: Any) -> None:
    """What is not supported, each with what to do."""
    kinds = getattr(source, "ntypes", ())
    if type(source).__name__ == "HeteroData" or hasattr(source, "edge_types") or len(kinds) > 1:
        remedy = "dgl.to_homogeneous(graph)" if kinds else "data.to_homogeneous()"
        raise InputError(
            f"A graph with several kinds of nodes ({type(source).__name__}) is not supported; "
            f"{remedy} makes one kind of them."
        )
    single = hasattr(source, "to_pydict") or hasattr(source, "get_columns") or hasattr(source, "iloc")
    if single or isinstance(source, list | np.ndarray | Tensor):
        raise InputError(ONE_TABLE)


@one_sentence("The graph")
def from_networkx(graph: Any, *, label: str | None = None, features: Sequence[str] | None = None) -> "Data":
    """From a networkx graph, or a GraphML file; attributes of nodes are features.

    Args:
        graph: the graph, or the path of a `.graphml` file.
        label: attribute that holds the class; by default `label`, `y` or `class`.
        features: attributes to use; by default all others.
    """
    return with_features(_read_networkx(graph, label, features))


def _read_networkx(graph: Any, label: str | None = None, features: Sequence[str] | None = None) -> "Data":
    if isinstance(graph, str | Path):
        graph = _graphml(Path(graph))
    nodes = dict(graph.nodes(data=True))
    kept = dict.fromkeys(key for values in nodes.values() for key in values)
    columns = {str(key): [values.get(key) for values in nodes.values()] for key in kept}
    table = Table(columns, "graph's attributes of nodes")
    chosen = table.chosen(label, LABELS)
    of_edges = sorted({str(key) for *_, values in graph.edges(data=True) for key in values})
    warn_dropped(["direction"] * graph.is_directed() + of_edges, stacklevel=5)
    wanted = [name for name in table.names if name != chosen] if features is None else _chosen(features)
    places = {node: place for place, node in enumerate(nodes)}
    pairs = [(places[one], places[other]) for one, other in graph.edges()]
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    rest = Table({name: table[name] for name in wanted}, table.what)
    return named_data(edges, list(nodes), rest, None if chosen is None else table[chosen])


def _chosen(features: Any) -> list[str]:
    names = [] if isinstance(features, str) or not hasattr(features, "__iter__") else list(features)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"features must be a list of attributes' names, not {shown(features)}.")
    return names


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


@one_sentence("The graph")
def from_scipy(adjacency: Any, x: Any = None, y: Any = None, *, names: Sequence[Any] | None = None) -> "Data":
    """From a square scipy matrix, features [n, p] (None: degree and links) and labels [n]."""
    return with_features(_read_scipy(adjacency, x, y, names))


def _read_scipy(adjacency: Any, x: Any = None, y: Any = None, names: Sequence[Any] | None = None) -> "Data":
    if not sp.issparse(adjacency) or len(adjacency.shape) != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(f"The adjacency must be a square scipy matrix, not {shown(adjacency)}.")
    number = adjacency.shape[0]
    if names is not None and (isinstance(names, str) or not hasattr(names, "__len__")):
        raise InputError(f"Field 'names' must be a list of names, not {shown(names)}.")
    if names is not None and len(names) != number:
        raise InputError(f"The adjacency has {number} rows, but there are {len(names)} names.")
    check_room("adjacency", 32 * number)
    check_foreign("adjacency", adjacency)
    matrix = sp.coo_array(adjacency)
    kept = matrix.data != 0
    weighted = bool((matrix.data[kept] != 1).any())
    edges = torch.from_numpy(np.stack([matrix.row[kept], matrix.col[kept]]).astype(np.int64))
    warn_dropped(["weights"] * weighted + ["direction"] * is_one_way(edges), stacklevel=5)
    data = named_data(edges, range(number) if names is None else list(names), y=y)
    data.x = x
    return data


def _dropped_by(data: Any) -> list[str]:
    """What a PyG `Data` says of its edges beyond who is linked to whom."""
    edges = getattr(data, "edge_index", None)
    directed = isinstance(edges, Tensor) and edges.ndim == 2 and len(edges) == 2 and is_one_way(edges)
    return _said_of_edges(data) + ["direction"] * directed


def _said_of_edges(data: Any) -> list[str]:
    names = ("edge_weight", "edge_attr", "edge_type")
    return [name for name in names if getattr(data, name, None) is not None]


def warn_left_out(data: Any, one_way: bool) -> None:
    """The warning of `as_data`, where it is known whether some edge lacks its reverse."""
    warn_dropped(_said_of_edges(data) + ["direction"] * one_way, stacklevel=8)


def is_one_way(edges: Tensor) -> bool:
    """Whether some edge lacks its reverse."""
    if edges.numel() == 0 or edges.is_floating_point() or int(edges.min()) < 0:
        return False
    size = _last(edges) + 1
    there, back = edges[0].long() * size + edges[1], edges[1].long() * size + edges[0]
    if _hashed_sum(there) == _hashed_sum(
        back
    ):  # the same edges, each as often: the usual case, without sorting them
        return False
    return not torch.equal(torch.unique(there), torch.unique(back))


def _hashed_sum(keys: Tensor) -> int:
    """64 bits that do not depend on the order of the keys."""
    mixed = keys * -0x61C8864680B583EB
    mixed ^= mixed >> 29
    mixed *= -0x4B47D0C5A1A6E955
    mixed ^= mixed >> 32
    mixed *= 0x2545F4914F6CDD1D
    return int(mixed.sum())


def _read_dgl(graph: Any) -> Any:
    """A DGL graph: features in `ndata["feat"]` or `["x"]`, labels in `["label"]` or `["y"]`."""
    ends, fields = graph.edges(), graph.ndata
    found = {
        name: next((fields[key] for key in keys if key in fields), None) for name, keys in FIELDS.items()
    }
    edges = torch.stack([torch.as_tensor(part) for part in ends])
    warn_dropped(
        sorted(map(str, getattr(graph, "edata", {}))) + ["direction"] * is_one_way(edges), stacklevel=6
    )
    masks = {key: fields[key] for key in MASKS if key in fields}
    return SimpleNamespace(edge_index=edges, num_nodes=int(graph.num_nodes()), **found, **masks)


def _read_mapping(source: Mapping[str, Any]) -> Any:
    if "edges" in source:
        unknown = set(source) - TABLES
        if unknown:
            raise InputError(
                f"A dict of tables holds edges, features and labels, not {brief(min(unknown))!r}."
            )
        return read_edges(**source)
    if "edge_index" not in source and "adj_t" not in source:
        raise InputError(
            "A dict holds x, edge_index and y (and masks), or the tables edges, features and labels; "
            f"this one has {', '.join(map(brief, list(source)[:8])) or 'nothing'}."
        )
    wrong = next((key for key in source if not isinstance(key, str)), None)
    if wrong is not None:
        raise InputError(f"A dict of fields has names for keys, not {shown(wrong)}.")
    custom.check_names(list(source))
    data = SimpleNamespace(**source)
    edges = source.get("edge_index")
    if edges is not None:
        data.edge_index = numbers("edge_index", edges)
    sized = source.get("x") if source.get("y") is None else source["y"]
    if sized is not None or edges is not None:
        data.num_nodes = _last(data.edge_index) + 1 if sized is None else _length(sized)
    warn_dropped(_dropped_by(data), stacklevel=6)
    return data


def _last(edges: Tensor) -> int:
    return int(edges.max()) if edges.numel() else -1


def _length(field: Any) -> int:
    return int(field.shape[0]) if hasattr(field, "shape") else len(field)


def _read_file(name: str) -> Any:
    """The graph of a path: a graph file, a folder with tables, or tables between commas (edges, features, labels)."""
    found = read_tables(name)
    if found is not None:
        return read_edges(*found)
    if name.lower().endswith(".graphml"):
        return _read_networkx(name)
    return custom.load(Path(name), needed=("x", "edge_index"))
