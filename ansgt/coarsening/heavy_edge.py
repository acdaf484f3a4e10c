"""Coarsening in linear passes over the edges: for huge graphs, and a peer to measure the spectral methods against.

`HeavyEdge` needs the edges alone; `Louvain` first looks for communities, through networkx.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from ansgt.coarsening.base import Clustering, Coarsener, Stopwatch
from ansgt.coarsening.components import Plan
from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.errors import InputError
from ansgt.graph import Graph


class HeavyEdge(Coarsener):
    """Merges the ends of edges, the heaviest (1 / max degree) first, with a bound on cluster size.

    One pass over the edges, sorted by counting, with a union-find: linear time, no levels. Where a pass ends above the
    target, a second one goes two hops (neighbours of a common node), then the bound on the size is relaxed.

    >>> from ansgt.testing import path_graph
    >>> HeavyEdge(num_supernodes=3).fit(path_graph(9)).num_supernodes
    3
    """

    def cluster(self, graph: Graph, start: Contracted, plan: Plan, watch: Stopwatch) -> Clustering:
        with watch("levels"):
            return self.union(start, plan, np.zeros(start.num_nodes, dtype=np.int64))

    def union(self, start: Contracted, plan: Plan, community: np.ndarray) -> Clustering:
        """Merges along edges inside communities first, then along the others."""
        # Ties are broken by where the walk over the nodes starts: a random order would miss the processor's cache.
        first = np.random.default_rng(self.seed).integers(start.num_nodes)
        order = np.roll(np.arange(start.num_nodes), -first)
        row, col = heaviest_first(start.indptr, start.indices, order, community)
        parent = first_of_label(plan.label, plan.num_labels)
        size = np.bincount(parent, minlength=start.num_nodes)
        budget, passes, cap = plan.num_labels - plan.target, 0, min(plan.cap, int(4 * plan.average) + 1)
        while budget > 0:
            budget -= union_pass(row, col, parent, size, budget, cap)
            if budget > 0:
                budget -= union_two_hop(start.indptr, start.indices, parent, size, budget, cap)
            passes += 1
            if cap >= start.num_nodes:
                break
            cap = min(cap + cap // 3 + 1, start.num_nodes)
        assignment, count = relabel(roots(parent))
        missed = f"only {count} clusters can be formed along edges" if budget > 0 else None
        return Clustering(assignment, count, passes, missed)


@dataclass(eq=False, repr=False)
class Louvain(HeavyEdge):
    """Heavy edges inside Louvain communities first (Blondel et al. 2008), across them only when that does not suffice.

    Louvain alone cannot be told how many communities to find; this reaches the number asked for.

    Args:
        resolution: above 1 gives smaller communities.

    It wants networkx: `pip install "ansgt[communities]"`. See `Coarsener` for the others.

    >>> from ansgt.testing import path_graph
    >>> Louvain(num_supernodes=3).fit(path_graph(9)).num_supernodes
    3
    """

    resolution: float = 1.0

    def cluster(self, graph: Graph, start: Contracted, plan: Plan, watch: Stopwatch) -> Clustering:
        with watch("communities"):
            community = self.communities(graph)
        with watch("levels"):
            return self.union(start, plan, community)

    def communities(self, graph: Graph) -> np.ndarray:
        """Louvain community of every node [n]."""
        try:
            import networkx as nx
        except ImportError:
            raise InputError(
                'Coarsener "louvain" needs networkx: pip install "ansgt[communities]".'
            ) from None
        found = nx.community.louvain_communities(
            nx.from_scipy_sparse_array(graph.adj), resolution=self.resolution, seed=self.seed
        )
        community = np.empty(graph.num_nodes, dtype=np.int64)
        for name, nodes in enumerate(found):
            community[list(nodes)] = name
        return community


@njit(cache=True)
def heaviest_first(
    indptr: np.ndarray, indices: np.ndarray, order: np.ndarray, community: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of every edge, once, by (crosses communities, larger degree), ties in the given order of nodes."""
    n = len(indptr) - 1
    widest = 0
    for i in range(n):
        widest = max(widest, indptr[i + 1] - indptr[i])
    place = np.zeros(2 * widest + 3, dtype=np.int64)
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if i < j:
                place[_key(i, j, indptr, community, widest) + 1] += 1
    place = np.cumsum(place)
    row = np.empty(place[-1], dtype=np.int32)
    col = np.empty(place[-1], dtype=np.int32)
    for i in order:
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if i < j:
                key = _key(i, j, indptr, community, widest)
                row[place[key]] = i
                col[place[key]] = j
                place[key] += 1
    return row, col


@njit(cache=True, inline="always")
def _key(i: int, j: int, indptr: np.ndarray, community: np.ndarray, widest: int) -> int:
    key: int = max(indptr[i + 1] - indptr[i], indptr[j + 1] - indptr[j])
    return key if community[i] == community[j] else key + widest + 1


@njit(cache=True)
def first_of_label(label: np.ndarray, num_labels: int) -> np.ndarray:
    """The first node with the same label, for every node [n]: union-find parents of a given clustering."""
    first = np.full(num_labels, -1, dtype=np.int64)
    parent = np.empty(len(label), dtype=np.int64)
    for i, name in enumerate(label):
        if first[name] < 0:
            first[name] = i
        parent[i] = first[name]
    return parent


@njit(cache=True)
def _root(parent: np.ndarray, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def roots(parent: np.ndarray) -> np.ndarray:
    """Root of every node [n]."""
    out = np.empty(len(parent), dtype=np.int64)
    for i in range(len(parent)):
        out[i] = _root(parent, i)
    return out


@njit(cache=True)
def _join(parent: np.ndarray, size: np.ndarray, i: int, j: int, cap: int) -> bool:
    """Joins the clusters of i and j unless they are one or would hold more than `cap` nodes."""
    a, b = _root(parent, i), _root(parent, j)
    if a == b or size[a] + size[b] > cap:
        return False
    if size[a] < size[b]:
        a, b = b, a
    parent[b] = a
    size[a] += size[b]
    return True


@njit(cache=True)
def union_pass(
    row: np.ndarray, col: np.ndarray, parent: np.ndarray, size: np.ndarray, budget: int, cap: int
) -> int:
    """Joins the ends of the edges in turn, at most `budget` times; the number of joins. Changes `parent` and `size`."""
    joined = 0
    for e in range(len(row)):
        if joined == budget:
            break
        if _join(parent, size, row[e], col[e], cap):
            joined += 1
    return joined


@njit(cache=True)
def union_two_hop(
    indptr: np.ndarray, indices: np.ndarray, parent: np.ndarray, size: np.ndarray, budget: int, cap: int
) -> int:
    """Joins neighbours of a common node in turn, at most `budget` times; the number of joins."""
    joined = 0
    for hub in range(len(indptr) - 1):
        for e in range(indptr[hub], indptr[hub + 1] - 1):
            if joined == budget:
                return joined
            if _join(parent, size, indices[e], indices[e + 1], cap):
                joined += 1
    return joined
