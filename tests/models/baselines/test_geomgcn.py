"""Geom-GCN against sums written out as loops."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import build, small_graph

from ansgt.models.baselines.geomgcn import NUM_DIVISIONS, latent_neighbours, quadrants
from ansgt.models.baselines.positions import embed_nodes
from ansgt.storage import DiskCache
from ansgt.testing import path_graph

OFF = DiskCache(None)


@pytest.mark.parametrize("method", ["isomap", "poincare"])
def test_geomgcn_equals_loops(method: str) -> None:
    graph = small_graph()
    model, inputs = build("geomgcn", graph, hidden_channels=3, embedding=method)
    z = embed_nodes(graph, method, OFF)
    near = latent_neighbours(z, graph.adj).toarray()
    linked = graph.adj.toarray()
    degree = 1 + near.sum(1) + linked.sum(1)

    def division(v: int, u: int, latent: bool) -> int:
        return 1 + 4 * latent + 2 * (z[v, 0] > z[u, 0]) + (z[v, 1] > z[u, 1])

    def layer(h: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        z_h = (h @ weight.T).view(24, NUM_DIVISIONS, -1)
        out = torch.zeros_like(z_h)
        for v in range(24):
            out[v, 0] += z_h[v, 0] / degree[v]
            for u in range(24):
                for latent, matrix in ((False, linked), (True, near)):
                    if matrix[v, u]:
                        d = division(v, u, latent)
                        out[v, d] += z_h[u, d] / (degree[v] * degree[u]) ** 0.5
        return out

    hidden = layer(inputs["x"], model.layers[0].lin.weight).flatten(1).relu()
    expected = layer(hidden, model.layers[1].lin.weight).mean(1)
    torch.testing.assert_close(model(inputs), expected, rtol=1e-4, atol=1e-5)


def test_quadrants_of_a_path() -> None:
    z = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
    parts = [part.toarray() for part in quadrants(path_graph(4).adj, z)]
    np.testing.assert_array_equal(sum(parts), path_graph(4).adj.toarray())
    assert parts[0][0, 1] == 1  # z_1 is right of and above z_0
    assert parts[1][1, 2] == 1  # right, below
    assert parts[2][2, 1] == 1  # left, above
    assert parts[3][1, 0] == 1  # left, below


def test_latent_neighbours_are_the_nearest_pairs() -> None:
    z = np.array([[0.0, 0], [1, 0], [3, 0], [3.5, 0]])
    near = latent_neighbours(z, path_graph(4).adj).toarray()
    assert near[0, 1] == near[1, 0] == near[2, 3] == near[3, 2] == near[1, 2] == near[2, 1] == 1
    assert near.sum() == 6
    assert latent_neighbours(z, sp.csr_array((4, 4))).nnz == 0


def test_latent_neighbours_are_joined_by_a_path() -> None:
    adj = sp.block_diag([path_graph(3).adj, path_graph(3).adj], format="csr")
    z = np.array(
        [[0.0, 0], [5, 0], [9, 0], [0, 0.1], [5, 0.1], [9, 0.1]]
    )  # nearest nodes are in the other path
    near = latent_neighbours(z, sp.csr_array(adj)).toarray()
    assert not near[:3, 3:].any()
    assert near[0, 1] == near[1, 2] == near[3, 4] == near[4, 5] == 1


def test_latent_neighbours_of_points_in_one_place_stay_few() -> None:
    near = latent_neighbours(np.zeros((500, 2)), path_graph(500).adj)
    assert near.sum(axis=1).mean() <= 2 * 64
