"""Tasks in other processes, which may be killed at any time."""

import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansgt.errors import InputError
from ansgt.runs import executors
from ansgt.runs.comparison import Comparison
from ansgt.runs.executors import Workers, dask_cluster, run_all
from ansgt.runs.folder import RunFolder
from ansgt.runs.statistics import Cell

KILLED = "__import__('os')._exit(3)"


def test_results_and_errors_in_this_process() -> None:
    first, second = run_all(eval, ["1 + 1", "1 / 0"])
    assert (first.number, first.task, first.result, first.error) == (0, "1 + 1", 2, None)
    assert isinstance(second.error, ZeroDivisionError)
    assert second.result is None
    assert list(run_all(eval, [], Workers(3))) == []


def test_lost_tasks_are_tried_again_and_a_deadly_one_takes_nobody_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "TRIALS", 2)
    once = f"__import__('os').path.exists({str(tmp_path / 'seen')!r}) or (open({str(tmp_path / 'seen')!r}, 'w'), {KILLED})"
    found = {done.number: done for done in run_all(eval, [once, KILLED], Workers(2))}
    assert found[0].result is True
    assert isinstance(found[1].error, BrokenExecutor)
    assert executors.why_lost(found[1].error).startswith("the worker process ended: ")


def test_no_workers() -> None:
    with pytest.raises(InputError, match="workers must be at least 1, not 0"):
        Workers(0)
    assert (Workers().number, Workers().executor, executors.TRIALS) == (1, None, 3)


class Inline:
    """The least that an executor can be: work is done when it is handed out."""

    def submit(self, work: Any, task: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(task))
        return future


@pytest.fixture
def plan(tmp_path: Path) -> Comparison:
    long = ("epochs=300", "patience=null", "eval_every=50")
    return Comparison(("mlp", "gcn"), ("newman",), "uniform-60-20-20", 1, device="cpu", overrides=long)


def numbers(cells: list[Cell]) -> list[Any]:
    assert [cell.error for cell in cells] == [None, None]
    return [(cell.model, cell.per_split, cell.val_mean) for cell in cells]


def kill_when_training(run_dir: Path, pid: int) -> threading.Thread:
    """Kills a process as soon as a cell is being trained."""

    def wait() -> None:
        while not any(run_dir.rglob("config.json")):
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_killed_worker_of_a_cluster_changes_no_result(plan: Comparison, tmp_path: Path) -> None:
    expected = numbers(replace(plan, run_dir=tmp_path / "here").run(executor=Inline()))  # type: ignore[arg-type]
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        dask_cluster(cluster.scheduler_address) as executor,
    ):
        pids = [worker.pid for worker in cluster.workers.values()]
        killer = kill_when_training(tmp_path / "dask", pids[0])
        assert numbers(replace(plan, run_dir=tmp_path / "dask").run(executor=executor)) == expected
        killer.join()
    assert all(len(RunFolder(tmp_path / "dask/newman" / name).results()) == 1 for name in plan.models)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "x://y"])
def test_no_scheduler(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "PATIENCE", 0.5)
    with pytest.raises(InputError, match="No Dask scheduler answers at"), dask_cluster(address):
        pass
