"""Kernels that merge clusters two by two: greedy matching along edges, and two-hop merging where a hub blocks it."""

import numpy as np
from numba import njit


@njit(cache=True)
def greedy_matching(
    row: np.ndarray, col: np.ndarray, order: np.ndarray, size: np.ndarray, budget: int, cap: int
) -> tuple[np.ndarray, int]:
    """Takes the edges (row, col) in the given order; merges two free ends, until `budget` clusters are saved.

    Returns:
        label [n] and the number of clusters saved.
    """
    label = np.arange(len(size))
    taken = np.zeros(len(size), dtype=np.bool_)
    saved = 0
    for e in order:
        if saved == budget:
            break
        i, j = row[e], col[e]
        if taken[i] or taken[j] or size[i] + size[j] > cap:
            continue
        taken[i] = taken[j] = True
        label[j] = i
        saved += 1
    return label, saved


@njit(cache=True)
def two_hop(
    indptr: np.ndarray,
    indices: np.ndarray,
    size: np.ndarray,
    vectors: np.ndarray,
    label: np.ndarray,
    order: np.ndarray,
    budget: int,
    cap: int,
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
        count = 0
        for e in range(indptr[hub], indptr[hub + 1]):
            if not taken[indices[e]]:
                free[count] = indices[e]
                count += 1
        if count < 2 or saved == budget:
            continue
        near = free[:count].copy()
        if vectors.shape[1] > 0:
            near = near[np.argsort(vectors[near, 0], kind="mergesort")]
        last = -1
        for j in near:
            if last < 0:
                last = j
            elif size[last] + size[j] <= cap and saved < budget:
                label[j] = last
                taken[j] = taken[last] = True
                saved += 1
                last = -1
            elif size[j] < size[last]:
                last = j
    return saved
