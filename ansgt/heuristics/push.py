"""Forward push for personalised PageRank, parallel over centres, the same result for any number of threads.

For a centre i the push keeps an estimate p and a residual r with pi_i = p + sum_u r_u pi_u, where pi_u is the PPR vector of u
(Andersen, Chung and Lang, 2006). A node is pushed while r_u > eps * degree(u). We return p + c r: every residual
sits at least with probability c where it is, so that costs nothing and halves the nodes missing from the top.

Error: all terms are non-negative, so |pi_i - estimate|_1 = (1-c) sum_u r_u exactly, and sum_u r_u <= eps * (sum of the
degrees of the touched nodes) <= 2 |E| eps.
"""

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from ansgt.graph import Graph
from ansgt.heuristics.topk import keep_largest

_CHUNK = 256


@njit(cache=True)
def _push_one(
    source: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    restart: float,
    eps: float,
    mass: np.ndarray,
    queued: np.ndarray,
    queue: np.ndarray,
    touched: np.ndarray,
) -> int:
    """Fills mass[:, 0] = p and mass[:, 1] = r from zeros; returns how many nodes were touched."""
    size = np.int64(len(queue))
    head, waiting, count = np.int64(0), np.int64(1), np.int64(1)
    queue[0], touched[0], mass[source, 1] = source, source, 1.0
    queued[source] = True
    while waiting > 0:
        node = queue[head]
        head = head + 1 if head + 1 < size else 0
        waiting -= 1
        queued[node] = False
        residual = mass[node, 1]
        lo, hi = indptr[node], indptr[node + 1]
        mass[node, 0] += restart * residual
        mass[node, 1] = 0.0
        if hi == lo:
            continue
        share = (1.0 - restart) * residual / (hi - lo)
        for edge in range(lo, hi):
            other = indices[edge]
            before = mass[other, 1]
            after = before + share
            mass[other, 1] = after
            if before == 0.0 and mass[other, 0] == 0.0:
                touched[count] = other
                count += 1
            if not queued[other] and after > eps * (indptr[other + 1] - indptr[other]):
                tail = head + waiting
                queue[tail if tail < size else tail - size] = other
                queued[other] = True
                waiting += 1
    return count


@njit(cache=True, parallel=True)
def _push_many(
    nodes: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    restart: float,
    eps: float,
    values: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
    residuals: np.ndarray,
) -> None:
    """Top rows of the estimate for `nodes`: values, columns [b, k], lengths [b]; residuals [b] is sum_u r_u."""
    n = len(indptr) - 1
    for chunk in prange((len(nodes) + _CHUNK - 1) // _CHUNK):
        mass = np.zeros((n, 2))
        queued = np.zeros(n, dtype=np.bool_)
        queue = np.empty(n, dtype=np.int32)
        touched = np.empty(n, dtype=np.int32)
        estimate = np.empty(n, dtype=np.float32)
        for b in range(chunk * _CHUNK, min((chunk + 1) * _CHUNK, len(nodes))):
            count = _push_one(nodes[b], indptr, indices, restart, eps, mass, queued, queue, touched)
            left = 0.0
            for t in range(count):
                node = touched[t]
                left += mass[node, 1]
                estimate[t] = np.float32(mass[node, 0] + restart * mass[node, 1])
                if node == nodes[b]:
                    estimate[t] = np.float32(0.0)
                mass[node, 0] = 0.0
                mass[node, 1] = 0.0
            residuals[b] = left
            lengths[b] = keep_largest(estimate[:count], touched[:count], values[b], columns[b])


def push_rows(
    graph: Graph, nodes: np.ndarray, restart: float, eps: float, k: int | None = None
) -> tuple[sp.csr_array, np.ndarray]:
    """PPR estimates of `nodes`, the k largest of every row, self left out; and the residual mass of every row.

    The L1 error of a complete row (``k=None``) is (1 - restart) times its residual.
    """
    k = graph.num_nodes if k is None else min(k + 1, graph.num_nodes)
    values = np.empty((len(nodes), k), dtype=np.float32)
    columns = np.empty((len(nodes), k), dtype=np.int32)
    lengths = np.zeros(len(nodes), dtype=np.int64)
    residuals = np.zeros(len(nodes))
    _push_many(nodes, graph.indptr, graph.indices, restart, eps, values, columns, lengths, residuals)
    kept = np.arange(k) < lengths[:, None]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(nodes), graph.num_nodes)
    return sp.csr_array((values[kept], columns[kept], indptr), shape=shape), residuals
