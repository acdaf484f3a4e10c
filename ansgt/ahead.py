"""`ahead`: an iterator that a thread keeps a few items ahead of whoever reads it."""

import contextvars
import functools
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from numba import njit, prange
from numba.np.ufunc.parallel import threading_layer

T = TypeVar("T")
_END = object()


def ahead(items: Iterable[T], depth: int = 1) -> Iterator[T]:
    """The items in their order, made by a thread while the reader works on earlier ones.

    At most `depth` finished items wait. An exception of the items is raised here; a reader that stops ends the thread.
    Where compiled loops must not run in two threads at once, the items are made by the reader itself.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    if not computes_in_threads():
        yield from items
        return
    finished: queue.Queue[object] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(item: object) -> bool:
        while not stopped.is_set():
            try:
                finished.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(_END)
        except BaseException as error:  # whatever it is, the reader gets it
            put(_Raised(error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(make,), daemon=True)
    thread.start()
    try:
        while (item := finished.get()) is not _END:
            if isinstance(item, _Raised):
                raise item.error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()


@functools.cache
def computes_in_threads() -> bool:
    """Whether compiled loops may run in two threads at once: numba's last resort, "workqueue", ends the process then."""
    _loop(np.zeros(1))  # decides which threads numba takes
    chosen: str = threading_layer()  # type: ignore[no-untyped-call]
    return chosen != "workqueue"


@njit(cache=True, parallel=True)
def _loop(values: np.ndarray) -> None:
    for i in prange(len(values)):
        values[i] += 1.0


class _Raised:
    """An exception on its way to the reader."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
