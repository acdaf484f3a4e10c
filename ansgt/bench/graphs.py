"""Generated graphs of any size, on which the benchmarks measure growth."""

import numpy as np
import torch

from ansgt.graph import Graph


def power_law_graph(num_nodes: int, mean_degree: float = 8.0, num_features: int = 0, seed: int = 0) -> Graph:
    """A seeded graph whose expected degrees follow a power law (exponent 2.5, Chung-Lu).

    Args:
        num_nodes: number of nodes.
        mean_degree: expected mean degree before duplicate edges are merged.
        num_features: features per node, cluster centres plus noise, so that nearest neighbours mean something; with 0
            every node has one feature, which is 1.
        seed: of edges, labels and features.
    """
    rng = np.random.default_rng(seed)
    weight = (np.arange(num_nodes) + 10.0) ** (-1 / 1.5)
    cumulative = np.cumsum(weight / weight.sum())
    draws = rng.random((2, int(num_nodes * mean_degree / 2)))
    edges = np.searchsorted(cumulative, draws).clip(max=num_nodes - 1)
    edges = rng.permutation(num_nodes)[edges]
    y = rng.integers(0, 8, num_nodes)
    if num_features:
        centres = rng.normal(size=(max(num_nodes // 200, 8), num_features)).astype(np.float32)
        member = rng.integers(0, len(centres), num_nodes)
        noise = rng.normal(size=(num_nodes, num_features)).astype(np.float32)
        x = centres[member] + 0.7 * noise
    else:
        x = np.ones((num_nodes, 1), dtype=np.float32)
    return Graph.from_arrays(x, torch.from_numpy(edges), y, name=f"power-law-{num_nodes}")
