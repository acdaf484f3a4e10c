"""One computation at a time: whoever trains, predicts or explains takes a turn, with torch as ansgt expects it.

Torch's global generators and its default dtype belong to the whole process, and a trained model has one set of tables.
Threads therefore take turns. A turn is short: building a model, one epoch, one prediction.
"""

import functools
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from threadpoolctl import ThreadpoolController

from ansgt.errors import InputError

_lock = threading.RLock()
_had_turns = False
_lost_threads = False
"""In a forked child: whether its parent had started numba's threads, which do not survive a fork."""
_lost_team = False
"""In a forked child: whether its parent had computed at all. Numba's first team would wait for the threads of torch's."""


def check_threads(compiled: bool = True) -> None:
    """Raises `InputError` in a forked child that cannot compute: there numba would end the process by a signal, or hang.

    Args:
        compiled: whether loops compiled by numba are about to run; torch can do more after a fork.
    """
    if _lost_threads or (compiled and _lost_team):
        raise InputError(
            "This process was forked from one in which ansgt had computed with threads, and those do not survive a fork: "
            "here a classifier can predict its training graph alone; start processes by 'spawn' or 'forkserver'."
        )


@contextmanager
def turn() -> Iterator[None]:
    """A block that no other thread of this process computes in; a thread may nest blocks.

    Inside, gradients are on, inference mode and autocast are off, and tensors are float32 on the CPU by default, whatever
    the caller chose; all of it is given back. Raises `InputError` in a forked child that cannot compute.
    """
    global _had_turns
    check_threads(compiled=False)
    with _lock, _plain_torch():
        _had_turns = True
        yield


@contextmanager
def _plain_torch() -> Iterator[None]:
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float32)
    if _numba_layer() == "omp":
        _set_threads(sys.modules["numba"].config.NUMBA_NUM_THREADS)
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            if torch.get_default_device().type != "cpu":
                stack.enter_context(torch.device("cpu"))
            for kind in ("cpu", "cuda"):
                if torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            yield
    finally:
        torch.set_default_dtype(dtype)
        _set_threads(threads)


def _set_threads(number: int) -> None:
    """How many OpenMP threads this Python thread computes with; not BLAS, which goes by what it read at its start.

    Numba's OpenMP, when it starts, changes the number that torch goes by, but in the Python thread it starts in alone. Sums
    depend on the number, so every thread gets the same for the time of a turn.
    """
    if torch.get_num_threads() != number:
        for library in _openmp():
            library.set_num_threads(number)


@functools.cache
def _openmp() -> list[Any]:
    return list(ThreadpoolController().select(user_api="openmp").lib_controllers)


def _after_fork() -> None:
    """In the child: a lock that no vanished thread holds, and no OpenMP team that waits for threads that are gone."""
    global _lock, _lost_threads, _lost_team
    _lock = threading.RLock()
    _lost_threads = _lost_threads or _numba_layer() == "omp"
    _lost_team = _lost_team or _had_turns
    if _had_turns:
        torch.set_num_threads(1)


def _numba_layer() -> str | None:
    """Which threads numba has started, if any."""
    numba = sys.modules.get("numba")
    if numba is None:
        return None
    try:
        return str(numba.threading_layer())
    except ValueError:
        return None


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)
