"""A graph that grew keeps its super-nodes, and what is predicted of it does not depend on what was asked before."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ansgt
from ansgt.coarsening import VariationNeighborhoods
from ansgt.coarsening.grown import GrownCoarsener
from ansgt.graph import Graph
from ansgt.testing import check_coarse, path_graph, random_graph


def test_the_same_graph_has_the_same_super_nodes() -> None:
    graph = random_graph()
    known = VariationNeighborhoods(rate=0.2).fit(graph)
    same = GrownCoarsener(known.assignment, np.arange(graph.num_nodes)).fit(graph)
    assert np.array_equal(same.assignment, known.assignment)
    assert torch.equal(same.x, known.x)
    assert (same.adj != known.adj).nnz == 0


def test_new_nodes_join_most_of_their_neighbours_and_then_each_other() -> None:
    edges = np.array([[0, 1], [1, 2], [3, 0], [3, 1], [3, 2], [4, 3], [5, 6], [6, 7]]).T
    graph = Graph.from_arrays(np.eye(8, dtype=np.float32), edges)
    ids = np.array([0, 1, 2, -1, -1, -1, -1, -1])
    found = GrownCoarsener(np.array([0, 1, 1]), ids).fit(graph)
    assert found.assignment.tolist() == [0, 1, 1, 1, 1, 2, 2, 2], "5, 6 and 7 know nobody but each other"
    check_coarse(graph, found)


def test_super_nodes_whose_nodes_left_are_gone() -> None:
    found = GrownCoarsener(np.array([0, 1, 2, 2]), np.array([0, 2, 3])).fit(path_graph(3))
    assert found.assignment.tolist() == [0, 1, 1]


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
