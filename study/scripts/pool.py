"""A pool of processes that share one device and write one line per finished task, until the time is up."""

import argparse
import json
import multiprocessing
import os
import queue
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Work = Callable[[Any, argparse.Namespace], dict[str, Any]]
GRACE = 30.0


def add_pool_options(parser: argparse.ArgumentParser, workers: int = 14) -> None:
    """The options that every script with a pool has."""
    parser.add_argument("--root", default="data")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=workers)
    parser.add_argument("--seconds", type=float, default=400, help="no task starts after them")
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))


def run_pool(work: Work, tasks: list[Any], options: argparse.Namespace, path: Path) -> None:
    """Runs `work(task, options)` for every task in `options.workers` processes; no task starts after `options.seconds`.

    A task that raises leaves a line with its error, and a new process takes the place of its own: a CUDA context that
    is broken fails every task after it.
    """
    deadline = time.time() + options.seconds
    context = multiprocessing.get_context("spawn")
    waiting, finished = context.Queue(), context.Queue()
    waiting.cancel_join_thread()  # tasks nobody took must not keep this process from ending
    for task in [*tasks, *[None] * options.workers]:
        waiting.put(task)
    arguments = (work, waiting, finished, options, deadline)
    workers: list[Any] = []

    def start() -> None:
        workers.append(context.Process(target=_worker, args=arguments, daemon=True))
        workers[-1].start()

    for _ in range(options.workers):
        start()
    alive, done, failed = len(workers), 0, 0
    with path.open("w") as log:
        while alive and time.time() < deadline + GRACE:
            try:
                record = finished.get(timeout=2)
            except queue.Empty:
                if not any(worker.is_alive() for worker in workers):
                    break
                continue
            if record is None:
                alive -= 1
                continue
            done, failed = done + 1, failed + ("error" in record)
            if "error" in record:
                start()
            log.write(json.dumps(record) + "\n")
            log.flush()
    for worker in workers:
        worker.kill()
    print(
        f"{done} of {len(tasks)} tasks in {options.seconds + time.time() - deadline:.0f} s, {failed} failed"
    )


def _worker(work: Work, waiting: Any, finished: Any, options: argparse.Namespace, deadline: float) -> None:
    import torch

    torch.set_num_threads(1)
    while time.time() < deadline:
        task = (
            waiting.get()
        )  # not get_nowait: that also gives up when another worker is reading at the moment
        if task is None:
            break
        try:
            finished.put(work(task, options))
        except Exception as error:
            traceback.print_exc()
            finished.put({"task": task, "error": f"{type(error).__name__}: {error}"})
            return
    finished.put(None)
