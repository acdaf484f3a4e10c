"""Graph and Split: exact values on tiny graphs, and every check of what is given."""

from types import SimpleNamespace
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
from ansgt.names import Names
from ansgt.sequences import Proximity

X = torch.eye(4)


def test_directed_duplicated_looped_edges_become_a_simple_graph() -> None:
    edges = torch.tensor([[0, 0, 1, 2, 2, 3], [1, 1, 0, 2, 3, 2]])
    graph = Graph.from_arrays(X, edges, [0, 0, 1, 1])
    assert (graph.num_edges, graph.num_features) == (2, 4)
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
    path = Graph.from_arrays(X, torch.tensor([[0, 1, 2], [1, 2, 3]]), [0, 0, 0, 1])
    assert (path.edge_homophily(), path.edge_homophily(keep_loops=True)) == pytest.approx((2 / 3, 2 / 3))
    assert path.node_homophily() == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    pair, bare = (Graph.from_arrays(X, edges, [0] * 4) for edges in ([[0], [1]], [[], []]))
    assert (pair.edge_homophily(), pair.node_homophily()) == (1, 1)
    assert (bare.edge_homophily(), bare.node_homophily()) == (0, 0)


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
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    tensor = torch.tensor(dense)
    ours = [tensor.to_sparse(), tensor.to_sparse_csr(), tensor.to_sparse_csc()]
    for x in (sp.csr_matrix(dense), sp.csc_array(dense), sp.coo_array(dense), sp.lil_array(dense), *ours):
        graph = Graph.from_arrays(x, torch.tensor([[0], [1]]))
        assert graph.x.layout == torch.sparse_csr
        assert np.array_equal(graph.features.toarray(), dense)


def test_scipy_adjacency_equals_edge_index() -> None:
    matrix = sp.coo_matrix(([1.0, 5.0, 0.0], ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    assert Graph.from_arrays(X, matrix).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


class TorchSparse:
    """What a `torch_sparse.SparseTensor` shows of itself."""

    def coo(self) -> tuple[torch.Tensor, torch.Tensor, None]:
        return torch.tensor([0, 2]), torch.tensor([1, 1]), None


def test_edges_of_torch_sparse() -> None:
    assert Graph.from_arrays(X, TorchSparse()).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("field", ["x", "edge_index"])
@pytest.mark.parametrize("place", [-1, 4])
def test_a_damaged_matrix_of_scipy_is_refused(form: str, field: str, place: int) -> None:
    matrix = sp.coo_array((np.ones(2), ([0, 3], [3, 0])), shape=(4, 4)).asformat(form)
    x, edges = (matrix, [[0], [1]]) if field == "x" else (X, matrix)
    assert Graph.from_arrays(x, edges).num_nodes == 4
    for places in [matrix.indices] if form != "coo" else matrix.coords:
        kept, places[1] = places[1], place
        with pytest.raises(InputError, match=f"'{field}"):
            Graph.from_arrays(x, edges)
        places[1] = kept


def test_more_than_there_is_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.arrays.available_bytes", lambda device: 32)
    assert Graph.from_arrays(torch.ones(2, 4).double(), [[0], [1]]).num_features == 4
    with pytest.raises(InputError, match="'x' needs"):
        Graph.from_arrays(torch.ones(3, 3).double(), [[0], [1]])
    assert Graph.from_arrays(torch.eye(4, 1).to_sparse(), [[0], [1]]).num_nodes == 4
    with pytest.raises(InputError, match="'x' needs"):
        Graph.from_arrays(torch.eye(5, 1).to_sparse(), [[0], [1]])


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
    "edge out of range": (dict(edges=[[0, 2], [1, 0]]), "names node 2, but the graph has 2"),
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
    for wrong in (4, 9):
        with pytest.raises(
            InputError, match=f"test part of split 's' names node {wrong}, but the graph has 4"
        ):
            Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([wrong]), "s").check(graph)
    with pytest.raises(InputError, match="train part of split 's' names node 1"):
        Split(torch.tensor([-1, 1]), torch.tensor([2]), torch.tensor([]), "s").check(graph)
    with pytest.raises(InputError, match="without a label"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2, 3]), "s").check(graph)
    fine = Split(torch.tensor([0, 1]), torch.tensor([2]), torch.tensor([]), "s")
    assert fine.check(graph) is fine
    with pytest.warns(UserWarning, match=r"no training node of class \[1\]"):
        Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), "s").check(graph)


def test_of_many_classes_without_training_nodes_ten_are_named() -> None:
    for number, more in ((11, ""), (12, " and 1 others"), (13, " and 2 others")):
        graph = Graph.from_arrays(torch.eye(13), torch.tensor([[0], [1]]), torch.arange(13) % number)
        message = rf"of class \[1, 2, 3, 4, 5, 6, 7, 8, 9, 10\]{more}\.$"
        with pytest.warns(UserWarning, match=message):
            Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), "s").check(graph)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
@pytest.mark.parametrize("place", [(-1, 0), ("n", 0), (0, -1), (0, "p")])
def test_sparse_features_outside_their_shape_are_refused(shape: tuple[int, int], place: tuple) -> None:
    wrong = [{"n": shape[0], "p": shape[1]}.get(one, one) for one in place]
    indices = torch.tensor([[0, wrong[0]], [1, wrong[1]]])
    x = torch.sparse_coo_tensor(indices, torch.ones(2), shape, check_invariants=False)
    with pytest.raises(InputError, match=rf"names a place outside its shape \[{shape[0]}, {shape[1]}\]"):
        Graph.from_arrays(x, torch.tensor([[0], [1]]))


def test_split_hash_and_majority_share() -> None:
    one = Split(torch.tensor([1, 0]), torch.tensor([2]), torch.tensor([3, 4]), "a")
    same = Split(torch.tensor([0, 1]), torch.tensor([2]), torch.tensor([4, 3]), "b")
    swapped = Split(torch.tensor([0, 1]), torch.tensor([3, 4]), torch.tensor([2]), "a")
    assert one.hash == same.hash != swapped.hash
    assert one.majority_share(torch.tensor([0, 0, 0, 1, 1])) == 1.0
    assert one.majority_share(torch.tensor([0, 0, 0, 0, 1])) == 0.5
    assert np.isnan(Split(one.train, one.val, torch.tensor([]), "a").majority_share(torch.zeros(5)))
    masks = torch.eye(5, dtype=torch.bool)
    drawn = Split.from_masks(masks[0] | masks[1], masks[2], masks[3] | masks[4], "a")
    assert (drawn.hash, one.index, drawn.index) == (one.hash, 0, 0)


def test_names_come_from_the_data_and_nodes_are_found_by_them() -> None:
    data = Data(
        x=X, edge_index=torch.tensor([[0, 1], [1, 2]]), y=["b", "a", None, "b"], node_names=list("wxyz")
    )
    graph = Graph.from_data(data)
    assert (graph.y.tolist(), graph.num_classes, graph.classes.tolist()) == ([1, 0, -1, 1], 2, ["a", "b"])
    assert graph.find(["z", "w"]).tolist() == [3, 0]
    assert graph.find(np.array([True, False, False, True])).tolist() == [0, 3]
    assert (graph.place("y"), graph.node_name(2)) == (2, "y")
    assert [graph.class_name(label) for label in (-1, 0, 1)] == [None, "a", "b"]
    with pytest.raises(InputError, match="no node named 'v' among 4"):
        graph.find(["v"])
    with pytest.raises(InputError, match="one name per node"):
        Graph.from_data(Data(x=X, edge_index=data.edge_index, node_names=["a"]))


def test_nodes_without_names_are_found_by_number() -> None:
    graph = Graph.from_arrays(X, [[0], [1]], [0, 1, 2, 3])
    assert graph.find(None).tolist() == [0, 1, 2, 3]
    assert graph.find(torch.tensor([3, 1])).tolist() == graph.find(["3", "1"]).tolist() == [3, 1]
    assert graph.find(2).tolist() == graph.find("2").tolist() == graph.find({2}).tolist() == [2]
    assert graph.find([True, 2, 0]).tolist() == [1, 2, 0]  # no mask: not all are truth values
    assert (graph.place(3), graph.node_name(3)) == (3, 3)
    assert [graph.class_name(label) for label in (-1, 0, 3)] == [None, 0, 3]
    for wrong in ([4], [-1], [0, 4], ["9" * 18]):
        with pytest.raises(InputError, match="does not exist: the graph has 4 nodes"):
            graph.find(wrong)
    for wrong in (["9" * 19], ["9" * 20], ["1", "9" * 5000]):
        with pytest.raises(InputError, match="There is no node with the number"):
            graph.find(wrong)
    assert graph.find([1.0, 2.0]).tolist() == [1, 2]
    with pytest.raises(InputError, match="'nodes'"):
        graph.find(["1", "x"])
    with pytest.raises(InputError, match=r"whole numbers, not 0\.5"):
        graph.find([1.0, 0.5])
    with pytest.raises(InputError, match=r"mask must have shape \[4\], not \[1\]"):
        graph.find([True])


def test_classes_of_a_file_may_lack_nodes() -> None:
    data = Data(x=X, edge_index=[[0], [1]], y=[2, 0, -1, 2], class_names=["a", "b", "c"])
    graph = Graph.from_data(data)
    assert (graph.num_classes, graph.y.tolist()) == (3, [2, 0, -1, 2])
    assert graph.class_names == Names("abc", "class")
    assert Graph.from_data(Data(x=X, edge_index=[[0], [1]], y=[-1] * 4, class_names=["a"])).num_classes == 1
    with pytest.raises(InputError, match=r"numbers 0\.\.1 of the 2 'class_names'"):
        Graph.from_data(Data(x=X, edge_index=[[0], [1]], y=[2, 0, -1, 2], class_names=["a", "b"]))


def test_labels_in_the_classes_of_another_graph() -> None:
    own = Graph.from_arrays(X, [[0], [1]], ["a", "b", "c", "a"])
    other = Graph.from_arrays(X, [[0], [1]], ["c", None, "d", "a"]).with_classes_of(own)
    assert other.y.tolist() == [2, -1, -1, 0]
    assert other.num_classes == 3
    bare = Graph.from_arrays(X, [[0], [1]]).with_classes_of(own)
    assert (bare.y.tolist(), bare.classes.tolist()) == ([-1] * 4, ["a", "b", "c"])
    assert other.with_classes_of(own) is other
    fewer, more = (Graph.from_arrays(X, [[0], [1]], y) for y in ([0, 1, 1, 0], [0, 1, 2, 0]))
    assert fewer.with_classes_of(more).num_classes == 3


def test_how_a_table_became_features_comes_with_the_data() -> None:
    given, table = {"x": X, "edge_index": [[0], [1]]}, SimpleNamespace(plan={"kept": 1})
    assert Graph.from_data(Data(**given, columns={"own": 2})).columns == {"own": 2}
    assert Graph.from_data(Data(**given, table=table)).columns == {"kept": 1}
    assert Graph.from_data(Data(**given, columns=["of a stranger"])).columns is None
    assert Graph.from_data(Data(**given)).columns is None


def test_features_are_read_up_to_a_number() -> None:
    pairs = [[0], [1]]
    assert Graph.from_arrays(sp.csr_array((2, 2**20)), pairs).num_features == 2**20
    with pytest.raises(InputError, match="1048577 features per node; at most 1048576 are read"):
        Graph.from_arrays(sp.csr_array((2, 2**20 + 1)), pairs)
    assert Graph.from_arrays(np.zeros((2**20, 0), dtype=np.float32), pairs).num_nodes == 2**20
    with pytest.raises(InputError, match="1048577 rows of no features"):
        Graph.from_arrays(np.zeros((2**20 + 1, 0), dtype=np.float32), pairs)


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


def test_a_structure_has_no_features_and_no_labels() -> None:
    for source in (sp.csr_array([[1, 1], [1, 0]]), networkx.Graph([(0, 1), (0, 0)])):
        found = structure(source)
        assert (found.num_features, found.num_classes, found.y.tolist()) == (0, 0, [-1, -1])
        assert (found.indices.tolist(), found.loops.tolist()) == ([1, 0], [True, False])
        assert structure(found) is found
    assert structure(networkx.empty_graph(3)).num_edges == 0


def test_what_is_no_structure() -> None:
    for wrong in (np.eye(3), 7, {"a": [1]}):
        with pytest.raises(InputError, match="A Graph, a scipy adjacency or a networkx graph is needed here"):
            structure(wrong)
    with pytest.raises(InputError, match="no nodes"):
        structure(networkx.Graph())
    with pytest.raises(InputError, match="not square"):
        structure(sp.csr_array((2, 3)))
