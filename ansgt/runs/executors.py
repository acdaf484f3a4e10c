"""Many small runs at a time: worker processes of this machine, a Dask cluster, or any `concurrent.futures.Executor`.

A task is a value that pickle takes, and so are the function that works on it and what that returns. A task keeps what it did
in a run directory, so it may be started again: one whose worker was killed is, and goes on where it was.

>>> from concurrent.futures import ThreadPoolExecutor
>>> with ThreadPoolExecutor(2) as pool:
...     sorted(done.result for done in run_all(len, ["a", "bc"], Workers(executor=pool)))
[1, 2]
"""

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from ansgt.device import resolve_device
from ansgt.errors import InputError, reason
from ansgt.runs.record import versions

Task = TypeVar("Task")
Result = TypeVar("Result")
TRIALS = 3
"""How often a task is started whose worker process ends under it."""
PATIENCE = 10
"""Seconds to wait for a cluster's scheduler."""


@dataclass(frozen=True)
class Workers:
    """Who does the work.

    Args:
        number: tasks at a time, each in a process of its own with one thread; 1: in this process, one after another.
        executor: any `concurrent.futures.Executor`, in place of processes of this machine. Its workers must see the folders
            that tasks name. It restarts lost tasks by itself if it can, as Dask's does.
    """

    number: int = 1
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise InputError(f"workers must be at least 1, not {self.number}.")


def workers_for(device: str) -> int:
    """How many small runs a machine trains at a time: one per CPU core, or one on CUDA."""
    if resolve_device(device) != "cpu":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Done(Generic[Task, Result]):
    """A task that has come to its end.

    Args:
        number: its place among the tasks.
        task: itself.
        result: what the work returned; None where it raised.
        error: what it raised, or how its worker ended.
    """

    number: int
    task: Task
    result: Result | None = None
    error: Exception | None = None


def run_all(
    work: Callable[[Task], Result], tasks: Sequence[Task], workers: Workers = Workers()
) -> Iterator[Done[Task, Result]]:
    """Works on all tasks and yields them as they end, in any order; one that fails does not stop the rest.

    Args:
        work: a function of a module, which pickle finds by its name.
        tasks: values that pickle takes.
        workers: who does the work.
    """
    if workers.executor is not None:
        yield from _submitted(workers.executor, work, dict(enumerate(tasks)))
    elif min(workers.number, len(tasks)) <= 1:
        for number, task in enumerate(tasks):
            yield _done(number, task, lambda task=task: work(task))  # type: ignore[misc]
    else:
        yield from _in_processes(work, tasks, min(workers.number, len(tasks)))


def _in_processes(
    work: Callable[[Task], Result], tasks: Sequence[Task], number: int
) -> Iterator[Done[Task, Result]]:
    """A process that is killed breaks the pool of all: what was lost is tried in a new one, at last one by one."""
    left = dict(enumerate(tasks))
    for trial in range(1, TRIALS + 1):
        last = trial == TRIALS
        pools = [{at: task} for at, task in left.items()] if last else [left]
        for part in pools:
            with _pool(1 if last else number) as pool:
                for done in _submitted(pool, work, dict(part)):
                    if last or not isinstance(done.error, BrokenExecutor):
                        del left[done.number]
                        yield done


@contextmanager
def _pool(number: int) -> Iterator[Executor]:
    """Processes of this machine; an interrupt ends them at once: their runs have checkpoints."""
    context = multiprocessing.get_context("spawn")  # a forked torch may hang in its thread pool
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(number, mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(
    executor: Executor, work: Callable[[Task], Result], tasks: Mapping[int, Task]
) -> Iterator[Done[Task, Result]]:
    waiting: dict[Future[Result], int] = {}
    try:
        for number, task in tasks.items():
            waiting[executor.submit(work, task)] = number
    except BrokenExecutor as error:  # a worker died while tasks were handed out
        handed = set(waiting.values())
        yield from (Done(at, task, error=error) for at, task in tasks.items() if at not in handed)
    try:
        for future in as_completed(waiting):
            number = waiting[future]
            yield _done(number, tasks[number], future.result)
    finally:
        for future in waiting:
            future.cancel()


def _done(number: int, task: Task, work: Callable[[], Result]) -> Done[Task, Result]:
    try:
        return Done(number, task, result=work())
    except Exception as error:
        return Done(number, task, error=error)


def _begin() -> None:
    """Workers share the cores between them: threads of one would only wait for those of another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent decides
    torch.set_num_threads(1)
    if "numba" not in sys.modules:  # it reads the variable once
        os.environ["NUMBA_NUM_THREADS"] = "1"


def why_lost(error: Exception) -> str:
    """One sentence on a task whose work raised, or whose worker ended under it.

    >>> why_lost(BrokenExecutor("a process was terminated"))
    'the worker process ended: a process was terminated'
    """
    lost = isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
    return (
        f"the worker process ended: {reason(error)}" if lost else f"{type(error).__name__}: {reason(error)}"
    )


@contextmanager
def dask_cluster(address: str) -> Iterator[Executor]:
    """The executor of a Dask cluster whose workers have the same versions; Dask restarts the tasks of workers that die.

    Args:
        address: of the scheduler, `tcp://host:port`.
    """
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        raise InputError("Dask is not installed; pip install 'ansgt[cluster]'.") from None
    try:
        client = dask.Client(address, timeout=PATIENCE, set_as_default=False)
    except Exception as error:  # of sockets, of parsing, of Dask's own
        raise InputError(f"No Dask scheduler answers at {address[:80]!r}: {reason(error)}.") from None
    with client:
        _check_workers(client)
        yield client.get_executor(pure=False)


def _check_workers(client: Any) -> None:
    """Refuses a cluster that may compute other numbers, before anything is sent to it."""
    try:
        found: dict[str, dict[str, str]] = client.run(versions)
    except Exception as error:
        raise InputError(f"The workers of the cluster cannot import ansgt: {reason(error)}.") from None
    if not found:
        raise InputError("The cluster has no workers yet; start some with `dask worker`.")
    own = versions()
    for worker, others in found.items():
        for package in ("ansgt", "torch"):
            if others[package] != own[package]:
                raise InputError(
                    f"Worker {worker} has {package} {others[package]}, but this is {package} {own[package]}."
                )
