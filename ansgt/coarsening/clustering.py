"""What the clustering step returns, its stop-watch, and the thread settings that keep it repeatable."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numba
import numpy as np
from threadpoolctl import ThreadpoolController

SERIAL_BELOW = 200_000
"""Stored edges below which starting a second thread costs more than it brings."""


@dataclass(frozen=True, eq=False)
class Clustering:
    """An assignment of nodes to clusters 0..num_clusters-1 [n], the levels it took, and why it missed its target."""

    assignment: np.ndarray
    num_clusters: int
    levels: int = 1
    reason: str | None = None


class Stopwatch:
    """Adds up wall-clock seconds per phase.

    >>> watch = Stopwatch()
    >>> with watch("levels"):
    ...     pass
    >>> sorted(watch.seconds())
    ['levels', 'total']
    """

    def __init__(self) -> None:
        self._phases: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._phases[phase] = self._phases.get(phase, 0.0) + time.perf_counter() - began

    def seconds(self) -> dict[str, float]:
        return {**self._phases, "total": sum(self._phases.values())}


@contextmanager
def steady_threads(num_stored_edges: int) -> Iterator[None]:
    """One BLAS thread (its sums depend on the number of threads, ours do not), and one numba thread for small graphs."""
    threads = numba.get_num_threads()
    try:
        if num_stored_edges < SERIAL_BELOW:
            numba.set_num_threads(1)
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        numba.set_num_threads(threads)


_known: list[ThreadpoolController] = []


def _controller() -> ThreadpoolController:
    """Looking for the loaded BLAS libraries takes milliseconds, so it is done once."""
    if not _known:
        _known.append(ThreadpoolController())
    return _known[0]
