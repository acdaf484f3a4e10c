"""All pairs as bytes: the rows of about the largest inner products, to be ranked exactly by whoever asks.

A processor with AVX512-VNNI multiplies bytes eight times as fast as float32. The sums are whole numbers, so what is found
depends on no number of threads and on no order.
"""

import math

import numpy as np
import torch
from numba import njit, prange

_QUERIES, _POINTS = 1024, 2048
"""A tile of products: some megabytes stay near the processor."""
_GROUP = 64
"""Products that are compared with a threshold together: where none is larger, that takes a few instructions."""


class ByteScan:
    """Rows as whole numbers of -127 .. 127, all by one scale, in random order.

    Args:
        points: [n, p].
    """

    def __init__(self, points: np.ndarray) -> None:
        self._order = np.random.default_rng(0).permutation(len(points)).astype(np.int32)
        largest = max(float(points.max(initial=0)), -float(points.min(initial=0)))
        self._scale = np.float32(127 / largest if largest else 1.0)
        self._rows = torch.empty(points.shape, dtype=torch.int8)
        for start in range(0, len(points), _POINTS):
            end = start + _POINTS
            self._rows[start:end] = self._bytes(points[self._order[start:end]])

    def search(self, rows: np.ndarray, number: int) -> np.ndarray:
        """Points of about the largest inner products with each row [len(rows), number], in any order; -1 where too few."""
        found = np.full((len(rows), number), -1, dtype=np.int32)
        for start in range(0, len(rows), _QUERIES):
            self._search(rows[start : start + _QUERIES], found[start : start + _QUERIES])
        return found

    def _search(self, rows: np.ndarray, found: np.ndarray) -> None:
        queries, number = self._bytes(rows), found.shape[1]
        keys = np.empty((len(rows), 2 * number + _GROUP), dtype=np.int64)
        count = np.zeros(len(rows), dtype=np.int64)
        least = np.full(len(rows), np.iinfo(np.int32).min, dtype=np.int32)
        products = torch.empty(len(rows) * _POINTS, dtype=torch.int32)
        for start in range(0, len(self._rows), _POINTS):
            points = self._rows[start : start + _POINTS]
            tile = products[: len(rows) * len(points)].view(len(rows), len(points))
            torch._int_mm(queries, points.t(), out=tile)
            seen = number * (start + len(points)) / len(self._rows)  # of the best, in a random order
            wanted = min(number, math.ceil(seen + 3 * math.sqrt(seen) + 3))
            _take(tile.numpy(), start, wanted, keys, count, least)
        _name(keys, count, self._order, found)

    def _bytes(self, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.rint(rows * self._scale).clip(-127, 127).astype(np.int8))


@njit(cache=True)
def _best_first(keys: np.ndarray, count: np.uint64, wanted: int) -> np.int32:
    """Puts the `wanted` largest of the first `count` before the others; returns the product of the least of them."""
    low, high = 0, np.int64(count) - 1  # Hoare's selection: the place of the last wanted is between them
    while low < high:
        pivot = keys[(low + high) >> 1]
        left, right = low, high
        while left <= right:
            while keys[left] > pivot:
                left += 1
            while keys[right] < pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if wanted - 1 <= right:
            high = right
        elif wanted - 1 >= left:
            low = left
        else:
            break
    return np.int32(keys[wanted - 1] >> 32)


@njit(cache=True, parallel=True)
def _take(
    tile: np.ndarray, start: int, wanted: int, keys: np.ndarray, count: np.ndarray, least: np.ndarray
) -> None:
    """Keeps products above the threshold of their row; where they are twice the `wanted`, the best `wanted` of them.

    Args:
        tile: products [rows, points]; start: number of the first of the points.
        keys: products kept, each before the number of its point; count: how many [rows].
        least: thresholds [rows].
    """
    for row in prange(len(tile)):
        products, own = tile[row], keys[row]
        kept, bound = np.uint64(count[row]), least[row]
        for group in range(len(products) // _GROUP + 1):
            first = np.uint64(group * _GROUP)
            end = np.uint64(min(group * _GROUP + _GROUP, len(products)))
            if end - first == np.uint64(_GROUP):
                some = np.int32(0)
                for at in range(np.uint64(_GROUP)):  # as many as are known before: 16 of them per instruction
                    some |= np.int32(products[first + at] > bound)
                if some == 0:
                    continue
            for at in range(first, end):
                product = products[at]
                own[kept] = (np.int64(product) << 32) | np.int64(np.uint64(start) + at)
                kept += np.uint64(product > bound)
            if kept >= np.uint64(2 * wanted):
                bound, kept = _best_first(own, kept, wanted), np.uint64(wanted)
        count[row], least[row] = kept, bound


@njit(cache=True, parallel=True)
def _name(keys: np.ndarray, count: np.ndarray, order: np.ndarray, found: np.ndarray) -> None:
    number = found.shape[1]
    for row in prange(len(found)):
        if count[row] > number:
            _best_first(keys[row], np.uint64(count[row]), number)
        for at in range(min(number, count[row])):
            found[row, at] = order[keys[row, at] & np.int64(0xFFFFFFFF)]
