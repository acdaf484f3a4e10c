"""Graph and Split: exact values on tiny graphs, and every check of what is given."""

from typing import Any

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

from ansgt.coarsening import COARSENERS
from ansgt.errors import InputError
from ansgt.graph import Graph, Split, structure
from ansgt.heuristics import KNN, PPR, OneHop, TwoHop
from ansgt.sequences import Proximity

X = torch.eye(4)


def test_directed_duplicated_looped_edges_become_a_simple_graph() -> None:
    edges = torch.tensor([[0, 0, 1, 2, 2, 3], [1, 1, 0, 2, 3, 2]])
    graph = Graph.from_arrays(X, edges, [0, 0, 1, 1])
    assert graph.num_edges == 2
    assert graph.indptr.tolist() == [0, 1, 2, 3, 4]
    assert graph.indices.tolist() == [1, 0, 3, 2]
    assert graph.degree.tolist() == [1, 1, 1, 1]
    assert graph.loops.tolist() == [False, False, True, False]
    assert graph.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]


def test_homophily_by_hand() -> None:
    # edges 0-1 (same), 1-2 (different), loop at 2, node 3 isolated
    graph = Graph.from_arrays(X, torch.tensor([[0, 1, 2], [1, 2, 2]]), [0, 0, 1, 1])
    assert graph.edge_homophily() == 0.5
    assert graph.edge_homophily(keep_loops=True) == pytest.approx(2 / 3)
    assert graph.node_homophily() == pytest.approx((1 + 0.5 + 0.5) / 3)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40))
def test_same_as_pyg(num_nodes: int, pairs: list[tuple[int, int]]) -> None:
    pairs = [(a % num_nodes, b % num_nodes) for a, b in pairs]
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t()
    graph = Graph.from_arrays(torch.ones(num_nodes, 2), edges)
    expected, _ = remove_self_loops(coalesce(to_undirected(edges, num_nodes=num_nodes)))
    assert torch.equal(graph.edge_index, expected)
    assert (abs(graph.adj - graph.adj.T)).nnz == 0


def test_the_callers_data_is_never_changed() -> None:
    data = Data(
        x=torch.ones(3, 2, dtype=torch.float64),
        edge_index=torch.tensor([[0, 1], [1, 1]]),
        y=torch.tensor([0, 1, 0]),
    )
    before = {key: value.clone() for key, value in data.to_dict().items()}
    graph = Graph.from_data(data)
    graph.x.mul_(3)
    assert graph.data is data
    assert data.x.dtype == torch.float64
    assert all(torch.equal(before[key], value) for key, value in data.to_dict().items())


def test_sparse_features_stay_sparse() -> None:
    dense = np.array([[0.0, 2.0], [1.0, 0.0]])
    for x in (sp.csr_matrix(dense), torch.tensor(dense).to_sparse(), torch.tensor(dense).to_sparse_csr()):
        graph = Graph.from_arrays(x, torch.tensor([[0], [1]]))
        assert graph.x.layout == torch.sparse_csr
        assert np.array_equal(graph.features.toarray(), dense)


def test_scipy_adjacency_equals_edge_index() -> None:
    matrix = sp.coo_matrix(([1.0, 5.0, 0.0], ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    assert Graph.from_arrays(X, matrix).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_content_hash_sees_every_part() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    base = Graph.from_arrays(X, edges, [0, 1, 0, 1]).content_hash
    assert base == Graph.from_arrays(X.clone(), edges.flip(0), [0, 1, 0, 1]).content_hash
    others = [
        Graph.from_arrays(2 * X, edges, [0, 1, 0, 1]),
        Graph.from_arrays(X, edges[:, :1], [0, 1, 0, 1]),
        Graph.from_arrays(X, edges, [1, 0, 0, 1]),
    ]
    assert base not in {g.content_hash for g in others}


BAD = {
    "nan feature": (dict(x=[[1.0], [float("nan")]]), "'x' holds nan at node 1, feature 0"),
    "infinite feature": (dict(x=[[float("inf")], [0.0]]), "'x' holds inf"),
    "one-dimensional x": (dict(x=[1.0, 2.0]), "'x' must have two dimensions"),
    "no nodes": (dict(x=np.zeros((0, 3))), "empty"),
    "edge out of range": (dict(edges=[[0, 5], [1, 0]]), "names node 5, but the graph has 2"),
    "negative edge": (dict(edges=[[0, -1], [1, 0]]), "names node -1"),
    "edge shape": (dict(edges=[[0, 1]]), "shape [2, edges]"),
    "float edges": (dict(edges=[[0.0], [1.0]]), "must hold integers"),
    "non-square": (dict(edges=sp.csr_matrix(np.ones((2, 3)))), "not square"),
    "adjacency of another size": (dict(edges=sp.eye(3)), "3 rows but 'x' has 2"),
    "several labels a node": (dict(y=[[0, 1], [1, 1]]), "one class"),
    "negative label": (dict(y=[0, -2]), "label -2"),
    "fractional label": (dict(y=[0.5, 1.0]), "cut it into classes first (pandas.cut)"),
    "too few labels": (dict(y=[0]), "'y' must have shape [2]"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case: str) -> None:
    changes, message = BAD[case]
    values = {"x": [[1.0], [2.0]], "edges": [[0], [1]], "y": [0, 1]} | changes
    with pytest.raises(InputError) as caught:
        Graph.from_arrays(values["x"], values["edges"], values["y"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_fields_are_named() -> None:
    with pytest.raises(InputError, match="'x' is missing"):
        Graph.from_data(Data(edge_index=torch.zeros(2, 0, dtype=torch.int64)))
    with pytest.raises(InputError, match="'edge_index' is missing"):
        Graph.from_data(Data(x=torch.ones(2, 2)))


def test_split_refuses_overlap_emptiness_and_repeats() -> None:
    with pytest.raises(InputError, match="both train and val"):
        Split(torch.tensor([0, 1]), torch.tensor([1]), torch.tensor([2]), "s")
    with pytest.raises(InputError, match="both val and test"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([1]), "s")
    with pytest.raises(InputError, match="val part of split 's' is empty"):
        Split(torch.tensor([0]), torch.tensor([]), torch.tensor([1]), "s")
    with pytest.raises(InputError, match="twice"):
        Split(torch.tensor([0, 0]), torch.tensor([1]), torch.tensor([2]), "s")


def test_split_checks_against_a_graph() -> None:
    graph = Graph.from_arrays(X, torch.tensor([[0], [1]]), [0, 1, 0, -1])
    with pytest.raises(InputError, match="names node 9"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([9]), "s").check(graph)
    with pytest.raises(InputError, match="without a label"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([3]), "s").check(graph)
    with pytest.warns(UserWarning, match=r"no training node of class \[1\]"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), "s").check(graph)


def test_of_many_classes_without_training_nodes_ten_are_named() -> None:
    graph = Graph.from_arrays(torch.eye(13), torch.tensor([[0], [1]]), list(range(13)))
    with pytest.warns(UserWarning, match=r"of class \[1, 2, 3, 4, 5, 6, 7, 8, 9, 10\] and 2 others"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), "s").check(graph)


@pytest.mark.parametrize("place", [[-1, 0], [4, 0], [0, -1], [0, 3]])
def test_sparse_features_outside_their_shape_are_refused(place: list[int]) -> None:
    indices = torch.tensor([[0, place[0]], [1, place[1]]])
    x = torch.sparse_coo_tensor(indices, torch.ones(2), (4, 3), check_invariants=False)
    with pytest.raises(InputError, match=r"names a place outside its shape \[4, 3\]"):
        Graph.from_arrays(x, torch.tensor([[0], [1]]), [0, 1, 0, 1])


def test_split_hash_and_majority_share() -> None:
    one = Split(torch.tensor([1, 0]), torch.tensor([2]), torch.tensor([3, 4]), "a")
    same = Split(torch.tensor([0, 1]), torch.tensor([2]), torch.tensor([4, 3]), "b")
    swapped = Split(torch.tensor([0, 1]), torch.tensor([3, 4]), torch.tensor([2]), "a")
    assert one.hash == same.hash != swapped.hash
    assert one.majority_share(torch.tensor([0, 0, 0, 1, 1])) == 1.0


def test_names_come_from_the_data_and_nodes_are_found_by_them() -> None:
    data = Data(
        x=X, edge_index=torch.tensor([[0, 1], [1, 2]]), y=["b", "a", None, "b"], node_names=list("wxyz")
    )
    graph = Graph.from_data(data)
    assert (graph.y.tolist(), graph.num_classes, graph.classes.tolist()) == ([1, 0, -1, 1], 2, ["a", "b"])
    assert graph.find(["z", "w"]).tolist() == [3, 0]
    assert graph.find(np.array([True, False, False, True])).tolist() == [0, 3]
    assert (graph.place("y"), graph.node_name(2), graph.class_name(-1)) == (2, "y", None)
    with pytest.raises(InputError, match="no node named 'v' among 4"):
        graph.find(["v"])
    with pytest.raises(InputError, match="one name per node"):
        Graph.from_data(Data(x=X, edge_index=data.edge_index, node_names=["a"]))


def test_nodes_without_names_are_found_by_number() -> None:
    graph = Graph.from_arrays(X, [[0], [1]], [0, 1, 2, 3])
    assert graph.find(None).tolist() == [0, 1, 2, 3]
    assert graph.find(torch.tensor([3, 1])).tolist() == graph.find(["3", "1"]).tolist() == [3, 1]
    assert graph.find(2).tolist() == [2]
    for wrong in ([4], [-1], [0.5], [True], ["9" * 20], ["9" * 5000]):
        with pytest.raises(InputError):
            graph.find(wrong)


def test_classes_of_a_file_may_lack_nodes() -> None:
    data = Data(x=X, edge_index=[[0], [1]], y=[2, 0, -1, 2], class_names=["a", "b", "c"])
    graph = Graph.from_data(data)
    assert (graph.num_classes, graph.y.tolist()) == (3, [2, 0, -1, 2])
    with pytest.raises(InputError, match=r"numbers 0\.\.1 of the 2 'class_names'"):
        Graph.from_data(Data(x=X, edge_index=[[0], [1]], y=[2, 0, -1, 2], class_names=["a", "b"]))


def test_labels_in_the_classes_of_another_graph() -> None:
    own = Graph.from_arrays(X, [[0], [1]], ["a", "b", "c", "a"])
    other = Graph.from_arrays(X, [[0], [1]], ["c", None, "d", "a"]).with_classes_of(own)
    assert other.y.tolist() == [2, -1, -1, 0]
    assert other.num_classes == 3
    bare = Graph.from_arrays(X, [[0], [1]]).with_classes_of(own)
    assert (bare.y.tolist(), bare.classes.tolist()) == ([-1] * 4, ["a", "b", "c"])


def test_pygs_transposed_adjacency() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    adjacency = torch.sparse_coo_tensor(edges.flip(0), torch.ones(2), (4, 4)).to_sparse_csr()
    graph = Graph.from_data(Data(x=X, adj_t=adjacency))
    assert torch.equal(graph.edge_index, Graph.from_arrays(X, edges).edge_index)


@pytest.mark.parametrize("kind", ["scipy", "networkx", "networkx by name"])
def test_parts_that_need_structure_alone_take_other_graphs(kind: str) -> None:
    """Coarseners, 1-hop, 2-hop, PPR and proximities say of an adjacency what they say of a Graph."""
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 40, (2, 120))
    graph = Graph.from_arrays(rng.normal(size=(40, 3)), edges)
    network = networkx.Graph(list(edges.T.tolist()))
    network.add_nodes_from(range(40))
    ordered = networkx.Graph()
    ordered.add_nodes_from(range(40))
    ordered.add_edges_from(network.edges)
    other: Any = {
        "scipy": graph.adj,
        "networkx": ordered,
        "networkx by name": networkx.relabel_nodes(ordered, {node: f"n{node}" for node in range(40)}),
    }[kind]
    assert structure(other).node_name(3) == ("n3" if "name" in kind else 3)
    nodes = np.arange(40)
    for heuristic in (OneHop, TwoHop, PPR):
        expected = heuristic().fit(graph).rows(nodes).toarray()
        assert np.array_equal(heuristic().fit(other).rows(nodes).toarray(), expected)
    with pytest.raises(InputError, match="KNN compares features: give it a Graph"):
        KNN().fit(other)
    for method in COARSENERS.values():
        coarse = method(rate=0.3).fit(other)
        assert np.array_equal(coarse.assignment, method(rate=0.3).fit(graph).assignment)
    pairs = torch.arange(40)[None], torch.ones(1, 40, dtype=torch.bool)
    assert torch.equal(Proximity(3).fit(other).pairs(*pairs), Proximity(3).fit(graph).pairs(*pairs))


def test_what_is_no_structure() -> None:
    for wrong in (np.eye(3), 7, {"a": [1]}):
        with pytest.raises(InputError, match="A Graph, a scipy adjacency or a networkx graph is needed here"):
            structure(wrong)
    with pytest.raises(InputError, match="no nodes"):
        structure(networkx.Graph())
    with pytest.raises(InputError, match="not square"):
        structure(sp.csr_array((2, 3)))
