"""Every row of the table of inputs works, or gives one sentence that names the remedy."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData

import ansgt
from ansgt.datasets import as_graph, load
from ansgt.errors import InputError
from ansgt.graph import Graph

NUM = 12
RING = torch.stack([torch.arange(NUM), (torch.arange(NUM) + 1) % NUM])
BOTH = torch.cat([RING, RING.flip(0)], dim=1)
NAMES = [f"n{i}" for i in range(NUM)]
PETS: list[Any] = (["cat", "dog", None] * 4)[:NUM]
SIZE = [float(i) for i in range(NUM)]
X = torch.arange(2.0 * NUM).reshape(NUM, 2)
EDGES = {"source": [NAMES[i] for i in RING[0]], "target": [NAMES[i] for i in RING[1]]}
FEATURES = {"node": NAMES, "size": SIZE, "kind": ["x", "y"] * (NUM // 2)}
LABELS = {"node": NAMES, "label": PETS}


class DGLLike:
    """What of a DGL graph is looked at."""

    ntypes = ("_N",)

    def __init__(self, **fields: Any) -> None:
        self.ndata, self.edata = fields, {}

    def edges(self) -> tuple[torch.Tensor, torch.Tensor]:
        return BOTH[0], BOTH[1]

    def num_nodes(self) -> int:
        return NUM


def network() -> Any:
    graph = networkx.cycle_graph(NUM)
    for node in graph:
        graph.nodes[node].update(size=SIZE[node], kind=FEATURES["kind"][node])
        if PETS[node]:
            graph.nodes[node]["label"] = PETS[node]
    return networkx.relabel_nodes(graph, dict(enumerate(NAMES)))


def adjacency() -> sp.csr_array:
    return sp.csr_array((np.ones(2 * NUM), tuple(BOTH.numpy())), shape=(NUM, NUM))


SOURCES: dict[str, Any] = {
    "pandas": lambda _: tuple(pd.DataFrame(one) for one in (EDGES, FEATURES, LABELS)),
    "polars": lambda _: tuple(pl.DataFrame(one) for one in (EDGES, FEATURES, LABELS)),
    "arrow": lambda _: tuple(pa.table(one) for one in (EDGES, FEATURES, LABELS)),
    "dict of tables": lambda _: {"edges": EDGES, "features": FEATURES, "labels": LABELS},
    "from_edges": lambda _: ansgt.from_edges(EDGES, FEATURES, LABELS),
    "networkx": lambda _: network(),
    "from_networkx": lambda _: ansgt.from_networkx(network()),
    "graphml": lambda folder: (networkx.write_graphml(network(), folder / "g.graphml"), folder / "g.graphml")[
        1
    ],
    "scipy": lambda _: ansgt.from_scipy(adjacency(), X, PETS, names=NAMES),
    "data with string labels": lambda _: Data(x=X, edge_index=BOTH, y=PETS, node_names=NAMES),
    "adj_t": lambda _: Data(
        x=X, adj_t=torch.sparse_coo_tensor(BOTH, torch.ones(2 * NUM)), y=PETS, node_names=NAMES
    ),
    "adj_t, csr": lambda _: Data(
        x=X,
        adj_t=torch.sparse_coo_tensor(BOTH, torch.ones(2 * NUM)).to_sparse_csr(),
        y=PETS,
        node_names=NAMES,
    ),
    "dgl-like": lambda _: DGLLike(feat=X, label=torch.tensor([0, 1, -1] * 4)),
    "dict": lambda _: {"x": X.numpy(), "edge_index": BOTH.numpy(), "y": PETS},
    "graph": lambda _: Graph.from_data(ansgt.from_edges(EDGES, FEATURES, LABELS)),
    "folder": lambda folder: folder_of_tables(folder),
    "two files": lambda folder: ",".join(
        str(folder_of_tables(folder) / name) for name in ("edges.csv", "features.csv", "labels.csv")
    ),
}


def folder_of_tables(folder: Path) -> Path:
    for name, table in (("edges", EDGES), ("features", FEATURES), ("labels", LABELS)):
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.mark.parametrize("case", SOURCES)
def test_the_same_graph_whatever_holds_it(case: str, tmp_path: Path) -> None:
    source = SOURCES[case](tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "Sparse .* support is in beta")
        graph, _ = as_graph(source)
    assert (graph.num_nodes, graph.num_edges, graph.num_classes) == (NUM, NUM, 2)
    assert graph.y.tolist() == [0, 1, -1] * 4
    named = case not in ("dgl-like", "dict")
    if case != "dgl-like":
        assert graph.classes.tolist() == ["cat", "dog"]
    places = [graph.place(NAMES[i] if named else i) for i in range(NUM)]
    assert sorted(graph.indices[graph.indptr[places[3]] : graph.indptr[places[3] + 1]]) == sorted(
        (places[2], places[4])
    )


@pytest.mark.parametrize("case", ["pandas", "networkx", "scipy", "dict", "graph", "folder"])
def test_fit_predict_and_score_take_it(case: str, tmp_path: Path) -> None:
    source = SOURCES[case](tmp_path)
    clf = ansgt.NodeClassifier("mlp", epochs=2, device="cpu").fit(source)
    assert clf.classes_.tolist() == ["cat", "dog"]
    there = clf.predict_proba(source)
    assert there.shape == (NUM, 2)
    assert np.allclose(there, clf.predict_proba(), atol=1e-6)


class Hostile:
    """Looks like a graph, and raises."""

    @property
    def edge_index(self) -> Any:
        raise RuntimeError("no")


def foreign(matrix: Any) -> Any:
    matrix.indices[0] = 9
    return matrix


SENTENCES: dict[str, tuple[Any, str]] = {
    "HeteroData": (HeteroData(), r"several kinds of nodes .*data\.to_homogeneous\(\)"),
    "a DGL graph of several kinds": (
        SimpleNamespace(ntypes=("a", "b"), ndata={}, edges=None),
        r"dgl\.to_homogeneous\(graph\)",
    ),
    "one table": (pd.DataFrame(EDGES), "One table alone is no graph"),
    "a list": ([(1, 2)], "One table alone is no graph"),
    "a number": (3, "A graph is a PyG Data"),
    "a dict of anything": ({"nodes": 3}, "A dict holds x, edge_index and y"),
    "an empty dict": ({}, "this one has nothing"),
    "a dict of tables with more": ({"edges": EDGES, "weights": 3}, "not 'weights'"),
    "a misspelt mask": (
        {"x": X, "edge_index": BOTH, "y": PETS, "train_masks": 1},
        "did you mean 'train_mask'",
    ),
    "quantities": ({"x": X, "edge_index": BOTH, "y": np.linspace(0, 1, NUM)}, r"regression is not supported"),
    "several labels per node": (
        {"x": X, "edge_index": BOTH, "y": np.eye(NUM)},
        "Fit one classifier per column",
    ),
    "a matrix that is not square": (sp.csr_array((3, 4)), "square scipy matrix"),
    "a matrix with foreign places": (foreign(sp.csr_array(np.eye(3))), "adjacency.* names column 9"),
    "a matrix larger than memory": (sp.coo_array((2**40, 2**40)), "Field 'adjacency' needs"),
    "a number as a key": ({"edge_index": BOTH, 3: 1}, "names for keys, not 3"),
    "what raises when it is looked at": (Hostile(), "The graph cannot be read: no"),
    "labels larger than any number": ({"x": X, "edge_index": BOTH, "y": [10**500] * NUM}, "Field 'y' cannot"),
    "no such file": ("nowhere.graphml", r"nowhere\.graphml does not exist"),
    "too many tables": ("a.csv,b.csv,c.csv,d.csv", "EDGES,FEATURES,LABELS"),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_one_sentence_that_names_the_remedy(case: str) -> None:
    source, message = SENTENCES[case]
    with pytest.raises(InputError, match=message) as caught:
        as_graph(source)
    assert "\n" not in str(caught.value)


DROPPED: dict[str, tuple[Any, str]] = {
    "weights and direction": (sp.csr_array(([2.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3)), "weights, direction"),
    "edge attributes": (Data(x=X, edge_index=BOTH, edge_attr=torch.ones(2 * NUM, 3), edge_weight=torch.ones(2 * NUM)),
                        "edge_weight, edge_attr"),
    "direction": (Data(x=X, edge_index=RING), "direction"),
    "a directed network": (networkx.DiGraph([(0, 1, {"weight": 3})]), "direction, weight"),
    "dgl": (DGLLike(feat=X), ""),
}  # fmt: skip


@pytest.mark.parametrize("case", DROPPED)
def test_what_is_dropped_is_named_in_one_warning(case: str) -> None:
    source, names = DROPPED[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        as_graph(source)
    said = [str(one.message) for one in caught if "Left out of the edges" in str(one.message)]
    assert [one.partition(": ")[2].partition(";")[0] for one in said] == ([names] if names else [])


@pytest.mark.parametrize(
    "source",
    [
        Data(edge_index=BOTH, y=torch.arange(NUM) % 2),
        Data(edge_index=BOTH, x=torch.zeros(NUM, 0)),
        adjacency(),
        {"edge_index": BOTH.numpy()},
        DGLLike(),
        networkx.cycle_graph(NUM),
    ],
    ids=lambda source: type(source).__name__,
)
def test_no_features_get_the_substitute(source: Any) -> None:
    with pytest.warns(UserWarning, match="no features: 14 columns of degree and 256 of links"):
        graph, _ = as_graph(source)
    assert graph.x.shape == (NUM, 270)


def test_the_callers_data_stay_as_they_are() -> None:
    data = Data(edge_index=BOTH, y=torch.arange(NUM) % 2)
    with pytest.warns(UserWarning, match="no features"):
        as_graph(data)
    assert data.x is None


def test_a_later_table_becomes_the_same_features() -> None:
    clf = ansgt.NodeClassifier("mlp", epochs=2, device="cpu").fit((EDGES, FEATURES, LABELS))
    later = {"node": ["new", *NAMES[:3]], "size": [100.0, *SIZE[:3]], "kind": ["z", *FEATURES["kind"][:3]]}
    edges = {"source": ["new", *NAMES[:2]], "target": ["n0", *NAMES[1:3]]}
    for source in ((edges, later), ansgt.from_edges(edges, later)):
        graph, _ = as_graph(source, clf.graph_)
        assert torch.equal(graph.x[1:], clf.graph_.x[:3])
        assert graph.x[0].tolist() == pytest.approx([(100 - np.mean(SIZE)) / np.std(SIZE), 0, 0])
    assert np.allclose(
        clf.predict_proba((edges, later), nodes=["n1"]), clf.predict_proba(nodes=["n1"]), atol=1e-6
    )
    assert clf.predict((edges, later), nodes=["new"])[0] in ("cat", "dog")


def test_the_plan_is_stored_with_the_classifier(tmp_path: Path) -> None:
    clf = ansgt.NodeClassifier("mlp", epochs=1, device="cpu").fit((EDGES, FEATURES, LABELS))
    clf.save(tmp_path / "m")
    loaded = ansgt.NodeClassifier.load(tmp_path / "m", device="cpu")
    assert loaded.graph_.columns == clf.graph_.columns
    assert np.allclose(loaded.predict_proba((EDGES, FEATURES)), clf.predict_proba(), atol=1e-6)


def test_graphs_on_disk_are_data_sets(tmp_path: Path) -> None:
    folder = folder_of_tables(tmp_path)
    networkx.write_graphml(network(), folder / "g.graphml")
    for name in (
        str(folder),
        f"{folder}/edges.csv,{folder}/features.csv,{folder}/labels.csv",
        f"{folder}/g.graphml",
    ):
        dataset = load(name)
        assert dataset.graph.num_classes == 2
        assert dataset.default_split == "uniform-60-20-20"


def test_names_that_are_no_list() -> None:
    with pytest.raises(InputError, match="Field 'names' must be a list of names, not 3"):
        ansgt.from_scipy(sp.csr_array(np.eye(3)), names=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="features must be a list of attributes' names, not 'size'"):
        ansgt.from_networkx(networkx.path_graph(3), features="size")


def test_a_strangers_field_columns_is_no_plan() -> None:
    graph, _ = as_graph(Data(x=X, edge_index=BOTH, columns=["width", "height"]))
    assert graph.columns is None
