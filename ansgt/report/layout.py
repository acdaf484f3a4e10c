"""Where the nodes of a graph are drawn: joined nodes near each other, others apart; the same picture at every call.

Positions minimise UMAP's cross-entropy (McInnes, Healy and Melville, 2018) with the graph's own edges in place of
nearest neighbours: an edge pulls its ends together, and pushes each from a few nodes drawn at random. Work is linear in
nodes + edges.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit

from ansgt.arrays import brief_repr
from ansgt.graph import Graph

MOST_NODES, MOST_EDGES = 20_000, 50_000
"""What one page draws; of larger graphs a part."""
ROUNDS, PUSHES = 300, 5
PULLS = 20_000_000
"""Pulls altogether; a graph with many edges gets fewer rounds, at least `FEWEST`."""
FEWEST = 60
SMOOTHING = 12
"""Steps of the lazy walk that spreads the random start along the edges."""
A, B = 1.2, 0.85
"""Of the kernel 1 / (1 + A d^(2 B)): at which distance joined nodes rest."""
GRAVITY = 0.015


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture of a graph, or of a part of it.

    Args:
        nodes: which nodes are drawn [m], int64, ascending.
        position: their places in the unit square [m, 2], float64.
        edges: pairs of rows of `nodes` [e, 2], int64, the first smaller than the second.
        num_edges: edges between these nodes, drawn or not.
    """

    nodes: np.ndarray
    position: np.ndarray
    edges: np.ndarray
    num_edges: int
    __repr__ = brief_repr


def draw_graph(
    graph: Graph, most_nodes: int = MOST_NODES, most_edges: int = MOST_EDGES, seed: int = 0
) -> Drawing:
    """Lays a graph out; of more than `most_nodes` nodes a connected sample, of more than `most_edges` edges a part."""
    nodes = sample_nodes(graph, most_nodes, seed)
    adj = sp.csr_array(graph.adj[nodes][:, nodes])
    edges = np.stack(sp.triu(adj, k=1).nonzero(), axis=1).astype(np.int64)
    return Drawing(nodes, lay_out(adj, seed), sample_edges(edges, len(nodes), most_edges, seed), len(edges))


def sample_nodes(graph: Graph, most: int, seed: int = 0) -> np.ndarray:
    """All nodes, or `most` that random searches from random nodes reach, ascending: samples keep their neighbourhoods."""
    if graph.num_nodes <= most:
        return np.arange(graph.num_nodes)
    rng = np.random.default_rng(seed)
    reached, count = np.zeros(graph.num_nodes, dtype=bool), 0
    for start in rng.permutation(graph.num_nodes):
        frontier = np.array([start]) if not reached[start] else np.empty(0, dtype=np.int64)
        own = 0
        while len(frontier) and count < most and own < most / 10:
            frontier = frontier[: most - count]
            reached[frontier] = True
            count, own = count + len(frontier), own + len(frontier)
            around = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in frontier[:1000]]
            found = np.unique(np.concatenate(around))
            frontier = rng.permutation(found[~reached[found]])[: max(64, most // 40)]
        if count >= most:
            break
    return np.flatnonzero(reached)


def sample_edges(edges: np.ndarray, num_nodes: int, most: int, seed: int = 0) -> np.ndarray:
    """`most` of the edges [e, 2]: first one of every node, so that none loses all, then any."""
    if len(edges) <= most:
        return edges
    order = np.random.default_rng(seed).permutation(len(edges))
    shuffled = edges[order]
    first = np.full(num_nodes, -1)
    first[shuffled[::-1, 0]] = np.arange(len(edges))[::-1]
    first[shuffled[::-1, 1]] = np.arange(len(edges))[::-1]
    rank = np.ones(len(edges), dtype=np.int64)
    rank[np.unique(first[first >= 0])] = 0
    return edges[np.sort(order[np.argsort(rank, kind="stable")[:most]])]


def lay_out(adj: sp.csr_array, seed: int = 0) -> np.ndarray:
    """Positions of all nodes of a symmetric adjacency in the unit square [n, 2]."""
    position = _start(adj, seed)
    degree = np.diff(adj.indptr)
    row = np.repeat(np.arange(adj.shape[0]), degree)
    upper = row < adj.indices
    head, tail = row[upper].astype(np.int64), adj.indices[upper].astype(np.int64)
    # an edge between hubs says little: it is followed less often
    weight = 1 / np.sqrt(np.maximum(1, np.minimum(degree[head], degree[tail]) / 8))
    rounds = int(np.clip(PULLS / max(len(head) + adj.shape[0], 1), FEWEST, ROUNDS))
    _settle(position, head, tail, weight, rounds, PUSHES, seed + 1)
    return _unit(position)


def _start(adj: sp.csr_array, seed: int) -> np.ndarray:
    """Random numbers spread along the edges: a cheap first guess of which regions lie beside each other."""
    values: np.ndarray = np.random.default_rng(seed).normal(size=(adj.shape[0], 2))
    share = 1 / np.maximum(np.diff(adj.indptr), 1)
    for _ in range(SMOOTHING):
        values = 0.5 * values + 0.5 * share[:, None] * (adj @ values)
        values -= values.mean(axis=0)
    values /= np.maximum(values.std(axis=0), 1e-12)
    return np.ascontiguousarray(np.clip(values, -2.5, 2.5) * math.sqrt(adj.shape[0]) / 6)


def _unit(position: np.ndarray) -> np.ndarray:
    """Into the unit square, one scale for both axes; what lies far out is drawn in."""
    away = position - np.median(position, axis=0)
    distance = np.linalg.norm(away, axis=1)
    edge = max(float(np.quantile(distance, 0.9)), 1e-12)
    nearer = np.where(distance > edge, edge * (1 + 0.3 * np.log(np.maximum(distance / edge, 1))), distance)
    nearer = np.minimum(nearer, 1.5 * edge)
    away *= (nearer / np.maximum(distance, 1e-12))[:, None]
    low, high = away.min(axis=0), away.max(axis=0)
    unit: np.ndarray = (away - (low + high) / 2) / max(float((high - low).max()), 1e-12) + 0.5
    return unit


@njit(cache=True, fastmath=False)
def _settle(position, head, tail, weight, rounds, pushes, seed):  # type: ignore[no-untyped-def] # pragma: no cover
    """Rounds of pulls along the edges and pushes between random nodes, with falling steps; in place."""
    n = position.shape[0]
    state = np.uint64(seed * 2 + 1) * np.uint64(0x9E3779B97F4A7C15)
    for at in range(rounds):
        step = 1.0 - at / rounds
        for e in range(head.shape[0]):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            if (state >> np.uint64(11)) * (1.0 / 9007199254740992.0) > weight[e]:
                continue
            i, j = head[e], tail[e]
            dx, dy = position[i, 0] - position[j, 0], position[i, 1] - position[j, 1]
            square = dx * dx + dy * dy
            if square > 0:
                power = square**B
                pull = -2.0 * A * B * power / (square * (1.0 + A * power))
                x, y = min(4.0, max(-4.0, pull * dx)), min(4.0, max(-4.0, pull * dy))
                position[i, 0] += step * x
                position[i, 1] += step * y
                position[j, 0] -= step * x
                position[j, 1] -= step * y
            for k in range(pushes):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                other = np.int64((state >> np.uint64(33)) % np.uint64(n))
                one = i if k % 2 == 0 else j
                if other in (i, j):
                    continue
                dx, dy = position[one, 0] - position[other, 0], position[one, 1] - position[other, 1]
                square = dx * dx + dy * dy
                push = 2.0 * B / ((0.01 + square) * (1.0 + A * square**B))
                position[one, 0] += step * min(4.0, max(-4.0, push * dx))
                position[one, 1] += step * min(4.0, max(-4.0, push * dy))
        for i in range(n):
            shrink = 1.0 - step * GRAVITY
            position[i, 0] *= shrink
            position[i, 1] *= shrink
