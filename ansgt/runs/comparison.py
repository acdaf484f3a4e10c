"""Models x data sets x the same splits: cells trained by worker processes, each with a run directory of its own."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ansgt.datasets import load
from ansgt.datasets.load import Source
from ansgt.device import peak_memory, resolve_device
from ansgt.errors import InputError
from ansgt.models import resolve_model
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.record import summarize
from ansgt.runs.run import Environment, run
from ansgt.runs.statistics import Cell, models_alone
from ansgt.storage import DiskCache, default_cache_dir, make_folder

OnCell = Callable[[Cell, int, int], None]
"""Called with a finished cell, how many are done, and how many there are."""


@dataclass(frozen=True)
class Comparison:
    """What to compare, and how.

    Args:
        models, datasets: names; every pair is a cell.
        split, num_splits, seed: the same for all cells, so that differences are paired.
        root, cache_dir: of the data sets.
        run_dir: holds a run directory a cell, `<dataset>/<model>`; a finished one is read, an unfinished one resumed.
        device: auto, cpu, cuda or cuda:<number>.
        workers: cells at a time; by default one a CPU core, each with one thread (small graphs gain nothing from more),
            or one on CUDA.
        overrides: `key=value` settings for every cell.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    split: str
    num_splits: int = 10
    seed: int = 0
    root: Path | str = "data"
    run_dir: Path | str = "runs/compare"
    device: str = "auto"
    workers: int | None = None
    overrides: tuple[str, ...] = ()
    cache_dir: Path | str | None = None

    def check(self) -> "Comparison":
        """Refuses unknown names and missing files before anything is trained."""
        self._names()
        return self

    def _names(self) -> dict[str, str]:
        """Data sets as they were given -> their names, by which all cells of a column go, failed ones too."""
        if not self.models or not self.datasets:
            raise InputError("--models and --datasets must each name at least one.")
        if self.num_splits < 1:
            raise InputError(f"num_splits must be positive, not {self.num_splits}.")
        for model in self.models:
            resolve_model(model)
        names: dict[str, str] = {}
        for dataset in self.datasets:
            loaded = load(dataset, self.root, cache_dir=self.cache_dir)
            loaded.split(self.split, 0, self.seed)
            if loaded.name in names.values():
                raise InputError(f"--datasets names two data sets that are called '{loaded.name}'.")
            names[dataset] = loaded.name
        resolve_device(self.device)
        return names

    def run(self, on_cell: OnCell | None = None) -> list[Cell]:
        """Trains what is not there yet; the cells in the order of the names. A cell that fails does not stop the rest."""
        names = self._names()
        make_folder(self.run_dir)
        pairs = [(model, dataset) for dataset in self.datasets for model in self.models]
        done: dict[tuple[str, str], Cell] = {}
        for pair, cell in self._cells(pairs):
            done[pair] = replace(cell, dataset=names[pair[1]])
            if on_cell is not None:
                on_cell(done[pair], len(done), len(pairs))
        return [done[pair] for pair in pairs]

    def _cells(self, pairs: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], Cell]]:
        workers = min(self.workers or self._default_workers(), len(pairs))
        if workers <= 1:
            for pair in pairs:
                yield pair, train_cell(self, *pair)
            return
        context = multiprocessing.get_context("spawn")  # a forked torch may hang in its thread pool
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
            waiting = {pool.submit(train_cell, self, *pair): pair for pair in pairs}
            for future in as_completed(waiting):
                model, dataset = waiting[future]
                try:
                    yield (model, dataset), future.result()
                except Exception as error:  # the worker itself died, e.g. killed for memory
                    reason = f"the worker process ended: {error}"
                    yield (model, dataset), Cell(model, dataset, error=reason)

    def _default_workers(self) -> int:
        if resolve_device(self.device) != "cpu":
            return 1
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def train_cell(plan: Comparison, model: str, dataset: str) -> Cell:
    """One cell: trained, resumed or read from its run directory; an error becomes the cell's own."""
    target = Path(plan.run_dir) / Path(dataset).name / model
    try:
        data, config = prepare_run(
            dataset,
            model,
            source=Source(plan.root, plan.cache_dir),
            split=plan.split,
            num_splits=plan.num_splits,
            seed=plan.seed,
            device=plan.device,
            overrides=plan.overrides,
        )
        folder = RunFolder(target)
        known = folder.exists
        trained = not known or len(folder.results()) < plan.num_splits
        with peak_memory(config.device) as peak:
            cache = DiskCache(plan.cache_dir or default_cache_dir())
            run(config, data, target, resume=known, environment=Environment(cache))
        if trained:
            folder.write_peak_bytes(peak.bytes)
        return read_cell(folder)
    except Exception as error:
        sentence = (str(error).strip().splitlines() or [""])[0]
        name = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return Cell(model, dataset, error=f"{name}{sentence}", run_dir=str(target))


def read_cell(folder: RunFolder) -> Cell:
    """A finished run directory as a cell; nothing is taken from anywhere else."""
    config, results = folder.config(), folder.results()
    test = summarize([r["test_accuracy"] for r in results])
    return Cell(
        config.model_name,
        config.dataset,
        variant=folder.info()["variant"],
        per_split=tuple(test["per_split"]),
        mean=test["mean"],
        std=test["std"],
        val_mean=summarize([r["val_accuracy"] for r in results])["mean"],
        seconds=float(sum(r["seconds"] for r in results)),
        peak_bytes=folder.peak_bytes(),
        num_parameters=results[0]["num_parameters"],
        split_hashes=tuple(r["split_hash"] for r in results),
        run_dir=str(folder.path),
        **models_alone(results),
    )


def _one_thread() -> None:
    """Workers share the cores between them: threads of one would only wait for those of another."""
    torch.set_num_threads(1)
