"""Shortest-path distances between all pairs of nodes (Graphormer)."""

import numpy as np
from numba import njit, prange

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.storage import DiskCache


def shortest_paths(graph: Graph, max_distance: int, cache: DiskCache) -> np.ndarray:
    """Distances [n, n], uint8: those of `max_distance` or more are cut to it, no path is `max_distance + 1`."""
    if not 1 <= max_distance <= 254:
        raise InputError(f"Setting 'max_distance' must be in 1..254, not {max_distance}.")
    key = ["v1", graph.num_nodes, graph.indptr, graph.indices, max_distance]

    def compute() -> dict[str, np.ndarray]:
        return {"distance": _breadth_first(graph.indptr, graph.indices, max_distance)}

    return cache.fetch("shortest-paths", key, compute)["distance"]


@njit(cache=True, parallel=True)
def _breadth_first(indptr: np.ndarray, indices: np.ndarray, limit: int) -> np.ndarray:
    n = len(indptr) - 1
    out = np.full((n, n), limit + 1, dtype=np.uint8)
    for source in prange(n):
        distance = out[source]
        queue = np.empty(n, dtype=np.int32)
        queue[0] = source
        distance[source] = 0
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            step = min(distance[node] + 1, limit)
            for at in range(indptr[node], indptr[node + 1]):
                other = indices[at]
                if distance[other] == limit + 1:
                    distance[other] = step
                    queue[tail] = other
                    tail += 1
    return out
