"""Where a node is: distances against networkx, eigenvectors against the dense spectrum, the latent spaces of Geom-GCN."""

import networkx as nx
import numpy as np
import pytest
import torch
from cases import small_graph
from scipy.spatial.distance import pdist, squareform

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.models.baselines import positions
from ansgt.models.baselines.positions import (
    embed_nodes,
    isomap,
    laplacian_eigenvectors,
    poincare,
    poincare_distance,
    shortest_paths,
)
from ansgt.storage import DiskCache
from ansgt.testing import path_graph, power_law_graph, random_graph

OFF = DiskCache(None)


def test_isomap_of_a_path_is_a_line() -> None:
    z = isomap(path_graph(6))
    np.testing.assert_allclose(squareform(pdist(z)), np.abs(np.subtract.outer(range(6), range(6))), atol=1e-4)


def test_landmarks_place_a_path_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MAX_LANDMARKS", 12)
    z = isomap(path_graph(30))
    np.testing.assert_allclose(pdist(z[:, 1:])[:5], [1, 2, 3, 4, 5], atol=0.05)


def test_poincare_puts_hubs_inside_and_neighbours_near() -> None:
    graph = power_law_graph(300, mean_degree=4.0)
    z = torch.from_numpy(poincare(graph))
    radius, linked = z.norm(dim=1).numpy(), graph.degree > 0
    assert radius.max() < 1
    assert radius[np.argsort(-graph.degree)[:30]].mean() < 0.8 * radius[linked].mean()
    row, col = graph.edge_index
    other = torch.randint(300, (len(row),), generator=torch.Generator().manual_seed(0))
    assert poincare_distance(z[row], z[col]).mean() < 0.8 * poincare_distance(z[row], z[other]).mean()


def test_embeddings_repeat_and_take_edgeless_graphs() -> None:
    empty = Graph.from_arrays(torch.eye(5), torch.empty(2, 0, dtype=torch.int64))
    for name in ("isomap", "poincare"):
        assert np.isfinite(embed_nodes(empty, name, OFF)).all()
        graph = small_graph()
        assert np.array_equal(embed_nodes(graph, name, OFF), embed_nodes(graph, name, OFF))
    with pytest.raises(InputError, match="Unknown embedding 'struc2vec'; known: isomap, poincare"):
        embed_nodes(empty, "struc2vec", OFF)


def test_shortest_paths_equal_networkx() -> None:
    graph = random_graph(60, mean_degree=2.0, num_isolated=3, seed=1)
    distance = shortest_paths(graph, 5, OFF)
    lengths = dict(nx.all_pairs_shortest_path_length(nx.from_scipy_sparse_array(graph.adj)))
    expected = [[min(lengths[i][j], 5) if j in lengths[i] else 6 for j in range(60)] for i in range(60)]
    assert distance.dtype == np.uint8
    assert np.array_equal(distance, expected)
    with pytest.raises(InputError, match="max_distance"):
        shortest_paths(graph, 255, OFF)


def test_eigenvectors_of_a_path() -> None:
    values, vectors = laplacian_eigenvectors(path_graph(4), 3, OFF)
    adj = path_graph(4).adj.toarray()
    scale = np.diag(adj.sum(1) ** -0.5)
    laplacian = np.eye(4) - scale @ adj @ scale
    np.testing.assert_allclose(values, np.linalg.eigvalsh(laplacian)[1:], atol=1e-6)
    np.testing.assert_allclose(laplacian @ vectors, vectors * values, atol=1e-5)
    np.testing.assert_allclose(vectors.max(axis=0), 1.0, atol=1e-6)


def test_eigenvectors_skip_component_indicators_and_isolated_nodes() -> None:
    two_edges = Graph.from_arrays(torch.eye(6), torch.tensor([[0, 1, 3], [1, 2, 4]]))
    values, vectors = laplacian_eigenvectors(two_edges, 10, OFF)
    np.testing.assert_allclose(values, [1.0, 2.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(vectors[5], 0.0, atol=1e-6)


def test_lanczos_agrees_with_the_dense_spectrum() -> None:
    graph = power_law_graph(900, mean_degree=6.0)
    values, vectors = laplacian_eigenvectors(graph, 5, OFF)
    adj = graph.adj.toarray()
    scale = np.where(adj.sum(1) > 0, np.maximum(adj.sum(1), 1) ** -0.5, 0)
    normalised = scale[:, None] * adj * scale
    spectrum = np.sort(1 - np.linalg.eigvalsh(normalised))
    np.testing.assert_allclose(values, spectrum[spectrum > 1e-8][:5], atol=1e-5)
    np.testing.assert_allclose(vectors - normalised @ vectors, vectors * values, atol=1e-3)
    again = laplacian_eigenvectors(graph, 5, OFF)[1]
    assert np.array_equal(vectors, again)
