"""All pairs as bytes: almost all of the nearest are found, whatever the order, the number of threads and the ties."""

import numba
import numpy as np
import torch

from ansgt.heuristics.knn import unit_rows
from ansgt.heuristics.scan import ByteScan, _best_first


def noise(n: int, width: int = 24) -> np.ndarray:
    return unit_rows(np.random.default_rng(0).normal(size=(n, width)).astype(np.float32))


def share_of_nearest(points: np.ndarray, rows: np.ndarray, wanted: int, number: int) -> float:
    """How many of the `wanted` nearest are among the `number` found."""
    found = ByteScan(points).search(rows, number)
    nearest = np.argsort(-(rows @ points.T), axis=1, kind="stable")[:, :wanted]
    return float(np.mean([np.isin(best, one).mean() for best, one in zip(nearest, found, strict=True)]))


def test_twice_as_many_hold_nearly_all_of_the_nearest() -> None:
    points = noise(5000)  # two tiles and a part of a third
    assert share_of_nearest(points, points[::9], 20, 40) > 0.99
    by_class = points[np.argsort(points[:, 0])]  # nodes that lie side by side are alike
    assert share_of_nearest(by_class, by_class[::9], 20, 40) > 0.99


def test_fewer_points_than_wanted_and_points_that_are_all_the_same() -> None:
    few = np.sort(ByteScan(noise(70)).search(noise(3), 100), axis=1)
    np.testing.assert_array_equal(few[:, :30], -1)
    np.testing.assert_array_equal(few[:, 30:], np.tile(np.arange(70), (3, 1)))
    for value in (0.0, 0.5):
        found = ByteScan(np.full((3000, 4), value, dtype=np.float32)).search(
            np.full((2, 4), value, dtype=np.float32), 10
        )
        assert all(len(set(row)) == 10 and min(row) >= 0 for row in found.tolist())


def test_threads_change_nothing() -> None:
    points, threads = noise(3000), (torch.get_num_threads(), numba.get_num_threads())
    several = ByteScan(points).search(points[:50], 30)
    try:
        torch.set_num_threads(1)
        numba.set_num_threads(1)
        np.testing.assert_array_equal(ByteScan(points).search(points[:50], 30), several)
    finally:
        torch.set_num_threads(threads[0])
        numba.set_num_threads(threads[1])


def test_the_best_come_first() -> None:
    rng = np.random.default_rng(0)
    for number in range(1, 40):
        keys = rng.integers(0, 30, 40) << 32
        best = np.sort(keys)[::-1][:number]
        assert _best_first(keys, np.uint64(40), number) == best[-1] >> 32
        np.testing.assert_array_equal(np.sort(keys[:number])[::-1], best)
