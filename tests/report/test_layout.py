"""Layouts: deterministic, joined nodes nearer than others, parts of large graphs that keep what is joined."""

import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.bench.graphs import power_law_graph
from ansgt.datasets import load
from ansgt.graph import Graph
from ansgt.report.layout import draw_graph, lay_out, sample_edges, sample_nodes
from ansgt.testing import path_graph


def distances(position: np.ndarray) -> np.ndarray:
    return np.linalg.norm(position[:, None] - position[None], axis=2)


def test_joined_nodes_are_drawn_near_each_other() -> None:
    graph = load("newman").graph
    drawing = draw_graph(graph)
    apart, adj = distances(drawing.position), graph.adj.toarray() > 0
    off = ~np.eye(len(adj), dtype=bool)
    assert apart[adj].mean() < 0.7 * apart[off & ~adj].mean()
    assert drawing.position.min() >= 0
    assert drawing.position.max() <= 1
    assert apart[off].min() > 1e-4  # nobody lies on another
    row, column = drawing.edges.T
    assert np.array_equal(np.stack(sp.triu(graph.adj).nonzero()), np.stack([row, column]))


def test_the_same_picture_every_time_and_another_for_another_seed() -> None:
    adj = path_graph(30).adj
    assert np.array_equal(lay_out(adj, 0), lay_out(adj, 0))
    assert not np.allclose(lay_out(adj, 0), lay_out(adj, 1))


@pytest.mark.parametrize("num_nodes", [1, 2, 3])
def test_tiny_and_edgeless_graphs(num_nodes: int) -> None:
    graph = Graph.from_arrays(np.ones((num_nodes, 1)), np.zeros((2, 0), dtype=np.int64))
    position = draw_graph(graph).position
    assert np.isfinite(position).all()
    assert ((position >= 0) & (position <= 1)).all()


def test_of_a_large_graph_a_part_whose_nodes_know_each_other() -> None:
    graph = power_law_graph(4000, seed=1)
    nodes = sample_nodes(graph, 1000)
    assert len(nodes) == 1000
    assert (np.diff(nodes) > 0).all()
    inside = graph.adj[nodes][:, nodes].nnz / 2
    chosen = np.random.default_rng(0).choice(4000, 1000, replace=False)
    assert inside > 2 * graph.adj[chosen][:, chosen].nnz / 2
    drawing = draw_graph(graph, most_nodes=1000, most_edges=500)
    assert len(drawing.edges) == 500
    assert drawing.num_edges == inside


def test_sampled_edges_leave_every_node_one_while_they_last() -> None:
    star_and_pairs = np.array(
        [[0, k] for k in range(1, 200)] + [[200 + 2 * k, 201 + 2 * k] for k in range(50)]
    )
    kept = sample_edges(star_and_pairs, 300, 249)
    assert len(kept) == 249
    assert len(np.unique(kept)) == 300
    assert np.array_equal(sample_edges(kept, 300, 400), kept)
