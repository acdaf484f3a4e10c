"""Kernels that merge clusters two by two: greedy matching along edges, and two-hop merging where a hub blocks it."""

from typing import NamedTuple

import numpy as np
from numba import njit

from ansgt.linalg import CSR


class Limits(NamedTuple):
    """At most `budget` clusters are merged away, and no result holds more than `cap` nodes."""

    budget: int
    cap: int


@njit(cache=True)
def greedy_matching(
    row: np.ndarray, col: np.ndarray, order: np.ndarray, size: np.ndarray, limits: Limits
) -> tuple[np.ndarray, int]:
    """Takes the edges (row, col) in the given order and merges two free ends, within the limits.

    Returns:
        label [n] and the number of clusters saved.
    """
    label = np.arange(len(size))
    taken = np.zeros(len(size), dtype=np.bool_)
    saved = 0
    for e in order:
        if saved == limits.budget:
            break
        i, j = row[e], col[e]
        if taken[i] or taken[j] or size[i] + size[j] > limits.cap:
            continue
        taken[i] = taken[j] = True
        label[j] = i
        saved += 1
    return label, saved


@njit(cache=True)
def two_hop(
    adj: CSR, size: np.ndarray, vectors: np.ndarray, label: np.ndarray, order: np.ndarray, limits: Limits
) -> int:
    """Pairs unmerged neighbours of a common node, those next to each other along the first test vector; changes `label`.

    Around a hub a matching keeps only one of its many leaves; without this step levels would shrink by one node at a time.

    Returns:
        The number of clusters saved.
    """
    n = len(size)
    taken = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        if label[i] != i:
            taken[i] = taken[label[i]] = True
    saved = 0
    free = np.empty(n, dtype=np.int64)
    for hub in order:
        if saved == limits.budget:
            break
        count = 0
        for e in range(adj.indptr[hub], adj.indptr[hub + 1]):
            if not taken[adj.indices[e]]:
                free[count] = adj.indices[e]
                count += 1
        near = free[:count].copy()
        if vectors.shape[1] > 0:
            near = near[np.argsort(vectors[near, 0], kind="mergesort")]
        last = -1
        for j in near:
            if last < 0:
                last = j
            elif size[last] + size[j] <= limits.cap and saved < limits.budget:
                label[j] = last
                taken[j] = taken[last] = True
                saved += 1
                last = -1
            elif size[j] < size[last]:
                last = j
    return saved
