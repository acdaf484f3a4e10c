"""`Task`: what makes one record. Its subclasses train a model or measure a time; a record is one small JSON file."""

import os
import platform
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numba
import torch
from threadpoolctl import threadpool_limits

from ansgt.config import RunConfig, shipped_file
from ansgt.datasets import Dataset
from ansgt.datasets.load import Source
from ansgt.device import card
from ansgt.reproduce.records import joined_rows, run_record
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.run import Environment, run
from ansgt.storage import DiskCache, default_cache_dir

Preset = Literal["shipped", "paper"]
PRESETS: tuple[Preset, ...] = ("shipped", "paper")
PAPER_FILE = "paper"
"""Name of the settings file with section 6.1's settings, beside those that ship for the models."""

SPLIT_SECONDS = {
    "cora": 90.0,
    "citeseer": 240.0,
    "pubmed": 400.0,
    "chameleon": 80.0,
    "actor": 300.0,
    "squirrel": 400.0,
    "texas": 25.0,
    "cornell": 40.0,
    "wisconsin": 40.0,
}
"""One model of ANS-GT with its shipped settings on one split."""
TRANSFORMER_SHARE, BASELINE_SHARE = 1.0, 0.1
"""Of that, for a baseline."""
PAPER_FACTOR = 300.0
"""The same with the paper's settings: 1,000 epochs of five layers and 16 sequences."""
QUICK_SHARE = 0.25


def training_seconds(dataset: str, num_splits: int, model: str = "ansgt", factor: float = 1.0) -> float:
    """Of one model over some splits."""
    share = 1.0
    if not model.startswith("ansgt"):
        share = TRANSFORMER_SHARE if model in ("gt", "san", "graphormer", "gophormer") else BASELINE_SHARE
    return SPLIT_SECONDS.get(dataset, 300.0) * share * num_splits * factor


def preset_factor(preset: str, quick: bool) -> float:
    return (PAPER_FACTOR if preset == "paper" else 1.0) * (QUICK_SHARE if quick else 1.0)


@dataclass(frozen=True)
class Setup:
    """How records are made.

    Args:
        root, cache_dir: of the data sets.
        device: auto, cpu, cuda or cuda:<number>.
        preset: settings of ANS-GT: those that ship, or those of the paper's section 6.1.
        quick: a coarse grid of short trainings, in minutes.
        num_splits: splits (or seeds) per cell; None: three as in the paper, or one where it is quick.
        split: kind of split.
        large: graphs of the size of ogbn-products too.
    """

    root: Path = Path("data")
    cache_dir: Path | None = None
    device: str = "cpu"
    preset: Preset = "shipped"
    quick: bool = False
    num_splits: int | None = None
    split: str = "uniform-60-20-20"
    large: bool = False

    @property
    def source(self) -> Source:
        return Source(self.root, self.cache_dir)

    @property
    def cache(self) -> DiskCache:
        return DiskCache(self.cache_dir or default_cache_dir())

    def splits(self, full: int = 3) -> int:
        return self.num_splits or (1 if self.quick else full)


@dataclass(frozen=True)
class Task(ABC):
    """One record.

    Args:
        path: of the record below the folder of records, without the suffix.
        seconds: about what it takes on one core of a CPU, for the estimate of the time left.
    """

    path: str
    seconds: float

    @abstractmethod
    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        """The content of the record.

        Args:
            work: a folder of this task alone, where it may keep what it needs to go on after it was killed.
        """

    def asked(self, setup: Setup) -> dict[str, Any]:
        """What decides the content; a record that was asked for otherwise does not count as this one."""
        return {}


@dataclass(frozen=True)
class TrainedTask(Task):
    """A model trained over some splits of a data set.

    Args:
        model, dataset, split, num_splits: as for `ansgt train`.
        overrides: settings that differ from those of the preset.
        preset: which settings ANS-GT has before the overrides.
        history: whether the record keeps the bandit's probabilities at every update.
    """

    model: str
    dataset: str
    split: str
    num_splits: int
    overrides: Mapping[str, Any] = field(default_factory=dict)
    preset: Preset = "shipped"
    history: bool = False

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {
            "model": self.model,
            "dataset": self.dataset,
            "split": self.split,
            "num_splits": self.num_splits,
            "preset": self.preset,
            "overrides": dict(self.overrides),
        }

    def runs(self, setup: Setup) -> Sequence[tuple[Dataset, RunConfig]]:
        """The runs whose rows make the record: one over all splits."""
        return [
            prepare_run(
                self.dataset,
                self.model,
                source=setup.source,
                config=shipped_file(PAPER_FILE) if self.preset == "paper" and self.model == "ansgt" else None,
                overrides=dict(self.overrides),
                split=self.split,
                num_splits=self.num_splits,
                device=setup.device,
            )
        ]

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        """Trains what is not there yet; a training that was killed goes on where it was."""
        records = []
        for number, (data, config) in enumerate(self.runs(setup)):
            folder = RunFolder(work / f"{number}")
            run(config, data, folder.path, resume=folder.exists, environment=Environment(setup.cache))
            records.append(run_record(folder, history=self.history))
        return joined_rows(records)


@contextmanager
def one_thread() -> Iterator[None]:
    """A block whose times are those of one core, whatever else the machine does: threads would wait for each other."""
    torch_threads, numba_threads = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(torch_threads)
        numba.set_num_threads(numba_threads)


@dataclass
class Clock:
    """Seconds of a block: by the wall, and of this process on its cores."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def clocked() -> Iterator[Clock]:
    """Measures a block; what it holds is final when the block has ended."""
    clock = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield clock
    finally:
        clock.wall, clock.cpu = time.perf_counter() - wall, time.process_time() - cpu


def provenance() -> dict[str, Any]:
    """Where and when a record was made: machine, how busy it was, code, date."""
    return {
        "machine": {"cpu": _processor(), "cores": os.cpu_count(), "memory_gb": _memory(), "gpu": card()},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _commit() -> str | None:
    """Of a checkout; None for an installed package."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
