"""What the clustering step returns, its stop-watch, and the thread settings that keep it repeatable."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numba
import numpy as np
from threadpoolctl import ThreadpoolController

SERIAL_BELOW = 1_000_000
"""Steps of work (stored edges times visits) below which a second thread costs more than it brings."""

_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


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
def steady_threads(work: int) -> Iterator[None]:
    """One BLAS thread (its sums depend on the number of threads, ours do not), and numba threads as `work` deserves."""
    threads = numba.get_num_threads()
    token = _allowed.set(threads)
    try:
        with _controller().limit(limits=1, user_api="blas"), worker_threads(work):
            yield
    finally:
        _allowed.reset(token)
        numba.set_num_threads(threads)


@contextmanager
def worker_threads(work: int) -> Iterator[None]:
    """All numba threads the caller of `steady_threads` had, or one where the work is small."""
    before = numba.get_num_threads()
    numba.set_num_threads((_allowed.get() or before) if work >= SERIAL_BELOW else 1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


_known: list[ThreadpoolController] = []


def _controller() -> ThreadpoolController:
    """Looking for the loaded BLAS libraries takes milliseconds, so it is done once."""
    if not _known:
        _known.append(ThreadpoolController())
    return _known[0]
