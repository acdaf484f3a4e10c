"""Making the records of an item: tasks in parallel, through any executor; what was made is not made again."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ansgt.errors import BusyError, InputError
from ansgt.reproduce.item import Item, work_folder
from ansgt.reproduce.task import Setup, Task, provenance
from ansgt.runs.executors import Workers, run_all, why_lost
from ansgt.storage import folder_lock, read_json, write_json


@dataclass(frozen=True)
class Progress:
    """Told after every task.

    Args:
        path: of its record.
        done, total: tasks of the item.
        seconds: that it took.
        left: about how many seconds the rest will take, by what the done ones took.
        error: why there is no record, or "".
    """

    path: str
    done: int
    total: int
    seconds: float
    left: float
    error: str = ""


OnTask = Callable[[Progress], None]


def records_folder(out: Path) -> Path:
    """Where the records that are made go."""
    return out / "records"


def is_made(task: Task, setup: Setup, out: Path) -> bool:
    """Whether the record is there and was asked for in the same words."""
    path = records_folder(out) / f"{task.path}.json"
    return path.is_file() and read_json(path).get("asked") == json.loads(json.dumps(task.asked(setup)))


def make_records(
    item: Item, setup: Setup, out: Path, on_task: OnTask, workers: Workers = Workers()
) -> dict[str, str]:
    """Makes what is missing; goes on where a killed process stopped.

    Args:
        out: folder of the records, and of what unfinished trainings keep.
        on_task: told after every task.
        workers: who does the work; times are measured one after another in this process.

    Returns:
        Path of a record that could not be made -> why.
    """
    failed: dict[str, str] = {}
    with _lock(item, out):
        tasks = [task for task in item.tasks(setup) if not is_made(task, setup, out)]
        tasks.sort(
            key=lambda task: task.seconds
        )  # cheap ones first: what is interrupted has the most to show
        left = {task.path: task.seconds for task in tasks}
        started, finished = time.perf_counter(), 0.0
        ended = run_all(
            partial(make_record, setup=setup, out=out), tasks, Workers() if item.alone else workers
        )
        for number, done in enumerate(ended, 1):
            finished += left.pop(done.task.path)
            pace = (time.perf_counter() - started) / max(finished, 1e-9)
            error = _sentence(done.error) if done.error else ""
            if error:
                failed[done.task.path] = error
            on_task(
                Progress(
                    done.task.path, number, len(tasks), done.result or 0.0, pace * sum(left.values()), error
                )
            )
    return failed


@contextmanager
def _lock(item: Item, out: Path) -> Iterator[None]:
    """Held while records of an item are made, so that no two processes train the same."""
    lock = folder_lock(out / "work" / "locks" / item.name)
    try:
        lock.__enter__()
    except BusyError:
        raise BusyError(f"Another process is making the records of {item.name}.") from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, InputError) else why_lost(error)


def make_record(task: Task, setup: Setup, out: Path) -> float:
    """Makes one record and writes it; returns the seconds that it took."""
    started = time.perf_counter()
    where = provenance()
    content = task.measure(setup, work_folder(out, task))
    write_json(records_folder(out) / f"{task.path}.json", {"asked": task.asked(setup), **where, **content})
    return time.perf_counter() - started


def default_workers() -> int:
    """Tasks at a time: one per core of a CPU."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
