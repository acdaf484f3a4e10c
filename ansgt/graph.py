"""`Graph`, what every stage works on, and `Split`; both are checked once, when built.

A `Graph` is undirected, unweighted, without self-loops or duplicate edges: G = (A, X) of the paper, section 3.1.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse import csgraph
from torch import Tensor

from ansgt.arrays import brief_repr, check_room, csr_of, numbers, unfinite
from ansgt.errors import InputError, one_sentence
from ansgt.names import Labelling, Names, encoded_labels
from ansgt.settings import shown
from ansgt.storage import content_hash

DIGITS = 18
"""Of the number of a node."""
MOST_FEATURES = 2**20
"""A first layer of 128 units on more features than this takes gigabytes."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected simple graph with node features and labels.

    Build it with `Graph.from_data` or `Graph.from_arrays`; the constructor itself checks nothing.

    Args:
        x: node features [n, p], float32, dense or `torch.sparse_csr`.
        indptr: CSR row pointers of A [n + 1], int64.
        indices: CSR column indices of A [2 |E|], int32, sorted within a row.
        y: labels [n], int64, -1 where unknown.
        num_classes: C.
        loops: which nodes had a self-loop in the source [n], bool; only homophily looks at them.
        name: name of the data set and its variant.
        data: the caller's own object, untouched.
        node_names: what the nodes are called, where that is not 0..n-1.
        class_names: what the classes are called, where that is not 0..C-1.
        columns: how a table became the features, where it was one; a further table becomes features by the same plan.
        links: sparse columns [n, W] that the transformer sees beside `x`, and no heuristic does (`ansgt.links`); or None.
        grown_from: the graph whose nodes are the first ones of this, and whose edges are all there; see `grown`.
    """

    x: Tensor
    indptr: np.ndarray
    indices: np.ndarray
    y: Tensor
    num_classes: int
    loops: np.ndarray
    name: str = "graph"
    data: Any = field(default=None, repr=False)
    node_names: Names | None = None
    class_names: Names | None = None
    columns: dict[str, Any] | None = field(default=None, repr=False)
    links: Tensor | None = field(default=None, repr=False)
    grown_from: "Graph | None" = field(default=None, repr=False)

    @classmethod
    @one_sentence("The graph")
    def from_data(cls, data: Any, name: str = "graph") -> "Graph":
        """From a PyG `Data` with `x`, `edge_index` or `adj_t`, optionally `y`; directed, doubled or looped edges are fine.

        Also from anything else with these attributes; `node_names`, `class_names` and `columns` are taken where they are.
        """
        if getattr(data, "x", None) is None:
            raise InputError("Field 'x' is missing: the graph has no node features.")
        edges = _edges_of(data)
        if edges is None:
            raise InputError("Field 'edge_index' is missing: the graph has no edges field.")
        graph = cls.from_arrays(data.x, edges, getattr(data, "y", None), name=name)
        return replace(graph, data=data)._named(data)

    @classmethod
    @one_sentence("The graph")
    def from_arrays(cls, x: Any, edges: Any, y: Any = None, name: str = "graph") -> "Graph":
        """From features [n, p], edges (an edge_index [2, E] or a square scipy matrix) and labels [n]."""
        features = checked_features(x)
        num_nodes = features.shape[0]
        row, col = checked_edges(edges, num_nodes)
        labels, num_classes, classes = encoded_labels(y, num_nodes)
        loops = np.zeros(num_nodes, dtype=bool)
        loops[row[row == col]] = True
        indptr, indices = _simple_csr(row, col, num_nodes)
        return cls(features, indptr, indices, labels, num_classes, loops, name, class_names=classes)

    def _named(self, data: Any) -> "Graph":
        """With the names that `data` has; labels are then numbers of its classes."""
        nodes, classes = getattr(data, "node_names", None), getattr(data, "class_names", None)
        columns = getattr(data, "columns", None) or getattr(getattr(data, "table", None), "plan", None)
        columns = columns if isinstance(columns, dict) else None  # a stranger's field may have any name
        if nodes is not None and not isinstance(nodes, Names):
            nodes = Names(_listed(nodes))
        if nodes is not None and len(nodes) != self.num_nodes:
            raise InputError(
                f"Field 'node_names' must have one name per node ({self.num_nodes}), not {len(nodes)}."
            )
        if classes is None:
            return replace(self, node_names=nodes, columns=columns)
        if not isinstance(classes, Names):
            classes = Names(_listed(classes), "class")
        used = self.classes[self.y[self.y >= 0].numpy()]
        if used.dtype.kind not in "biu" or (used >= len(classes)).any():
            raise InputError(
                f"Field 'y' must hold the numbers 0..{len(classes) - 1} of the {len(classes)} 'class_names', or -1."
            )
        y = self.y.clone()
        y[y >= 0] = torch.from_numpy(used.astype(np.int64))
        return replace(
            self, y=y, num_classes=len(classes), node_names=nodes, class_names=classes, columns=columns
        )

    @property
    def labelling(self) -> Labelling:
        """What the numbers stand for."""
        return Labelling(self.node_names, self.class_names, self.columns)

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Undirected edges, each counted once."""
        return len(self.indices) // 2

    @property
    def num_features(self) -> int:
        return int(self.x.shape[1])

    @cached_property
    def degree(self) -> np.ndarray:
        """Number of neighbours [n], int64."""
        return np.diff(self.indptr)

    @cached_property
    def component(self) -> np.ndarray:
        """Number of every node's connected component [n]; of a graph that grew from what is known of the older one."""
        if self.grown_from is None:
            found: np.ndarray = csgraph.connected_components(self.adj, directed=False)[1]
            return found
        return _joined_components(self.grown_from, self)

    @cached_property
    def adj(self) -> sp.csr_array:
        """A as a scipy CSR array of float64 ones."""
        shape = (self.num_nodes, self.num_nodes)
        return sp.csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=shape)

    @cached_property
    def edge_index(self) -> Tensor:
        """Both directions of every edge [2, 2|E|], int64, sorted by row."""
        row = np.repeat(np.arange(self.num_nodes), self.degree)
        return torch.from_numpy(np.stack([row, self.indices.astype(np.int64)]))

    @cached_property
    def features(self) -> sp.csr_array | np.ndarray:
        """X as numpy [n, p]: a dense array, or scipy CSR when `x` is sparse."""
        if self.x.layout == torch.strided:
            return self.x.numpy()
        values = (self.x.values(), self.x.col_indices(), self.x.crow_indices())
        return sp.csr_array(tuple(v.numpy() for v in values), shape=tuple(self.x.shape))

    @cached_property
    def content_hash(self) -> str:
        """sha256 of everything that decides a result: features, edges, labels."""
        x: Any = self.features
        parts = [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
        return content_hash(*parts, self.indptr, self.indices, self.y.numpy())

    @cached_property
    def classes(self) -> np.ndarray:
        """The classes' names [C]; their numbers where they have none."""
        return np.arange(self.num_classes) if self.class_names is None else self.class_names.array()

    def node_name(self, node: int) -> Any:
        """What a node is called: its number where it has no name."""
        return int(node) if self.node_names is None else self.node_names[int(node)]

    def class_name(self, label: int) -> Any:
        """What a class is called; None for -1, the unknown one."""
        if label < 0:
            return None
        return int(label) if self.class_names is None else self.class_names[int(label)]

    def place(self, node: Any) -> int:
        """The index of one node, from its name or, where nodes have no names, its number."""
        if self.node_names is not None:
            return self.node_names.place(node)
        return int(self.find([node])[0])

    def find(self, nodes: Any) -> Tensor:
        """Indices of nodes [k], int64: of all (None), of a mask [n], or of names; of indices where nodes have no names."""
        if nodes is None:
            return torch.arange(self.num_nodes)
        listed = [nodes] if isinstance(nodes, str) or not hasattr(nodes, "__len__") else _listed(nodes)
        if listed and all(isinstance(one, bool | np.bool_) for one in listed):
            if len(listed) != self.num_nodes:
                raise InputError(f"The mask must have shape [{self.num_nodes}], not {[len(listed)]}.")
            return torch.tensor(listed).nonzero().flatten()
        if self.node_names is not None:
            return torch.from_numpy(self.node_names.find(listed))
        chosen = _as_indices(nodes if isinstance(nodes, Tensor) else listed)
        wrong = chosen[(chosen < 0) | (chosen >= self.num_nodes)]
        if len(wrong):
            raise InputError(f"Node {int(wrong[0])} does not exist: the graph has {self.num_nodes} nodes.")
        return chosen

    def with_classes_of(self, other: "Graph") -> "Graph":
        """The same graph, its labels in the other's classes; a label that is none of them is unknown."""
        if self.num_classes == other.num_classes and self.class_names == other.class_names:
            return self
        own = {name: code for code, name in enumerate(other.classes.tolist())}
        codes = torch.tensor([own.get(name, -1) for name in self.classes.tolist()] + [-1])
        return replace(self, y=codes[self.y], num_classes=other.num_classes, class_names=other.class_names)

    def grown(self, x: Any, edges: Any, y: Any = None, names: Any = None) -> "Graph":
        """This graph with more nodes, without going over what is there: for one question after the other about new nodes.

        Args:
            x: features of the new nodes [k, p].
            edges: an edge_index [2, e]; new nodes are n, n + 1, ..., and each edge has one of them at least.
            y: labels of the new nodes [k]; None: unknown.
            names: of the new nodes [k], where nodes have names.

        >>> from ansgt.testing import path_graph
        >>> graph = path_graph(3)
        >>> graph.grown(graph.x[:1], [[3, 3], [0, 2]]).edge_index
        tensor([[0, 0, 1, 1, 2, 2, 3, 3],
                [1, 3, 0, 2, 1, 3, 0, 2]])
        """
        new = checked_features(x)
        if new.layout != torch.strided or self.x.layout != torch.strided:
            raise InputError("Graph.grown takes dense features; give a graph with sparse ones as a whole.")
        if new.shape[1] != self.num_features:
            raise InputError(f"Field 'x' has {new.shape[1]} features, but the graph has {self.num_features}.")
        row, col = checked_edges(edges, self.num_nodes + len(new))
        if bool((np.maximum(row, col) < self.num_nodes).any()):
            raise InputError("Every edge of Graph.grown has a new node at one end at least.")
        if (names is None) != (self.node_names is None):
            raise InputError("New nodes have names where the graph's nodes have names, and only there.")
        y = torch.cat([self.y, self.labels(y, len(new))])
        whole = self.extended(torch.cat([self.x, new]), row, col, y)
        known = None if self.node_names is None else Names([*self.node_names.values, *_listed(names)])
        return replace(whole, node_names=known)

    def extended(self, x: Tensor, row: np.ndarray, col: np.ndarray, y: Tensor) -> "Graph":
        """`grown`, from features and labels of all nodes and edges that were checked."""
        loops = np.zeros(x.shape[0], dtype=bool)
        loops[: self.num_nodes] = self.loops
        loops[row[row == col]] = True
        indptr, indices = _appended(self, row, col, x.shape[0])
        parts: Any = {"x": x, "indptr": indptr, "indices": indices, "y": y, "loops": loops}
        return replace(self, **parts, data=None, grown_from=self)

    def labels(self, y: Any, num_nodes: int) -> Tensor:
        """Labels of any kind, of any nodes [num_nodes], as classes of this graph; -1: unknown."""
        codes, number, names = encoded_labels(y, num_nodes)
        own = replace(self, y=codes, num_classes=number, class_names=names, grown_from=None)
        return own.with_classes_of(self).y

    def with_features(self, x: Tensor) -> "Graph":
        """The same graph with other features [n, p]."""
        return replace(self, x=x)

    def edge_homophily(self, keep_loops: bool = False) -> float:
        """alpha of section 4: share of edges that join equal labels; with `keep_loops` a loop is one agreeing edge."""
        row = np.repeat(np.arange(self.num_nodes), self.degree)
        y = self.y.numpy()
        same = int(np.sum(y[row] == y[self.indices])) / 2
        loops = int(self.loops.sum()) if keep_loops else 0
        return (same + loops) / max(self.num_edges + loops, 1)

    def node_homophily(self) -> float:
        """Mean, over nodes that have any, of the share of same-label neighbours; a self-loop is a neighbour."""
        row = np.repeat(np.arange(self.num_nodes), self.degree)
        y = self.y.numpy()
        same = np.bincount(row, weights=y[row] == y[self.indices], minlength=self.num_nodes) + self.loops
        count = self.degree + self.loops
        return float(np.mean(same[count > 0] / count[count > 0])) if count.any() else 0.0

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}, num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
            f"num_features={self.num_features}, num_classes={self.num_classes})"
        )


@dataclass(frozen=True, eq=False)
class Split:
    """Named index fields, so that validation and test cannot be swapped; refuses overlap and emptiness.

    Args:
        train, val, test: node indices, int64, sorted. Only `test` may be empty (a user's graph may have none).
        name: which kind of split, e.g. "per-class-60-20-20".
        index: which of the split's repetitions.
    """

    train: Tensor
    val: Tensor
    test: Tensor
    name: str
    index: int = 0
    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for part in ("train", "val", "test"):
            nodes = torch.as_tensor(getattr(self, part), dtype=torch.int64).sort().values
            object.__setattr__(self, part, nodes)
            if len(nodes) == 0 and part != "test":
                raise InputError(f"The {part} part of split '{self.name}' is empty.")
            if len(torch.unique(nodes)) < len(nodes):
                raise InputError(f"The {part} part of split '{self.name}' lists a node twice.")
        for one, other in (("train", "val"), ("train", "test"), ("val", "test")):
            shared = np.intersect1d(getattr(self, one).numpy(), getattr(self, other).numpy())
            if len(shared):
                raise InputError(
                    f"Split '{self.name}': {len(shared)} nodes are in both {one} and {other} (first: {shared[0]})."
                )

    @classmethod
    def from_masks(cls, train: Tensor, val: Tensor, test: Tensor, name: str, index: int = 0) -> "Split":
        first, second, third = (torch.as_tensor(mask).nonzero().flatten() for mask in (train, val, test))
        return cls(first, second, third, name, index)

    @cached_property
    def hash(self) -> str:
        """sha256 over the three index lists: two results compare only when this agrees."""
        return content_hash(self.train.numpy(), self.val.numpy(), self.test.numpy())

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """The nodes of each part by its name."""
        return {part: getattr(self, part).numpy() for part in ("train", "val", "test")}

    def majority_share(self, y: Tensor) -> float:
        """Share of the test part that its most frequent class holds: what a constant guess scores."""
        if len(self.test) == 0:
            return float("nan")
        return float(torch.bincount(y[self.test]).max() / len(self.test))

    def check(self, graph: Graph) -> "Split":
        """Checks the split against a graph: indices in range, labels known; warns of a class that has no training node."""
        for part in ("train", "val", "test"):
            nodes = getattr(self, part)
            if len(nodes) and (nodes[-1] >= graph.num_nodes or nodes[0] < 0):
                raise InputError(
                    f"The {part} part of split '{self.name}' names node {int(nodes[-1])}, "
                    f"but the graph has {graph.num_nodes} nodes."
                )
            if bool((graph.y[nodes] < 0).any()):
                raise InputError(f"The {part} part of split '{self.name}' holds nodes without a label.")
        absent = sorted(set(range(graph.num_classes)) - set(graph.y[self.train].tolist()))
        if absent:
            more = f" and {len(absent) - 10} others" if len(absent) > 10 else ""
            warnings.warn(
                f"Split '{self.name}': no training node of class {absent[:10]}{more}.", stacklevel=2
            )
        return self


@one_sentence("The graph")
def structure(source: Any) -> Graph:
    """A `Graph`, or from a scipy adjacency or a networkx graph one without features: for parts that need edges alone.

    >>> structure(sp.csr_array(np.eye(3)[[1, 0, 2]])).degree
    array([1, 1, 0])
    """
    if isinstance(source, Graph):
        return source
    names = None
    if hasattr(source, "nodes") and hasattr(source, "adj") and not sp.issparse(source):  # networkx
        names = list(source.nodes)
        places = {name: place for place, name in enumerate(names)}
        pairs = [(places[one], places[other]) for one, other in source.edges()]
        number = len(names)
        row, col = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    elif sp.issparse(source) and len(source.shape) == 2:
        number, _ = source.shape
        row, col = checked_edges(source, number)
    else:
        raise InputError(
            f"A Graph, a scipy adjacency or a networkx graph is needed here, not {shown(source)}."
        )
    if number == 0:
        raise InputError("The graph has no nodes.")
    loops = np.zeros(number, dtype=bool)
    loops[row[row == col]] = True
    return Graph(
        torch.empty(number, 0),
        *_simple_csr(row, col, number),
        torch.full((number,), -1),
        0,
        loops,
        node_names=None if names is None or names == list(range(number)) else Names(names),
    )


def _edges_of(data: Any) -> Any:
    """`edge_index`, or PyG's transposed adjacency: direction does not matter here."""
    edges = getattr(data, "edge_index", None)
    if edges is not None:
        return edges
    adjacency = getattr(data, "adj_t", None)
    if isinstance(adjacency, Tensor) and adjacency.layout != torch.strided and adjacency.ndim == 2:
        return _scipy_of(adjacency, "adj_t")
    return adjacency


def _listed(nodes: Any) -> list[Any]:
    """The entries of a list, array, tensor or column of a table; a tuple among them stays one name."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(nodes, method):
            found = getattr(nodes, method)()
            return found if isinstance(found, list) else [found]
    return list(nodes)


def _as_indices(given: Any) -> Tensor:
    if isinstance(given, list) and all(isinstance(one, str) and one.isdecimal() for one in given):
        endless = next((one for one in given if len(one) > DIGITS), None)
        if endless is not None:
            raise InputError(f"There is no node with the number {shown(endless)}.")
        given = np.array([int(one) for one in given], dtype=np.int64)
    index = numbers("nodes", given)
    if index.is_floating_point() and bool((index != index.round()).any()):
        raise InputError(
            f"Nodes are given by whole numbers, not {float(index[index != index.round()][0]):g}."
        )
    return index.to(torch.int64).reshape(-1)


def checked_features(x: Any) -> Tensor:
    if hasattr(x, "to_torch_sparse_csr_tensor"):  # torch_sparse.SparseTensor, which PyG may hold
        x = x.to_torch_sparse_csr_tensor()
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = _scipy_of(x)
    if sp.issparse(x):
        tensor = _sparse_features(x)
    else:
        tensor = numbers("x", x)
    if tensor.ndim != 2:
        raise InputError(
            f"Field 'x' must have two dimensions [nodes, features], not shape {list(tensor.shape)}."
        )
    if tensor.shape[0] == 0:
        raise InputError("Field 'x' has no rows: the graph is empty.")
    if tensor.shape[1] == 0 and tensor.shape[0] > MOST_FEATURES:
        raise InputError(f"Field 'x' has {tensor.shape[0]} rows of no features.")
    if tensor.shape[1] > MOST_FEATURES:
        raise InputError(
            f"Field 'x' has {tensor.shape[1]} features per node; at most {MOST_FEATURES} are read."
        )
    if tensor.dtype != torch.float32:
        check_room("x", 4 * tensor.numel())
        tensor = tensor.to(dtype=torch.float32)
    values = tensor if tensor.layout == torch.strided else tensor.values()
    wrong = unfinite(values)
    if wrong is not None:
        if tensor.layout == torch.strided:
            node, column = divmod(wrong, tensor.shape[1])
            raise InputError(
                f"Field 'x' holds {tensor[node, column].item()} at node {node}, feature {column}."
            )
        raise InputError("Field 'x' holds NaN or infinite values.")
    return tensor.contiguous() if tensor.layout == torch.strided else tensor


def _scipy_of(x: Tensor, field: str = "x") -> Any:
    """A sparse tensor of torch in scipy's form, its indices unchecked."""
    if x.ndim != 2:
        raise InputError(
            f"Field '{field}' must have two dimensions [nodes, features], not shape {list(x.shape)}."
        )
    if x.is_complex():
        raise InputError(f"Field '{field}' holds complex numbers.")
    shape, x = tuple(x.shape), x.detach().cpu()
    if x.layout == torch.sparse_csr:
        return csr_of(field, x.values(), x.col_indices(), x.crow_indices(), shape)
    if x.layout == torch.sparse_csc:
        return csr_of(field, x.values(), x.row_indices(), x.ccol_indices(), shape[::-1]).T
    if x.layout == torch.sparse_coo:
        row, column = numbers(field, x._indices()).numpy()
        _check_places(field, row, column, shape)
        check_room(field, 8 * shape[0])
        values = numbers(field, x._values())
        if values.ndim != 1:
            raise InputError(f"Sparse field '{field}' must hold one number per place.")
        return sp.coo_array((values.numpy(), (row, column)), shape=shape)
    raise InputError(f"Field '{field}' has the layout {x.layout}; CSR, CSC, COO and dense are understood.")


def _check_places(field: str, row: np.ndarray, column: np.ndarray, shape: tuple[int, ...]) -> None:
    for part, size in ((row, shape[0]), (column, shape[1])):
        if len(part) and (part.min() < 0 or part.max() >= size):
            raise InputError(f"Sparse field '{field}' names a place outside its shape {list(shape)}.")


def _sparse_features(x: Any) -> Tensor:
    if np.dtype(x.dtype).kind not in "biuf":
        raise InputError(
            "Field 'x' holds complex numbers."
            if x.dtype.kind == "c"
            else f"Field 'x' must hold numbers, not {x.dtype}."
        )
    if len(x.shape) != 2:
        raise InputError(f"Field 'x' must have two dimensions [nodes, features], not shape {list(x.shape)}.")
    if x.format != "csr":
        check_foreign("x", x)
        x = sp.csr_array(x)
    x = csr_of("x", x.data, x.indices, x.indptr, x.shape)
    return torch.sparse_csr_tensor(
        torch.from_numpy(x.indptr.astype(np.int64)),
        torch.from_numpy(x.indices.astype(np.int64)),
        torch.from_numpy(x.data.astype(np.float32)),
        size=x.shape,
    )


def check_foreign(field: str, matrix: Any) -> None:
    """Checks the indices of a scipy matrix before scipy follows them."""
    if matrix.format in ("csr", "csc"):
        shape = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        csr_of(field, matrix.data, matrix.indices, matrix.indptr, shape)
    elif matrix.format == "coo":
        _check_places(field, matrix.row, matrix.col, matrix.shape)


def checked_edges(edges: Any, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    if hasattr(edges, "coo"):  # torch_sparse.SparseTensor
        row, col, _ = edges.coo()
        edges = torch.stack([row, col])
    if sp.issparse(edges):
        rows, *columns = edges.shape
        if columns != [rows]:
            raise InputError(f"The adjacency matrix is not square: shape {list(edges.shape)}.")
        if rows != num_nodes:
            raise InputError(f"The adjacency matrix has {rows} rows but 'x' has {num_nodes}.")
        check_foreign("edge_index", edges)
        coo = sp.coo_array(edges)
        kept = coo.data != 0
        return coo.row[kept].astype(np.int64), coo.col[kept].astype(np.int64)
    tensor = numbers("edge_index", edges)
    if tensor.layout != torch.strided or tensor.ndim != 2 or tensor.shape[0] != 2:
        raise InputError(f"Field 'edge_index' must have shape [2, edges], not {list(tensor.shape)}.")
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        if tensor.numel():
            raise InputError(f"Field 'edge_index' must hold integers, not {tensor.dtype}.")
        tensor = tensor.long()
    index = tensor.numpy().astype(np.int64)
    if index.size and (index.min() < 0 or index.max() >= num_nodes):
        wrong = index.min() if index.min() < 0 else index.max()
        raise InputError(f"Field 'edge_index' names node {wrong}, but the graph has {num_nodes} nodes.")
    return index[0], index[1]


def _simple_csr(row: np.ndarray, col: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    off = row != col
    row, col = np.concatenate([row[off], col[off]]), np.concatenate([col[off], row[off]])
    shape = (num_nodes, num_nodes)
    places = sp.coo_array((np.empty(len(row), dtype=np.int8), (row, col)), shape=shape)
    matrix = sp.csr_array(places)  # this merges repeated places and sorts them
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def _appended(graph: Graph, row: np.ndarray, col: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """CSR with more nodes, and edges that each have one of them: those come last in the rows of older nodes."""
    off = row != col
    row, col = np.concatenate([row[off], col[off]]), np.concatenate([col[off], row[off]])
    row, col = np.divmod(np.unique(row * number + col), number)
    older = int(np.searchsorted(row, graph.num_nodes))
    indptr = np.concatenate([graph.indptr, np.full(number - graph.num_nodes, graph.indptr[-1])])
    indptr[1:] += np.cumsum(np.bincount(row, minlength=number))
    indices = np.insert(graph.indices, graph.indptr[row[:older] + 1], col[:older].astype(np.int32))
    return indptr, np.concatenate([indices, col[older:].astype(np.int32)])


def _joined_components(older: Graph, graph: Graph) -> np.ndarray:
    """New nodes join the components of their neighbours, and these each other."""
    known, first = older.component, older.num_nodes
    neighbors = graph.indices[graph.indptr[first] :]
    own = np.repeat(np.arange(first, graph.num_nodes), np.diff(graph.indptr[first:]))
    free = int(known.max(initial=-1)) + 1
    labels = np.concatenate([known, np.arange(free, free + graph.num_nodes - first)])
    met, ends = np.unique([labels[own], labels[neighbors]], return_inverse=True)
    row, col = ends.reshape(2, -1)
    links = sp.coo_array((np.ones(len(row)), (row, col)), shape=(len(met), len(met)))
    group = csgraph.connected_components(links, directed=False)[1]
    names = np.arange(free + graph.num_nodes - first)
    smallest = np.full(len(met), len(names))
    np.minimum.at(smallest, group, met)
    names[met] = smallest[group]
    joined: np.ndarray = names[labels]
    return joined
