"""Generated graphs: seeded, of the size asked for, with hubs."""

import numpy as np
import torch

from ansgt.bench.graphs import power_law_graph


def test_the_same_seed_gives_the_same_graph_and_another_seed_another() -> None:
    one, again, other = (power_law_graph(500, num_features=4, seed=seed) for seed in (0, 0, 1))
    assert one.content_hash == again.content_hash != other.content_hash


def test_degrees_have_the_mean_that_was_asked_for_and_a_heavy_tail() -> None:
    graph = power_law_graph(20_000, mean_degree=8.0)
    degrees = np.diff(graph.adj.indptr)
    assert 7.0 < degrees.mean() <= 8.0  # duplicate edges are merged
    assert degrees.max() > 20 * degrees.mean()


def test_features_are_clusters_or_a_single_one() -> None:
    assert torch.equal(power_law_graph(50).x, torch.ones(50, 1))
    x = power_law_graph(2000, num_features=32).x.numpy()
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -1)
    assert np.median(similarity.max(axis=1)) > 0.5 > np.quantile(np.abs(similarity), 0.9)
