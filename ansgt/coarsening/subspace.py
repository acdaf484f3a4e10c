"""The smooth subspace that local variation preserves: computed once per graph, shared across rates and methods."""

from weakref import WeakKeyDictionary

import numpy as np

from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.eigen import smallest_eigenpairs
from ansgt.graph import Graph
from ansgt.storage import DiskCache

_memory: "WeakKeyDictionary[Graph, dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]]]" = (
    WeakKeyDictionary()
)


def smooth_subspace(
    graph: Graph, start: Contracted, k: int, iterations: int, seed: int, cache: DiskCache | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest k non-zero eigenvalues and eigenvectors of the Laplacian of `graph`, approximately.

    Kept with the graph object, and on disk under a hash of its edges when a cache is given.
    """
    kept = _memory.setdefault(graph, {})
    key = (k, iterations, seed)
    if key not in kept:
        kept[key] = _fetch(graph, start, k, iterations, seed, cache)
    return kept[key]


def forget(graph: Graph) -> None:
    """Drops what is kept for a graph, so that the next `fit` computes it again (for timing)."""
    _memory.pop(graph, None)


def _fetch(
    graph: Graph, start: Contracted, k: int, iterations: int, seed: int, cache: DiskCache | None
) -> tuple[np.ndarray, np.ndarray]:
    def compute() -> dict[str, np.ndarray]:
        values, vectors = smallest_eigenpairs(start, k, iterations, seed=seed)
        return {"values": values, "vectors": vectors}

    if cache is None:
        stored = compute()
    else:
        stored = cache.fetch("subspace", ["v2", graph.indptr, graph.indices, k, iterations, seed], compute)
    return stored["values"], stored["vectors"]
