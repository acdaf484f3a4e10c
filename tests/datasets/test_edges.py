"""`from_edges`: names, features, labels and parts from tables."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

import ansgt
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.names import Names

EDGES = {"source": ["ada", "bob", "eve", "ada"], "target": ["bob", "eve", "ada", "bob"]}
FEATURES = {"node": ["eve", "ada", "bob"], "age": [1.0, 2.0, 3.0]}
LABELS = {"node": ["ada", "eve"], "label": ["dog", "cat"]}


def names_of(data: Any) -> set[tuple[Any, Any]]:
    """The edges by names."""
    names = data.node_names.values if "node_names" in data else list(range(data.num_nodes))
    return {(names[a], names[b]) for a, b in data.edge_index.T.tolist()}


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_three_tables(kind: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        data = ansgt.from_edges(kind(EDGES), kind(FEATURES), kind(LABELS))
    assert data.node_names.values == ["eve", "ada", "bob"]
    one_way = {("ada", "bob"), ("bob", "eve"), ("eve", "ada")}
    assert names_of(data) == one_way | {(b, a) for a, b in one_way}
    assert data.edge_index.shape == (2, 6)
    assert data.y.tolist() == [0, 1, -1]
    assert data.class_names.values == ["cat", "dog"]
    assert torch.allclose(data.x[:, 0], torch.tensor([-1.0, 0.0, 1.0]) * 1.5**0.5)
    graph = Graph.from_data(data)
    assert graph.columns == data.table.plan
    assert graph.classes.tolist() == ["cat", "dog"]


LABELLED: dict[str, tuple[Any, Any]] = {
    "a dict": (FEATURES, {"ada": "dog", "eve": "cat"}),
    "a series by name": (FEATURES, pd.Series(["dog", "cat"], index=["ada", "eve"])),
    "a column by name": ({**FEATURES, "pet": ["cat", "dog", None]}, "pet"),
    "a column called label": ({**FEATURES, "label": ["cat", "dog", ""]}, None),
    "one per row": (FEATURES, ["cat", "dog", None]),
    "a series by row": (pd.DataFrame(FEATURES), pd.Series(["cat", "dog", float("nan")])),
    "another column": (FEATURES, {"id": ["ada", "eve"], "pet": ["dog", "cat"]}),
}


@pytest.mark.parametrize("case", LABELLED)
def test_where_labels_come_from(case: str) -> None:
    features, labels = LABELLED[case]
    data = ansgt.from_edges(EDGES, features, labels)
    assert data.y.tolist() == [0, 1, -1]
    assert data.class_names.values == ["cat", "dog"]
    assert data.x.shape == (3, 1)


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        ([3, 9, -1], [0, 1, -1], [3, 9]),
        ([0.0, 1.0, float("nan")], [0, 1, -1], None),
        ([True, False, None], [1, 0, -1], [False, True]),
        ([pd.NA, "b", "a"], [-1, 1, 0], ["a", "b"]),
    ],
)
def test_labels_of_every_kind(labels: list[Any], codes: list[int], classes: list[Any] | None) -> None:
    data = ansgt.from_edges(EDGES, FEATURES, labels)
    assert data.y.tolist() == codes
    assert getattr(data, "class_names", None) == (None if classes is None else Names(classes))


def test_parts_become_masks() -> None:
    data = ansgt.from_edges(EDGES, {**FEATURES, "split": ["Train", "valid", "test"], "label": [0, 1, 0]})
    for at, part in enumerate(("train", "val", "test")):
        assert data[f"{part}_mask"].nonzero().flatten().tolist() == [at]
    assert data.x.shape == (3, 1)


def test_nodes_without_a_row_and_labels_without_a_node() -> None:
    with pytest.warns(UserWarning, match="1 nodes of the edges have no row of features.*'zoe'"):
        data = ansgt.from_edges([*zip(*EDGES.values(), strict=True), ("zoe", "ada")], FEATURES)
    assert data.node_names.values[-1] == "zoe"
    assert data.x[-1].tolist() == [0.0, 1.0]  # the median, standardised; and that it is absent
    with pytest.warns(UserWarning, match="1 labels are of nodes without edges and features.*'max'"):
        assert ansgt.from_edges(EDGES, FEATURES, {"max": 1, "ada": 0}).y.tolist() == [-1, 0, -1]


def test_no_features_are_replaced_by_degree_and_links() -> None:
    with pytest.warns(
        UserWarning, match=r"no features: 14 columns of degree and 256 of links stand in"
    ) as caught:
        data = ansgt.from_edges([("a", "b"), ("a", "c"), ("a", "a")])
    assert len([one for one in caught if one.category is UserWarning]) == 1
    assert data.node_names.values == ["a", "b", "c"]
    x = data.x.to_dense()
    assert x[0, :3].tolist() == [1.0, 1.0, 0.0]
    assert x[1, :3].tolist() == [1.0, 0.0, 0.0]
    assert torch.equal(x[1], x[2])  # linked to the same node
    assert x[0, 14:].square().sum() == pytest.approx(1.0)
    with pytest.warns(UserWarning, match="no features"):
        grown = ansgt.from_edges([("a", "b"), ("a", "c"), ("z", "a")])
    assert torch.equal(grown.x.to_dense()[3], x[1])  # a later node with the same link has the same columns


def test_names_of_other_kinds() -> None:
    data = ansgt.from_edges([(1, 2), (2, 30)], {"node": ["1", "2", "30"], "size": [1, 2, 3]})
    assert data.node_names.values == ["1", "2", "30"]
    data = ansgt.from_edges({"u": [1.0, 2.0], "v": [2.0, 30.0]}, {"node": [30, 2, 1], "size": [1, 2, 3]})
    assert data.node_names.values == [30, 2, 1]
    assert names_of(data) == {(1, 2), (2, 1), (2, 30), (30, 2)}
    data = ansgt.from_edges([(("a", 1), ("b", 2))], {"node": [("a", 1), ("b", 2)], "size": [1, 2]})
    assert data.node_names.values == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor, sp.csr_array, pd.DataFrame])
def test_rows_that_are_nodes(kind: Any) -> None:
    x = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 6.0]])
    data = ansgt.from_edges(np.array([[0, 1], [1, 2]]), kind(x), [0, 1, 0])
    assert "node_names" not in data
    assert Graph.from_data(data).x.shape == (3, 2)
    assert data.y.tolist() == [0, 1, 0]
    with pytest.raises(InputError, match=r"names the nodes|nodes 0\.\.2, but an edge names 3"):
        ansgt.from_edges([(0, 3)], kind(x))


def test_an_edge_index_is_pairs_the_other_way() -> None:
    features = {"node": [0, 1, 2], "size": [1, 2, 3]}
    pairs = ansgt.from_edges([(0, 1), (1, 2), (2, 0)], features)
    index = ansgt.from_edges(torch.tensor([[0, 1, 2], [1, 2, 0]]), features)
    assert torch.equal(pairs.edge_index, index.edge_index)


def test_columns_of_edges_that_are_not_used_are_named_once() -> None:
    table = pd.DataFrame({**EDGES, "weight": 1.0, "since": 2020})
    with pytest.warns(UserWarning, match="Left out of the edges: weight, since") as caught:
        data = ansgt.from_edges(table[table["weight"] > 0], FEATURES)
    assert len([one for one in caught if one.category is UserWarning]) == 1
    renamed = {"who": EDGES["source"], "n": [1, 2, 3, 4], "whom": EDGES["target"]}
    with pytest.warns(UserWarning, match="Left out of the edges: n;"):
        other = ansgt.from_edges(renamed, FEATURES, source="who", target="whom")
    assert torch.equal(other.edge_index, data.edge_index)


BAD: dict[str, tuple[Any, Any, Any, str]] = {
    "one column": ({"a": [1]}, None, None, "needs two columns"),
    "a missing end": (
        {"source": ["a", None], "target": ["b", "c"]},
        None,
        None,
        "Row 1 of the table of edges has no node in",
    ),
    "triples": ([(1, 2, 3)], None, None, "Edges are pairs of nodes"),
    "texts": (["ab", "bc"], None, None, "Edges are pairs of nodes"),
    "no names": (EDGES, {"age": [1]}, None, "Which column of the table of features names the nodes"),
    "a missing name": (
        EDGES,
        {"node": [None], "age": [1]},
        None,
        "Row 0 of the table of features has no name",
    ),
    "a list as a name": (EDGES, {"node": [["a"]], "age": [1]}, None, "Row 0 .* names a node by a list"),
    "a list as an end": (
        {"source": [1, [2]], "target": [1, 2]},
        None,
        None,
        "Row 1 .* names a node by a list",
    ),
    "five hundred digits": (
        EDGES,
        {"node": ["ada", "bob"], "age": [10**500, 1]},
        None,
        "The column 'age' of features cannot be read",
    ),
    "a row twice": (EDGES, {"node": ["a", "a"], "age": [1, 2]}, None, "several rows for one node: 'a'"),
    "labels of nobody": (EDGES, None, [1, 2], "whose are they"),
    "too few labels": (EDGES, FEATURES, [1, 2], "A list of 2 labels with 3 rows of features"),
    "several columns of labels": (
        EDGES,
        FEATURES,
        {"id": ["ada"], "a": [1], "b": [2]},
        "holds the labels 'label'",
    ),
    "no such column": (EDGES, FEATURES, "pet", "has no column 'pet'"),
    "quantities": (EDGES, FEATURES, [0.5, 1.5, 2.5], "regression is not supported"),
    "text alone": (
        EDGES,
        {"node": ["ada", "bob", "eve"], "bio": ["x y", "y z", "z x"]},
        None,
        "No column .* can be used",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", BAD)
def test_one_sentence(case: str) -> None:
    edges, features, labels, message = BAD[case]
    with pytest.raises(InputError, match=message) as caught:
        ansgt.from_edges(edges, features, labels)
    assert "\n" not in str(caught.value)


def test_files(tmp_path: Path) -> None:
    pd.DataFrame(EDGES).to_csv(tmp_path / "edges.csv", index=False)
    pd.DataFrame(FEATURES).to_parquet(tmp_path / "features.parquet")
    (tmp_path / "labels.csv").write_text("node,label\nada,dog\neve,cat\nbob,\n")
    paths = [tmp_path / name for name in ("edges.csv", "features.parquet", "labels.csv")]
    data = ansgt.from_edges(*paths)
    expected = ansgt.from_edges(EDGES, FEATURES, LABELS)
    assert torch.equal(data.x, expected.x)
    assert torch.equal(data.y, expected.y)
    assert data.class_names == expected.class_names
