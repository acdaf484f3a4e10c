"""Models x data sets x the same splits: cells trained by workers, each with a run directory of its own."""

import functools
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ansgt.config import AUTO, RunConfig
from ansgt.datasets import Dataset, load
from ansgt.datasets.folds import with_split
from ansgt.datasets.load import Source
from ansgt.device import peak_memory, resolve_device
from ansgt.errors import InputError
from ansgt.metrics import METRICS
from ansgt.models import resolve_model
from ansgt.runs.executors import Workers, run_all, why_lost, workers_for
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.record import scores_of, summarize
from ansgt.runs.run import Environment, run
from ansgt.runs.statistics import Cell, Cells, models_alone
from ansgt.storage import DiskCache, default_cache_dir, make_folder

OnCell = Callable[[Cell, int, int], None]
"""Called with a finished cell, how many are done, and how many there are."""

Prepare = Callable[[], tuple[Dataset, RunConfig]]
"""Loads data and resolves settings; here, so that what it refuses becomes the cell's error."""


@dataclass(frozen=True)
class Comparison:
    """What to compare, and how.

    Args:
        models, datasets: names; every pair is a cell.
        split, num_splits, seed: the same for all cells, so that differences are paired; None: all splits of a file.
        root, cache_dir: of the data sets.
        run_dir: holds a run directory per cell, `<dataset>/<model>`; a finished one is read, an unfinished one resumed.
        device: auto, cpu, cuda or cuda:<number>.
        workers: cells at a time; by default one per CPU core, each with one thread (small graphs gain nothing from more),
            or one on CUDA. An `Executor` trains them elsewhere.
        overrides: `key=value` settings for every cell.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    split: str
    num_splits: int | None = 10
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
        if self.num_splits is not None and self.num_splits < 1:
            raise InputError(f"num_splits must be positive, not {self.num_splits}.")
        for model in self.models:
            if model != AUTO:
                resolve_model(model)
        names: dict[str, str] = {}
        for dataset in self.datasets:
            loaded = load(dataset, self.root, cache_dir=self.cache_dir)
            with_splits, name, _ = with_split(loaded, self.split)
            with_splits.split(name, 0, self.seed)
            if loaded.name in names.values():
                raise InputError(f"--datasets names two data sets that are called '{loaded.name}'.")
            names[dataset] = loaded.name
        resolve_device(self.device)
        return names

    def run(self, on_cell: OnCell | None = None, executor: Executor | None = None) -> Cells:
        """Trains what is not there yet; the cells in the order of the names. A cell that fails does not stop the rest.

        Args:
            on_cell: called with every cell as it ends.
            executor: trains the cells, in place of processes of this machine. Its workers must see the folders `root` and
                `run_dir` under the same names, and a cell in a thread of this process shares it with all others.
        """
        names = self._names()
        make_folder(self.run_dir)
        plan = self if executor is None else self._anywhere()
        pairs = [(model, dataset) for dataset in plan.datasets for model in plan.models]
        named = [name for name in names.values() for _ in self.models]
        cells: dict[int, Cell] = {}
        workers = Workers(self.workers or workers_for(self.device), executor)
        for done in run_all(functools.partial(train_cell, plan), pairs, workers):
            lost = Cell(
                done.task[0], done.task[1], error=None if done.error is None else why_lost(done.error)
            )
            cells[done.number] = replace(done.result or lost, dataset=named[done.number])
            if on_cell is not None:
                on_cell(cells[done.number], len(cells), len(pairs))
        return Cells(cells[number] for number in range(len(pairs)))

    def _anywhere(self) -> "Comparison":
        """The same with whole paths: workers elsewhere start in other folders."""
        files = {name: str(Path(name).resolve()) for name in self.datasets if Path(name).is_file()}
        return replace(
            self,
            datasets=tuple(files.get(name, name) for name in self.datasets),
            root=Path(self.root).resolve(),
            run_dir=Path(self.run_dir).resolve(),
            split=str(Path(self.split).resolve()) if Path(self.split).is_file() else self.split,
            cache_dir=None if self.cache_dir is None else Path(self.cache_dir).resolve(),
        )


def train_cell(plan: Comparison, pair: tuple[str, str]) -> Cell:
    """One cell: trained, resumed or read from its run directory; an error becomes the cell's own."""
    model, dataset = pair
    source = Source(plan.root, plan.cache_dir)
    prepare = functools.partial(
        prepare_run,
        dataset,
        model,
        source=source,
        split=plan.split,
        num_splits=plan.num_splits,
        seed=plan.seed,
        device=plan.device,
        overrides=plan.overrides,
    )
    folder = RunFolder(Path(plan.run_dir) / Path(dataset).name / model)
    return train_run(prepare, folder, source, Cell(model, dataset))


def train_run(prepare: Prepare, folder: RunFolder, source: Source, unknown: Cell) -> Cell:
    """Trains what is missing of one run directory.

    Args:
        prepare: gives data and settings.
        folder: the run directory; a finished one is read, an unfinished one resumed.
        source: where caches are.
        unknown: names the cell where it fails.
    """
    try:
        data, config = prepare()
        known = folder.exists
        trained = not known or not folder.is_finished
        with peak_memory(config.device) as peak:
            cache = DiskCache(source.cache_dir or default_cache_dir())
            run(config, data, folder.path, resume=known, environment=Environment(cache))
        if trained:
            folder.write_peak_bytes(peak.bytes)
        return read_cell(folder)
    except Exception as error:
        sentence = (str(error).strip().splitlines() or [""])[0]
        name = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return replace(unknown, error=f"{name}{sentence}", run_dir=str(folder.path))


def read_cell(folder: RunFolder) -> Cell:
    """A finished run directory as a cell; nothing is taken from anywhere else."""
    config, results = folder.config(), folder.results()
    test = summarize([r["test_accuracy"] for r in results])
    scores = [scores_of(split) for split in folder.finished_splits()]
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
        scores={name: tuple(one["test"][name] for one in scores) for name in METRICS},
        val_scores={name: float(np.mean([one["val"][name] for one in scores])) for name in METRICS},
        guess=float(np.mean([r["majority_share"] for r in results])),
    )
