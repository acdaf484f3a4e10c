"""Forward push for personalised PageRank, parallel over centres, the same result for any number of threads.

For a centre i the push keeps an estimate p and a residual r with pi_i = p + sum_u r_u pi_u, pi_u being the PPR vector of u
(Andersen, Chung and Lang, 2006). A node is pushed while r_u > eps * degree(u). On graphs with hubs much residual stays:
a hub is pushed late, and half the mass may wait on the way to one. So we do not drop R = sum_u r_u, but place it where it
would go: with probability c it stays where it is, and the rest goes to where long walks end, in proportion to the degree:

    estimate = p + c r + (1-c) R degree / (sum of the degrees in i's component)

the last term on the touched nodes and the 256 largest hubs alone, so that rows stay sparse. On a power-law graph of
20,000 nodes at eps = 1e-4 this lifts the recall of the top 64 from 0.64 (p alone) over 0.76 (p + c r) to 0.95.

Error: |pi_i - estimate|_1 <= 2 (1-c) R, since the exact and the placed remainder both have mass at most (1-c) R; and
R <= eps * (sum of the degrees of the touched nodes) <= 2 |E| eps.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit, prange
from scipy.sparse.csgraph import connected_components

from ansgt.graph import Graph
from ansgt.heuristics.rows import TopRows, sort_by_column, take_largest

_CHUNK = 1024
_NUM_HUBS = 256


class Ordered(NamedTuple):
    """A graph and the order of its nodes by falling degree (ties: the smaller node first).

    Args:
        order: the nodes in that order [n]; `rank` is the inverse.
        number: what a node is called in the fields below [n]: its rank, so that nodes visited most lie together, or itself.
        indptr, indices: of the adjacency in these numbers.
        component: of every number [n].
        volume: sum of the degrees of every component.
    """

    order: np.ndarray
    rank: np.ndarray
    number: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    component: np.ndarray
    volume: np.ndarray


def ordered(graph: Graph) -> Ordered:
    """What every push on a graph needs, whatever node it starts at."""
    order = np.argsort(-graph.degree, kind="stable")
    adj = graph.adj[order][:, order]
    _, component = connected_components(adj, directed=False)
    volume = np.bincount(component, weights=graph.degree[order])
    csr = (adj.indptr.astype(np.int64), adj.indices.astype(np.int32))
    rank = np.argsort(order)
    return Ordered(order, rank, rank, *csr, component, volume)


def unordered(graph: Graph) -> Ordered:
    """The same without numbering the nodes anew: sooner there, for a few rows, which are those of `ordered` bit for bit."""
    degree, component = graph.degree, graph.component
    order = _by_falling_degree(degree)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    volume = np.bincount(component, weights=degree)
    return Ordered(order, rank, np.arange(len(order)), graph.indptr, graph.indices, component, volume)


@njit(cache=True)
def _by_falling_degree(degree: np.ndarray) -> np.ndarray:
    """Nodes by falling degree, equal ones in their order, by counting."""
    largest = degree.max() if len(degree) else 0
    start = np.zeros(largest + 2, dtype=np.int64)
    for one in degree:
        start[largest - one + 1] += 1
    for d in range(largest + 1):
        start[d + 1] += start[d]
    order = np.empty(len(degree), dtype=np.int64)
    for node, one in enumerate(degree):
        order[start[largest - one]] = node
        start[largest - one] += 1
    return order


class _Walk(NamedTuple):
    """A walk with restarts on a graph.

    Where nodes are numbered by falling degree those visited most lie together, so that a visit costs much the same on a
    graph of 5,000 nodes and on one of 300,000.
    """

    indptr: np.ndarray
    indices: np.ndarray
    component: np.ndarray
    volume: np.ndarray
    hubs: np.ndarray
    rank: np.ndarray
    restart: float
    eps: float


class _Scratch(NamedTuple):
    """Working arrays of one thread, of a length of n each; `state` is zero but for its thresholds between two centres."""

    state: np.ndarray
    queue: np.ndarray
    touched: np.ndarray
    scores: np.ndarray


_P, _R, _THRESHOLD = 0, 1, 2
"""Columns of a node's state; a fourth makes its row a whole number of rows in a line of the processor's cache."""


def push_rows(
    graph: Graph | Ordered, nodes: np.ndarray, restart: float, eps: float, k: int | None = None
) -> tuple[sp.csr_array, np.ndarray]:
    """PPR estimates of `nodes`, the k largest of every row (self is 0), and the residual R of every row.

    The L1 error of a complete row (``k=None``) is at most 2 (1 - restart) R.
    """
    known = graph if isinstance(graph, Ordered) else ordered(graph)
    order = known.order
    top = TopRows.empty(len(nodes), len(order) if k is None else min(k + 1, len(order)))
    residuals = np.empty(len(nodes))
    hubs = known.number[order[:_NUM_HUBS]]
    rank = known.rank[:0] if known.number is known.rank else known.rank  # none: numbers are ranks
    csr = (known.indptr, known.indices, known.component, known.volume)
    walk = _Walk(*csr, hubs, rank, float(restart), float(eps))
    _push_many(known.number[nodes], walk, order, *top, residuals)
    return top.to_csr(len(order)), residuals


@njit(cache=True, parallel=True)
def _push_many(
    nodes: np.ndarray,
    walk: _Walk,
    order: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
    residuals: np.ndarray,
) -> None:
    """Top rows of the estimate for `nodes`: values, columns [b, k], lengths [b]; residuals [b] is R."""
    degree = walk.indptr[1:] - walk.indptr[:-1]
    n = len(degree)
    for chunk in prange((len(nodes) + _CHUNK - 1) // _CHUNK):
        state = np.zeros((n, 4), dtype=np.float32)
        state[:, _THRESHOLD] = walk.eps * degree
        queue = np.empty(n + 1, dtype=np.int32)
        touched = np.empty(n + 1, dtype=np.int32)
        scores = np.empty(n, dtype=np.float32)
        scratch = _Scratch(state, queue, touched, scores)
        for b in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(nodes))):
            count = _push_one(nodes[b], walk, scratch)
            count, residuals[b] = _estimate(nodes[b], count, walk, scratch)
            if len(walk.rank):
                for at in range(count):
                    touched[at] = walk.rank[touched[at]]
            size = take_largest(scores[:count], touched[:count], values[b], columns[b])
            for at in range(size):
                columns[b, at] = order[columns[b, at]]
            sort_by_column(values[b, :size], columns[b, :size])
            lengths[b] = size


@njit(cache=True)
def _push_one(source: int, walk: _Walk, scratch: _Scratch) -> int:
    """Fills p and r of the state from zeros; returns how many nodes were touched."""
    indptr, indices, restart = walk.indptr, walk.indices, walk.restart
    state, queue, touched = scratch.state, scratch.queue, scratch.touched
    # Unsigned: of a signed place numba asks whether it is negative.
    one, zero, size = np.uint64(1), np.uint64(0), np.uint64(len(queue))
    head, tail, count = zero, one, one
    queue[0], touched[0] = source, source
    state[source, _R] = 1.0
    while head != tail:
        node = queue[head]
        head = head + one if head + one < size else zero
        residual = state[node, _R]
        state[node, _P] += restart * residual
        state[node, _R] = 0.0
        lo, hi = indptr[node], indptr[node + 1]
        if hi == lo:
            continue
        share = np.float32((1.0 - restart) * residual / (hi - lo))
        for edge in range(lo, hi):  # no branches: which way they go cannot be guessed
            other = np.uint32(indices[edge])
            before = state[other, _R]
            after = before + share
            state[other, _R] = after
            touched[count] = other
            count += np.uint64(before == 0.0) & np.uint64(state[other, _P] == 0.0)
            threshold = state[other, _THRESHOLD]
            is_new = np.uint64(after > threshold) & np.uint64(before <= threshold)  # else it waits already
            queue[tail] = other
            tail += is_new
            tail = tail if tail < size else zero
    return int(count)


@njit(cache=True)
def _estimate(source: int, count: int, walk: _Walk, scratch: _Scratch) -> tuple[int, float]:
    """Scores of the touched nodes and untouched hubs, source 0; clears the state; returns how many, and the residual."""
    indptr, component, restart = walk.indptr, walk.component, walk.restart
    state, touched, scores = scratch.state, scratch.touched, scratch.scores
    left = 0.0
    for t in range(count):
        left += state[touched[t], _R]
    far = (1.0 - restart) * left / max(walk.volume[component[source]], 1.0)
    total = np.uint64(count)
    for hub in walk.hubs:
        is_new = np.uint64(state[hub, _P] == 0.0) & np.uint64(state[hub, _R] == 0.0)
        touched[total] = hub
        total += is_new & np.uint64(component[hub] == component[source])
    for t in range(total):
        node = np.uint32(touched[t])
        degree = indptr[node + np.uint32(1)] - indptr[node]
        score = state[node, _P] + restart * state[node, _R] + far * degree
        scores[t] = np.float32(0.0 if node == source else score)
        state[node, _P], state[node, _R] = 0.0, 0.0
    return int(total), left
