"""A search of settings on validation (extra ``ansgt[tune]``): Optuna proposes, the harness trains, validation judges.

The first trial has the settings that ship, the others are proposed by TPE from the model's space (`Settings.space`); trials
that stay behind the median of earlier ones at the same epoch are pruned. Processes share a study through one file
(`JournalFileBackend`), and a search that was killed goes on. The test part is never asked for.

Of few validation nodes the best epoch is partly luck. There the value of a trial is crossed: the epoch is chosen on one
half of the nodes and scored on the other, over many random halves.
"""

import math
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.config import SECTIONS, WITH_LINKS, RunConfig, by_section
from ansgt.datasets import Dataset
from ansgt.errors import BrokenRunError, BusyError, InputError, reason
from ansgt.metrics import Metric, metric
from ansgt.runs.folder import SplitFolder
from ansgt.runs.prepare import changed, section_kinds, settings_class
from ansgt.runs.run import Environment, Job, Progress, train_split
from ansgt.settings import Space, Span
from ansgt.stages import TimeIsUp, until
from ansgt.storage import DiskCache, content_hash, folder_lock, make_folder, write_npz, write_text

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

MODELS_PER_SPLIT = "train.num_models"
SMALL = 1000
"""Validation nodes up to which a trial's value is crossed."""
HALVES = 40
STARTUP = 5
"""Trials that must have ended before one is pruned."""
RESAMPLES = 500
"""Of the nodes, for the standard error of a difference."""
FAILURES = 20
"""Failed trials without one that ended after which a search gives up."""
SHIPPED, VALUES, WORKER, WHY = "shipped", "values", "worker", "why"
"""Attributes of a trial: that it has the shipped settings, what it tried, who trains it, why it failed."""


OnTrial = Callable[["FrozenTrial", int], object]
"""Called with a trial that has ended, and how many have."""


@dataclass(frozen=True)
class Budget:
    """When a search ends: whichever comes first.

    Args:
        trials: that ended or were pruned, of all processes and earlier calls together; None: no limit.
        seconds: of this call; a trial that is under way is given up.
    """

    trials: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.trials is None and self.seconds is None:
            raise InputError("A search needs a budget: --minutes or --trials.")
        if self.trials is not None and not 1 <= self.trials <= 10**6:
            raise InputError(f"trials must be from 1 to 1000000, not {self.trials}.")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise InputError(f"minutes must be greater than 0, not {self.seconds / 60:g}.")


@dataclass(frozen=True)
class Search:
    """What is searched, and where it is kept.

    Args:
        dataset, config: as `prepare_run` gives them; trials train `config.num_splits` splits, one model each.
        folder: holds the study; processes with the same folder share it.
        metric: of the validation nodes.
        space: what may be tried; None: the model's own.
        cache: for what is computed once per graph.
        on_trial: called with every trial that this process has ended, and how many there are.
    """

    dataset: Dataset
    config: RunConfig
    folder: Path
    metric: str = "accuracy"
    space: Space | None = None
    cache: DiskCache = field(default_factory=lambda: DiskCache(None))
    on_trial: "OnTrial | None" = None

    def __post_init__(self) -> None:
        if self.config.trains_experts:
            raise InputError(
                "Settings are searched for one model; effort, time_limit and model=auto use presets."
            )
        if self.judge.name == "calibration_error":
            raise InputError(
                "calibration_error says nothing of a constant guess: search by log_loss or brier."
            )

    @property
    def judge(self) -> Metric:
        return metric(self.metric, self.config.dataset)

    @property
    def tried(self) -> Space:
        """What is tried; every name stands for a setting."""
        config = self.config
        return (
            settings_class(config.model_class or config.model_name).space
            if self.space is None
            else self.space
        )

    @property
    def is_crossed(self) -> bool:
        return all(len(split.val) <= SMALL for split in self._splits)

    @property
    def _splits(self) -> list[Any]:
        config = self.config
        return [self.dataset.split(config.split, index, config.seed) for index in range(config.num_splits)]

    @property
    def _single(self) -> RunConfig:
        return changed(self.config, {MODELS_PER_SPLIT: 1})

    def settings(self, trial: "FrozenTrial | Trial") -> RunConfig:
        """All settings of a trial, which trains one model."""
        return changed(self._single, trial.user_attrs.get(VALUES, {}))

    def open(self) -> "Study":
        """The study in the folder, begun if there is none; raises `InputError` where it is of another search."""
        optuna = _optuna()
        make_folder(self.folder)
        backend = optuna.storages.journal.JournalFileBackend(str(self.folder / "study.journal"))
        names = {"direction": "maximize" if self.judge.sign > 0 else "minimize", "study_name": "ansgt"}
        try:
            storage = optuna.storages.JournalStorage(backend)
            sampler = optuna.samplers.TPESampler(seed=_seed(self.config.seed), constant_liar=True)
            pruner = optuna.pruners.MedianPruner(STARTUP, n_warmup_steps=self._warmup)
            study: Study = optuna.create_study(
                storage=storage, sampler=sampler, pruner=pruner, load_if_exists=True, **names
            )
            self._check_same(study)
        except InputError:
            raise
        except Exception as error:  # whatever parsing raises
            raise InputError(f"The study in {self.folder} cannot be read: {reason(error)}.") from None
        return study

    @property
    def _warmup(self) -> int:
        return max(1, self.config.train.epochs // 10)

    def _check_same(self, study: "Study") -> None:
        """What a study is of is written into it by whoever begins it, with the trial of the shipped settings."""
        of = {
            "config": {name: value for name, value in self._single.as_dict().items() if name != "device"},
            "data": self.dataset.graph.content_hash,
            "metric": self.judge.name,
            "space": {name: repr(values) for name, values in self.tried.items()},
        }
        with folder_lock_waiting(self.folder):
            stored = study.user_attrs.get("of")
            if stored is None:
                study.enqueue_trial({}, user_attrs={SHIPPED: True})
                study.set_user_attr("of", {name: content_hash(repr(value)) for name, value in of.items()})
                return
        differing = [name for name, value in of.items() if stored.get(name) != content_hash(repr(value))]
        if differing:
            raise InputError(
                f"{self.folder} holds a search with another {' and '.join(differing)}; choose another folder."
            )

    def run(self, budget: Budget) -> None:
        """Trains trials until the budget is used up; several processes may do so at a time."""
        deadline = math.inf if budget.seconds is None else time.perf_counter() + budget.seconds
        study = self.open()
        worker = uuid.uuid4().hex[:12]
        with folder_lock(self._worker(worker)):
            self._restart_lost(study)
            while time.perf_counter() < deadline and not self._is_over(study, budget):
                trial = study.ask()
                trial.set_user_attr(WORKER, worker)
                if not self._trained(study, trial, deadline):
                    break
        self._worker(worker).joinpath(".lock").unlink(missing_ok=True)
        self._worker(worker).rmdir()

    def _worker(self, name: str) -> Path:
        return self.folder / "workers" / name

    def _is_over(self, study: "Study", budget: Budget) -> bool:
        """Whether enough trials have ended, those under way counted in."""
        trials = study.get_trials(deepcopy=False)
        failed = [one for one in trials if one.state.name == "FAIL" and WHY in one.user_attrs]
        ended = [one for one in trials if one.state.name in ("COMPLETE", "PRUNED")]
        if len(failed) >= FAILURES and not ended:
            raise InputError(
                f"{FAILURES} trials failed and none ended; the last one: {failed[-1].user_attrs[WHY]}"
            )
        under_way = sum(one.state.name == "RUNNING" for one in trials)
        return budget.trials is not None and len(ended) + len(failed) + under_way >= budget.trials

    def _restart_lost(self, study: "Study") -> None:
        """Trials of processes that are gone end as failed, and are tried again first."""
        for one in study.get_trials(deepcopy=False):
            if one.state.name == "RUNNING" and not self._is_alive(one.user_attrs.get(WORKER)):
                self._again(study, one)

    def _is_alive(self, worker: str | None) -> bool:
        if worker is None or not self._worker(worker).is_dir():
            return False
        try:
            with folder_lock(self._worker(worker)):
                return False
        except BusyError:
            return True

    def _again(self, study: "Study", trial: "FrozenTrial | Trial") -> None:
        optuna = _optuna()
        attributes = {SHIPPED: True} if trial.user_attrs.get(SHIPPED) else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)
            study.enqueue_trial(trial.params, user_attrs=attributes)

    def _trained(self, study: "Study", trial: "Trial", deadline: float) -> bool:
        """Trains one trial and tells the study; False where the time is up."""
        optuna = _optuna()
        states = optuna.trial.TrialState
        try:
            value = self._value(trial, deadline)
        except TimeIsUp:
            self._again(study, trial)
            return False
        except optuna.TrialPruned:
            told = study.tell(trial, state=states.PRUNED)
        except (InputError, BrokenRunError, MemoryError) as error:
            if trial.user_attrs.get(SHIPPED):
                study.tell(trial, state=states.FAIL)
                raise
            trial.set_user_attr(WHY, reason(error))
            told = study.tell(trial, state=states.FAIL)
        except BaseException:  # an interrupt: others, or a later call, take it up
            self._again(study, trial)
            raise
        else:
            told = study.tell(trial, value)
        if self.on_trial is not None:
            ended = [one for one in study.get_trials(deepcopy=False) if one.state.is_finished()]
            self.on_trial(told, len(ended))
        return True

    def _value(self, trial: "Trial", deadline: float) -> float:
        """Mean validation score over the splits; what the kept epochs said is stored."""
        if not trial.user_attrs.get(SHIPPED):
            trial.set_user_attr(VALUES, suggested(trial, self.tried))
        config, scores, said = self.settings(trial), [], []
        for number, split in enumerate(self._splits):
            y = self.dataset.graph.y[split.val].numpy()
            course = _Course(self.judge, y, config.train.select, trial if number == 0 else None)

            def on_epoch(progress: Progress) -> None:
                if time.perf_counter() > deadline:
                    raise TimeIsUp

            environment = Environment(
                self.cache, on_epoch, on_validation=course.add, checkpoint_seconds=math.inf
            )
            with tempfile.TemporaryDirectory(prefix="ansgt-") as place_of_record, until(deadline):
                folder = SplitFolder(Path(place_of_record))
                train_split(Job(config, self.dataset.graph, split, folder, environment))
                kept = folder.predictions()["probabilities"][split.val.numpy()]
            said.append((kept, y))
            scores.append(course.crossed() if self.is_crossed else self.judge(kept, y))
        probabilities, labels = (np.concatenate(parts) for parts in zip(*said, strict=True))
        make_folder(self.folder / "trials")
        write_npz(self._said(trial.number), probabilities=probabilities.astype(np.float16), label=labels)
        value = float(np.mean(scores))
        if not math.isfinite(value):
            raise InputError(f"The {self.judge.words} of {len(labels)} validation nodes is not a number.")
        return value

    def _said(self, number: int) -> Path:
        return self.folder / "trials" / f"{number}.npz"

    def standard_error(self, one: int, other: int) -> float:
        """Of the difference of two trials' scores, by drawing validation nodes anew."""
        parts = []
        for number in (one, other):
            with np.load(self._said(number), allow_pickle=False) as arrays:
                parts.append((arrays["probabilities"].astype(np.float32), arrays["label"]))
        (first, y), (second, _) = parts
        draws = np.random.RandomState(0)
        gaps = []
        for _ in range(RESAMPLES):
            nodes = draws.randint(0, len(y), len(y))
            gaps.append(self.judge(first[nodes], y[nodes]) - self.judge(second[nodes], y[nodes]))
        return float(np.nanstd(gaps))


def without(search: Search, fixed: Sequence[str], on_trial: OnTrial | None = None) -> Search:
    """The same search, in which some settings keep the value they were given."""
    given = {place_of(name, search.config) for name in fixed}
    space = {
        name: values for name, values in search.tried.items() if place_of(name, search.config) not in given
    }
    if not space:
        raise InputError("There is nothing to search: every setting of the space was given.")
    return replace(search, space=space, on_trial=on_trial)


def place_of(name: str, config: RunConfig) -> str:
    """`section.key` of a setting's name."""
    found = by_section({name: None}, section_kinds(config.model_class or config.model_name))
    return next(f"{section}.{key}" for section, values in found.items() for key in values)


@dataclass
class _Course:
    """What the scored epochs of one training said of the validation nodes; reports to a trial, which may end it."""

    judge: Metric
    y: np.ndarray
    select: str
    trial: "Trial | None"
    said: list[np.ndarray] = field(default_factory=list)
    best: float | None = None
    __repr__ = brief_repr

    def add(self, epoch: int, probabilities: Tensor) -> None:
        values = probabilities.numpy()
        if len(self.y) <= SMALL:
            self.said.append(values.astype(np.float32))
        if self.trial is None:
            return
        value = self.judge(values, self.y)
        sign = self.judge.sign
        self.best = value if self.best is None else sign * max(sign * self.best, sign * value)
        self.trial.report(self.best, epoch)
        if self.trial.should_prune():
            raise _optuna().TrialPruned

    def crossed(self) -> float:
        return crossed(np.stack(self.said), self.y, self.judge, self.select)


def crossed(said: np.ndarray, y: np.ndarray, judge: Metric, select: str = "accuracy") -> float:
    """Mean score on halves of the nodes that had no part in choosing the epoch.

    Args:
        said: class probabilities of every scored epoch [E, n, C].
        y: classes [n].
        judge: what is scored.
        select: what chooses the epoch: "loss", or else accuracy (ties: the smaller loss).
    """
    hit = said.argmax(axis=2) == y
    loss = -np.log(np.clip(said[:, np.arange(len(y)), y], 1e-12, 1.0))
    draws, scores = np.random.RandomState(0), []
    for _ in range(HALVES):
        one, other = np.array_split(draws.permutation(len(y)), 2)
        for choosing, scored in ((one, other), (other, one)):
            keys = [loss[:, choosing].mean(axis=1)]
            if select != "loss":
                keys.append(-hit[:, choosing].mean(axis=1))
            epoch = int(np.lexsort(keys)[0])
            scores.append(judge(said[epoch, scored], y[scored]))
    return float(np.nanmean(scores))


def suggested(trial: "Trial", space: Space) -> dict[str, Any]:
    """A value for every setting of a space."""
    return {name: _suggested(trial, name, values) for name, values in space.items()}


def _suggested(trial: "Trial", name: str, values: Span | Sequence[Any]) -> Any:
    if isinstance(values, Span):
        return trial.suggest_float(name, values.low, values.high, log=values.log)
    return trial.suggest_categorical(name, list(values))


@dataclass(frozen=True)
class Found:
    """What a search has come to.

    Args:
        search: what was searched.
        best, shipped: the best trial, and that of the shipped settings.
        counts: trials that ended, were pruned, failed.
        seconds: of all trials together.
    """

    search: Search
    best: "FrozenTrial"
    shipped: "FrozenTrial"
    counts: Mapping[str, int]
    seconds: float

    @classmethod
    def of(cls, search: Search, study: "Study") -> "Found":
        trials = study.get_trials(deepcopy=False)
        complete = [one for one in trials if one.state.name == "COMPLETE"]
        shipped = next((one for one in complete if one.user_attrs.get(SHIPPED)), None)
        if shipped is None:
            raise InputError("The budget ended before the settings that ship were trained; give more.")
        sign = search.judge.sign
        best = max(complete, key=lambda one: (sign * _value_of(one), -one.number))
        failed = [one for one in trials if one.state.name == "FAIL" and WHY in one.user_attrs]
        pruned = [one for one in trials if one.state.name == "PRUNED"]
        ended = [*complete, *pruned, *failed]
        seconds = sum(one.duration.total_seconds() for one in ended if one.duration is not None)
        counts = {"complete": len(complete), "pruned": len(pruned), "failed": len(failed)}
        return cls(search, best, shipped, counts, seconds)

    @property
    def config(self) -> RunConfig:
        """The settings that were found, with as many models as the run was asked for."""
        found, asked = self.search.settings(self.best), self.search.config
        linked = {name: value for name, value in asked.with_links.items() if name == MODELS_PER_SPLIT}
        train = replace(found.train, num_models=asked.train.num_models)
        return replace(found, train=train, with_links={**found.with_links, **linked})

    @property
    def values(self) -> dict[str, Any]:
        """The settings that were searched, as found."""
        sections, found = _sections(self.config), {}
        for name in self.search.tried:
            section, _, key = place_of(name, self.search.config).partition(".")
            found[name] = sections[section][key]
        return found

    def as_dict(self) -> dict[str, Any]:
        """The JSON object of `ansgt tune`."""
        search, sign = self.search, self.search.judge.sign
        gain = sign * (_value_of(self.best) - _value_of(self.shipped))
        error = search.standard_error(self.best.number, self.shipped.number)
        return {
            "dataset": search.config.dataset,
            "model": search.config.model_name,
            "split": search.config.split,
            "num_splits": search.config.num_splits,
            "metric": search.judge.name,
            "crossed": search.is_crossed,
            "best": self.values,
            "value": _value_of(self.best),
            "shipped_value": _value_of(self.shipped),
            "gain": gain,
            "standard_error": error,
            "is_better": gain > error,
            "trial": self.best.number,
            "trials": sum(self.counts.values()),
            **self.counts,
            "seconds": self.seconds,
            "study": str(search.folder),
            "settings_file": str(search.folder / "settings.yaml"),
        }

    def header(self) -> list[str]:
        """How the settings were found, in sentences."""
        found, judge = self.as_dict(), self.search.judge
        how = "crossed " if found["crossed"] else ""
        nodes = sum(len(split.val) for split in self.search._splits)
        verdict = (
            "more than its standard error"
            if found["is_better"]
            else "not more than its standard error: the search did not beat the shipped settings"
        )
        return [
            f"Found by `ansgt tune` for {found['model']} on {found['dataset']}, split {found['split']} "
            f"({found['num_splits']} of it), on {time.strftime('%Y-%m-%d')}.",
            f"{found['trials']} trials of TPE ({found['complete']} ended, {found['pruned']} pruned, "
            f"{found['failed']} failed), {found['seconds'] / 60:.1f} minutes of training.",
            f"Trial {found['trial']}: {how}{judge.words} of {nodes} validation nodes {judge.shown(found['value'])}; "
            f"the shipped settings have {judge.shown(found['shipped_value'])}.",
            f"The gain of {found['gain'] * judge.scale:.2f} ± {found['standard_error'] * judge.scale:.2f} is {verdict}.",
            "The best of many trials is partly luck; the test part was not looked at.",
        ]

    def write(self) -> Path:
        """Writes the settings file that `ansgt train --config` takes."""
        path = self.search.folder / "settings.yaml"
        text = yaml.safe_dump(_sections(self.config), sort_keys=False, allow_unicode=True)
        write_text(path, "".join(f"# {line}\n" for line in self.header()) + text)
        return path


def _sections(config: RunConfig) -> dict[str, Mapping[str, Any]]:
    """The sections of a settings file."""
    stored = config.as_dict()
    sections = {part: stored["settings" if part == "model" else part] for part in SECTIONS}
    return sections | ({WITH_LINKS: config.with_links} if config.with_links else {})


def _value_of(trial: "FrozenTrial") -> float:
    return float(trial.value) if trial.value is not None else math.nan


def folder_lock_waiting(folder: Path) -> ExitStack:
    """A lock of a folder that is waited for: what it guards takes a moment."""
    stack, last = ExitStack(), time.monotonic() + 60
    while True:
        try:
            stack.enter_context(folder_lock(folder))
            return stack
        except BusyError:
            if time.monotonic() > last:
                raise
            time.sleep(0.05)


def _seed(seed: int) -> int:
    """Of what is proposed: another one for every process, or all would propose the same."""
    return int(content_hash(seed, os.getpid(), time.time_ns())[:8], 16)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("Optuna is not installed; pip install 'ansgt[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
