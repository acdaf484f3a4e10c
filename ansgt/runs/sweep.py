"""One model on one data set with every combination of some settings and seeds: a run directory each, and one table.

The command line writes `-o lr=1e-3,1e-4 --seeds 0,1,2`.
"""

import functools
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.config import RunConfig, parse_override
from ansgt.datasets import Dataset
from ansgt.datasets.load import Source
from ansgt.errors import InputError
from ansgt.metrics import METRICS, Metric, metric
from ansgt.runs.comparison import train_run
from ansgt.runs.executors import Workers, run_all, why_lost
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.statistics import Cell
from ansgt.settings import shown
from ansgt.storage import content_hash, make_folder, write_json
from ansgt.table import Table

MOST_RUNS = 1000
"""Runs of a sweep; more are a slip of the pen."""
_OPENING, _CLOSING = "[{(", "]})"


@dataclass(frozen=True)
class Point:
    """One run of a sweep.

    Args:
        settings: what differs between the runs.
        seed: of the run.
    """

    settings: dict[str, Any]
    seed: int

    @property
    def name(self) -> str:
        """Of its run directory: the settings, as far as a file's name can hold them."""
        text = ",".join(f"{key}={value}" for key, value in [*self.settings.items(), ("seed", self.seed)])
        plain = re.sub(r"[^\w.,=+-]", "_", text)[:100]
        return plain if plain == text else f"{plain}-{content_hash(text)[:6]}"


@dataclass(frozen=True)
class Outcome:
    """What became of a point.

    Args:
        point: settings and seed.
        cell: what its record says, or an error.
    """

    point: Point
    cell: Cell

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self.point), **self.cell.as_dict()}


OnOutcome = Callable[[Outcome, int, int], object]
"""Called with a finished run, how many are done, and how many there are."""


@dataclass(frozen=True)
class Sweep:
    """What to train, and what differs between the runs.

    Args:
        dataset, model: names.
        grid: setting -> its values; all combinations are trained.
        seeds: with each combination.
        run_dir: holds a run directory per point, named after its settings.
        source: where raw files are.
        options: further arguments of `prepare_run`: `split`, `num_splits`, `device`, `config`.
        overrides: settings of all runs.
    """

    dataset: str
    model: str
    grid: Mapping[str, Sequence[Any]]
    seeds: Sequence[int]
    run_dir: Path
    source: Source = field(default_factory=Source)
    options: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def points(self) -> list[Point]:
        values = itertools.product(*self.grid.values())
        settings = [dict(zip(self.grid, combination, strict=True)) for combination in values]
        return [Point(one, seed) for one in settings for seed in self.seeds]

    @property
    def selected(self) -> Metric:
        """By which validation score combinations are compared: the one that picks epochs, where all runs share it."""
        given = [value for name, value in self.overrides.items() if name in ("select", "train.select")]
        return metric(given[0] if given else "accuracy", self.dataset)

    def folder(self, point: Point) -> RunFolder:
        return RunFolder(self.run_dir / point.name)

    def check(self, resume: bool = False, overwrite: bool = False) -> int:
        """Refuses what cannot be trained before anything is; the number of runs.

        Args:
            resume: go on with the runs that are there.
            overwrite: remove them.
        """
        points, prepared = self.points, None
        if len(points) > MOST_RUNS:
            raise InputError(f"The sweep has {len(points)} runs; at most {MOST_RUNS} are trained at once.")
        for point in points:
            prepared = self.prepared(point, None if prepared is None else prepared[0])
            folder = self.folder(point)
            if folder.exists and overwrite:
                folder.clear()
            if folder.exists and not resume:
                raise InputError(
                    f"{folder.path} holds a run; use --resume, --overwrite or another --run-dir."
                )
        return len(points)

    def prepared(self, point: Point, data: Dataset | None = None) -> tuple[Dataset, RunConfig]:
        """Data and settings of a point; `data` where they are loaded already."""
        overrides = {**self.overrides, **point.settings}
        options = {**self.options, "seed": point.seed, "overrides": overrides}
        return prepare_run(self.dataset if data is None else data, self.model, source=self.source, **options)

    def anywhere(self) -> "Sweep":
        """The same with whole paths: workers elsewhere start in other folders."""
        cache = self.source.cache_dir
        paths = {name: self.options.get(name) for name in ("config", "split")}
        whole = {name: Path(path).resolve() for name, path in paths.items() if path and Path(path).is_file()}
        source = replace(
            self.source,
            root=Path(self.source.root).resolve(),
            cache_dir=None if cache is None else Path(cache).resolve(),
        )
        return replace(
            self,
            dataset=str(Path(self.dataset).resolve()) if Path(self.dataset).exists() else self.dataset,
            run_dir=self.run_dir.resolve(),
            source=source,
            options={**self.options, **whole},
        )

    def run(self, workers: Workers = Workers(), on_outcome: OnOutcome | None = None) -> dict[str, Any]:
        """Trains what is not there yet; the JSON object of a sweep.

        Args:
            workers: who trains.
            on_outcome: called with every run as it ends.
        """
        started, points = time.perf_counter(), self.points
        make_folder(self.run_dir)
        found: dict[int, Outcome] = {}
        for done in run_all(functools.partial(train_point, self), points, workers):
            lost = Cell(self.model, self.dataset, error=None if done.error is None else why_lost(done.error))
            found[done.number] = Outcome(done.task, done.result or lost)
            if on_outcome is not None:
                on_outcome(found[done.number], len(found), len(points))
        outcomes = [found[number] for number in range(len(points))]
        result = {**self._summary(outcomes), "seconds": time.perf_counter() - started}
        write_json(self.run_dir / "sweep.json", result)
        for suffix in (".md", ".csv", ".tex"):
            sweep_table(result).write(self.run_dir / f"sweep{suffix}")
        return result

    def _summary(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        selected = self.selected
        settings = [_over_seeds(group, selected.name) for group in _grouped(outcomes, len(self.seeds))]
        finished = [one for one in settings if one["val_score"]["mean"] is not None]
        best = max(finished, key=lambda one: selected.sign * one["val_score"]["mean"], default=None)
        return {
            "metric": selected.name,
            "dataset": self.dataset,
            "model": self.model,
            "swept": list(self.grid),
            "seeds": list(self.seeds),
            "runs": [outcome.as_dict() for outcome in outcomes],
            "settings": settings,
            "best": best,
            "test_accuracy": None if best is None else best["test_accuracy"],
            "val_accuracy": None if best is None else best["val_accuracy"],
            "test_score": None if best is None else best["test_score"],
            "val_score": None if best is None else best["val_score"],
            "run_dir": str(self.run_dir),
        }


def sweep_table(result: dict[str, Any]) -> Table:
    """One row per combination of settings: its values, and its scores over seeds and splits."""
    names, scores = result["swept"], [("val_score", "validation"), ("test_score", "test")]
    chosen = METRICS[result["metric"]]
    head = [*names, *(f"{words}{kind}" for _, words in scores for kind in ("", " std")), "failed"]
    rows = [
        [row["settings"].get(name) for name in names]
        + [_scaled(row[part][kind], chosen) for part, _ in scores for kind in ("mean", "std")]
        + [row["error"]]
        for row in result["settings"]
    ]
    best = {(place, 0) for place, row in enumerate(result["settings"]) if row == result["best"]}
    title = heading(result, f"seeds {', '.join(map(str, result['seeds']))}")
    formats = dict.fromkeys(head[len(names) : -1], ".2f")
    return Table(head, rows, title, formats, frozenset(best), missing="-")


def heading(result: dict[str, Any], seeds: str) -> str:
    """What a table of a sweep shows, and of which seeds."""
    chosen = METRICS[result["metric"]]
    return f"{result['model']} on {result['dataset']}, {seeds}: {chosen.words}{' in %' if chosen.percent else ''}"


def _scaled(value: float | None, chosen: Metric) -> float | None:
    return None if value is None else chosen.scale * value


def train_point(sweep: Sweep, point: Point) -> Cell:
    """One run: trained, resumed or read from its run directory; an error becomes the cell's own."""
    prepare = functools.partial(sweep.prepared, point)
    return train_run(prepare, sweep.folder(point), sweep.source, Cell(sweep.model, sweep.dataset))


def _grouped(outcomes: Sequence[Outcome], size: int) -> Iterator[Sequence[Outcome]]:
    for start in range(0, len(outcomes), size):
        yield outcomes[start : start + size]


def _over_seeds(outcomes: Sequence[Outcome], metric: str) -> dict[str, Any]:
    """One combination of settings: means over its seeds and splits; of all its runs, or of none."""
    cells = [outcome.cell for outcome in outcomes]
    failed = [cell.error for cell in cells if cell.error is not None]
    test = [] if failed else [value for cell in cells for value in cell.per_split]
    val = [] if failed else [cell.val_mean for cell in cells]
    chosen = [] if failed else [cell.by(METRICS[metric]) for cell in cells]
    return {
        "settings": outcomes[0].point.settings,
        "test_accuracy": _mean_and_std(test),
        "val_accuracy": _mean_and_std(val),
        "test_score": _mean_and_std([value for cell in chosen for value in cell.per_split]),
        "val_score": _mean_and_std([cell.val_mean for cell in chosen]),
        "error": failed[0] if failed else None,
    }


def _mean_and_std(values: Sequence[Any]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    if not known:
        return {"mean": None, "std": None, "per_run": []}
    return {"mean": float(np.mean(known)), "std": float(np.std(known)), "per_run": list(values)}


def swept(overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Overrides of the command line: those with one value, and those with several between commas.

    >>> swept(["epochs=5", "lr=0.1,1e-2", "heuristics=[1-hop, knn]"])
    ({'epochs': 5, 'heuristics': ['1-hop', 'knn']}, {'lr': [0.1, 0.01]})
    """
    single: dict[str, Any] = {}
    several: dict[str, list[Any]] = {}
    for text in overrides:
        key, equals, values = text.partition("=")
        parts = _parts(values)
        if equals and len(parts) > 1:
            if not all(part.strip() for part in parts):
                raise InputError(f"Override {shown(text)} has an empty value between its commas.")
            several[key.strip()] = [_number(parse_override(f"{key}={part}")[1]) for part in parts]
        else:
            name, value = parse_override(text)
            single[name] = value
    for key, found in several.items():
        if len({repr(value) for value in found}) < len(found):
            raise InputError(f"Setting {key} has a value twice: {shown(found)}.")
    return {key: value for key, value in single.items() if key not in several}, several


def _number(value: Any) -> Any:
    """1e-3 is text to YAML."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _parts(text: str) -> list[str]:
    """Pieces between the commas that stand outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += not quote and (letter in _OPENING)
        depth -= not quote and (letter in _CLOSING)
        if letter == "," and depth <= 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parse_seeds(text: str) -> list[int]:
    """`0,1,2` or `0-4`.

    >>> parse_seeds("0,1,4"), parse_seeds("2-4")
    ([0, 1, 4], [2, 3, 4])
    """
    seeds: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,18})(?:-(\d{1,18}))?\s*", part)
        if found is None:
            raise InputError(f"--seeds takes whole numbers such as 0,1,2 or 0-4, not {shown(text)}.")
        first, last = int(found[1]), int(found[2] or found[1])
        if last - first >= MOST_RUNS:
            raise InputError(f"--seeds {shown(text)} are more than {MOST_RUNS}.")
        seeds += range(first, last + 1)
    if len(set(seeds)) < len(seeds) or not seeds:
        raise InputError(f"--seeds names a seed twice: {shown(text)}.")
    return seeds
