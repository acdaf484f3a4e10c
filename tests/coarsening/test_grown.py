"""A graph that grew keeps its super-nodes, and what is predicted of it does not depend on what was asked before."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ansgt
from ansgt.coarsening import VariationNeighborhoods
from ansgt.coarsening.base import Clustering, CoarseGraph
from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.grown import GrownCoarsener
from ansgt.graph import Graph
from ansgt.testing import path_graph, random_graph


def test_the_same_graph_has_the_same_super_nodes() -> None:
    graph = random_graph()
    known = VariationNeighborhoods(rate=0.2).fit(graph)
    same = GrownCoarsener(known, np.arange(graph.num_nodes)).fit(graph)
    assert np.array_equal(same.assignment, known.assignment)
    assert torch.equal(same.x, known.x)
    assert (same.adj != known.adj).nnz == 0


def two_super_nodes() -> CoarseGraph:
    """Of a path of three nodes: {0} and {1, 2}."""
    path = path_graph(3)
    start = Contracted.from_graph(path)
    return CoarseGraph.of(path, start, Clustering(np.array([0, 1, 1]), 2), 2 / 3, {})


def test_new_nodes_join_most_of_their_neighbours_and_then_each_other() -> None:
    edges = np.array([[0, 1], [1, 2], [3, 0], [3, 1], [3, 2], [4, 3], [5, 6], [6, 7]]).T
    known = two_super_nodes()
    x = np.arange(8 * known.x.shape[1], dtype=np.float32).reshape(8, -1)
    graph, ids = Graph.from_arrays(x, edges), np.array([0, 1, 2, -1, -1, -1, -1, -1])
    found = GrownCoarsener(known, ids).fit(graph)
    assert found.assignment.tolist() == [0, 1, 1, 1, 1, 2, 2, 2], "5, 6 and 7 know nobody but each other"
    assert torch.equal(found.x[:2], known.x), "those of the older graph stay as they are"
    assert torch.allclose(found.x_mean[2], torch.from_numpy(x[5:].mean(axis=0)))
    assert torch.allclose(found.x[2], found.x_mean[2] * 3**0.5)
    adj = found.adj.toarray()
    assert np.array_equal(adj[:2, :2], known.adj.toarray())
    assert adj[2].tolist() == pytest.approx([0, 0, 4 / 3]), "two edges, from both ends, among three nodes"


def test_nodes_that_left_leave_their_super_node() -> None:
    found = GrownCoarsener(two_super_nodes(), np.array([0, 2])).fit(path_graph(2))
    assert found.assignment.tolist() == [0, 1]


def grown(data: Data, times: int) -> Data:
    """With some more nodes, each a copy of node 3 and of its neighbourhood."""
    x, edges = data.x, data.edge_index
    around = edges[1, edges[0] == 3]
    for _ in range(times):
        links = torch.stack([torch.full_like(around, len(x)), around])
        x, edges = torch.cat([x, data.x[3:4]]), torch.cat([edges, links, links.flip(0)], dim=1)
    return Data(x=x, edge_index=edges)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"num_layers": 1, "hidden_channels": 16, "num_augmentations": 2, "num_supernodes": 2}
    folder = tmp_path_factory.mktemp("grown") / "model"
    ansgt.NodeClassifier(epochs=2, device="cpu", **settings).fit(ansgt.load_dataset("newman")).save(folder)
    return folder


def test_one_node_after_another_is_as_all_at_once(saved: Path) -> None:
    data = ansgt.load_dataset("newman")
    one_by_one = ansgt.NodeClassifier.load(saved, device="cpu")
    steps = [one_by_one.predict_proba(grown(data, times)) for times in (1, 2, 3)]
    at_once = ansgt.NodeClassifier.load(saved, device="cpu").predict_proba(grown(data, 3))
    assert np.array_equal(steps[2], at_once)
    trained, other = one_by_one.trained_.super_nodes(), one_by_one._asked.last.trained.super_nodes()  # type: ignore[union-attr]
    assert np.array_equal(other[:128], trained)
    assert one_by_one.predict_proba(grown(data, 0)) == pytest.approx(one_by_one.predict_proba(), abs=1e-6)


def test_of_a_graph_that_grew_much_they_are_found_anew(saved: Path) -> None:
    clf = ansgt.NodeClassifier.load(saved, device="cpu")
    clf.predict(grown(ansgt.load_dataset("newman"), 20))
    assert clf._run is not None
    assert clf._run.kept == {}
