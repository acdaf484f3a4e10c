"""Kernels of Variation Neighborhoods: the cost of every closed neighbourhood, and greedy selection among them.

The cost of contracting a set C is the variation of its test vectors about their mean (Loukas 2019, section 4.1),

    cost(C) = ‖ Π_C^⊥ A ‖²_{L_C} / (|C| - 1),    L_C = L restricted to edges inside C + 2 diag(degree to outside).

We take the trace of the K×K energy (Loukas' code takes its Frobenius norm; both bound the spectral norm). With the trace
an inner edge contributes w_jk ‖a_j - a_k‖² whatever the mean is, so it is computed once per edge and a set costs a scalar
per edge instead of K. Inner edges are found through their end of lower degree, so that a hub is never scanned for each of
the thousands of sets it belongs to. The two together are most of the speed on graphs with hubs.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit, prange

from ansgt.coarsening.matching import Limits
from ansgt.linalg import CSR

CHUNKS = 64
"""Nodes are costed in this many chunks, each with its own scratch; no result depends on who runs which."""


class Neighborhoods(NamedTuple):
    """The closed neighbourhoods of a contracted graph, and what their costs depend on.

    Args:
        indptr, indices: CSR of the neighbours.
        edge_ptr, edge_end, edge_weight: CSR of every edge once, at its end of fewer neighbours (`orient`).
        degree: weight that leaves each cluster [m].
        size: number of original nodes in each cluster [m].
        vectors: the test vectors A [m, k].
        variation: w_ij ‖a_i - a_j‖² of each of these edges.
    """

    indptr: np.ndarray
    indices: np.ndarray
    edge_ptr: np.ndarray
    edge_end: np.ndarray
    edge_weight: np.ndarray
    degree: np.ndarray
    size: np.ndarray
    vectors: np.ndarray
    variation: np.ndarray


@njit(parallel=True, cache=True)
def edge_variation(adj: CSR, vectors: np.ndarray) -> np.ndarray:
    """w_ij ‖a_i - a_j‖² of every stored edge [nnz] of a CSR graph, symmetric or oriented."""
    indptr, indices, weights = adj
    out = np.empty(len(indices), dtype=np.float64)
    for i in prange(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            total = 0.0
            for k in range(vectors.shape[1]):
                step = vectors[i, k] - vectors[indices[e], k]
                total += step * step
            out[e] = weights[e] * total
    return out


@njit(cache=True)
def orient(adj: CSR) -> CSR:
    """CSR with every edge once, stored at its end of fewer neighbours (ties: the smaller index)."""
    indptr, indices, weights = adj
    n = len(indptr) - 1
    out_ptr = np.zeros(n + 1, dtype=np.int64)
    out_col = np.empty(len(indices) // 2, dtype=np.int32)
    out_val = np.empty(len(indices) // 2, dtype=np.float64)
    filled = 0
    for i in range(n):
        own = indptr[i + 1] - indptr[i]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            other = indptr[j + 1] - indptr[j]
            if own < other or (own == other and i < j):
                out_col[filled] = j
                out_val[filled] = weights[e]
                filled += 1
        out_ptr[i + 1] = filled
    return CSR(out_ptr, out_col, out_val)


@njit(cache=True)
def _collect(i: int, sets: Neighborhoods, taken: np.ndarray, members: np.ndarray) -> tuple[int, int]:
    """Free members of the closed neighbourhood of i into `members`; their number and how many nodes they hold."""
    count, total = 0, 0
    if not taken[i]:
        members[0] = i
        count, total = 1, sets.size[i]
    for e in range(sets.indptr[i], sets.indptr[i + 1]):
        j = sets.indices[e]
        if not taken[j]:
            members[count] = j
            count += 1
            total += sets.size[j]
    return count, total


@njit(cache=True)
def _cost(
    members: np.ndarray, sets: Neighborhoods, place: np.ndarray, outside: np.ndarray, mean: np.ndarray
) -> float:
    """Cost of contracting `members`; `place`, `outside` and `mean` are scratch, the first is all -1 and is left so."""
    size, vectors = sets.size, sets.vectors
    mean[:] = 0.0
    total = 0.0
    for at, j in enumerate(members):
        place[j] = at
        outside[at] = sets.degree[j]
        total += size[j]
        for k in range(len(mean)):
            mean[k] += size[j] * vectors[j, k]
    for k in range(len(mean)):
        mean[k] /= total
    energy = 0.0
    for at, j in enumerate(members):
        for e in range(sets.edge_ptr[j], sets.edge_ptr[j + 1]):
            other = place[sets.edge_end[e]]
            if other >= 0:
                energy += sets.variation[e]
                outside[at] -= sets.edge_weight[e]
                outside[other] -= sets.edge_weight[e]
    for at, j in enumerate(members):
        place[j] = -1
        distance = 0.0
        for k in range(len(mean)):
            step = vectors[j, k] - mean[k]
            distance += step * step
        energy += 2.0 * outside[at] * distance
    return energy / (len(members) - 1)


@njit(parallel=True, cache=True)
def neighborhood_costs(sets: Neighborhoods, cap: int) -> np.ndarray:
    """Cost of the closed neighbourhood of every node [n]; infinite where it holds more than `cap` nodes or only one."""
    n = len(sets.indptr) - 1
    out = np.full(n, np.inf)
    widest = _widest(sets)
    for chunk in prange(CHUNKS):
        place = np.full(n, -1, dtype=np.int32)
        outside = np.empty(widest)
        free = np.zeros(n, dtype=np.bool_)
        members = np.empty(widest, dtype=np.int64)
        mean = np.empty(sets.vectors.shape[1])
        for i in range(chunk, n, CHUNKS):
            count, total = _collect(i, sets, free, members)
            if count > 1 and total <= cap:
                out[i] = _cost(members[:count], sets, place, outside, mean)
    return out


@njit(cache=True)
def _widest(sets: Neighborhoods) -> int:
    """Members of the largest closed neighbourhood."""
    widest = 1
    for i in range(len(sets.indptr) - 1):
        widest = max(widest, sets.indptr[i + 1] - sets.indptr[i] + 1)
    return widest


@njit(cache=True)
def _nearest(members: np.ndarray, centre: int, sets: Neighborhoods, most: int, cap: int) -> np.ndarray:
    """The members nearest to `centre` in the subspace, at most `most` of them and at most `cap` nodes in all."""
    size, vectors = sets.size, sets.vectors
    distance = np.zeros(len(members))
    for at, j in enumerate(members):
        for k in range(vectors.shape[1]):
            step = vectors[j, k] - vectors[centre, k]
            distance[at] += step * step
    order = np.argsort(distance, kind="mergesort")
    kept = np.empty(min(most, len(members)), dtype=np.int64)
    count, total = 0, 0
    for at in order:
        j = members[at]
        if count < len(kept) and total + size[j] <= cap:
            kept[count] = j
            count += 1
            total += size[j]
    return kept[:count]


@njit(cache=True)
def select_neighborhoods(
    sets: Neighborhoods, costs: np.ndarray, rank: np.ndarray, limits: Limits
) -> tuple[np.ndarray, int]:
    """Greedy choice of disjoint sets, cheapest first (ties by `rank`), until the budget is spent or no set is left.

    A set that lost members to another is costed again and goes back into the heap. A set over `cap`, or over what is left
    of the budget, keeps the members nearest to its centre.

    Returns:
        label [n] (a node's own index, or that of its set's first member) and the number of nodes saved.
    """
    indptr, (budget, cap) = sets.indptr, limits
    n, widest = len(indptr) - 1, _widest(sets)
    label = np.arange(n)
    taken = np.zeros(n, dtype=np.bool_)
    place = np.full(n, -1, dtype=np.int32)
    members = np.empty(widest, dtype=np.int64)
    outside = np.empty(widest)
    mean = np.empty(sets.vectors.shape[1])
    known = np.empty(n, dtype=np.int64)  # free members when last costed
    heap = [(costs[i], rank[i], i) for i in range(n) if indptr[i + 1] > indptr[i]]
    for i in range(n):
        known[i] = indptr[i + 1] - indptr[i] + 1
    heapq.heapify(heap)
    saved = 0
    while saved < budget and len(heap) > 0:
        _, order, i = heapq.heappop(heap)
        count, total = _collect(i, sets, taken, members)
        if count < 2:
            continue
        chosen = members[:count]
        if total > cap or count - 1 > budget - saved:
            chosen = _nearest(chosen, i, sets, budget - saved + 1, cap)
            if len(chosen) < 2:
                continue
        if count != known[i]:  # of infinite cost only sets like it are left
            again = _cost(chosen, sets, place, outside, mean)
            known[i] = count
            if len(heap) > 0 and again > heap[0][0]:
                heapq.heappush(heap, (again, order, i))
                continue
        for j in chosen:
            taken[j] = True
            label[j] = chosen[0]
        saved += len(chosen) - 1
    return label, saved
