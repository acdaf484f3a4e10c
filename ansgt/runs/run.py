"""The harness: train over splits, select on validation alone, keep a record, survive being killed.

It knows no model: a `Learner` trains an epoch, and its trained model predicts. All randomness of an epoch is seeded from
(seed, split, epoch), so a run resumed from any checkpoint continues exactly as if it had never stopped.

Of several processes (`ansgt.ranks`) rank 0 alone reads and writes the run directory, and tells the others.
"""

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.config import RunConfig
from ansgt.datasets import Dataset
from ansgt.device import memory_in_words, most_memory, release_memory, return_memory
from ansgt.errors import BrokenRunError, InputError, TooLargeError
from ansgt.graph import Graph, Split
from ansgt.metrics import accuracy_and_loss, metric
from ansgt.prediction import TRAINED, TrainedModel
from ansgt.ranks import check_device, ranks
from ansgt.runs import seeds
from ansgt.runs.choices import Choices
from ansgt.runs.clock import Clock, TimeLimit
from ansgt.runs.folder import Rows, RunFolder, SplitFolder
from ansgt.runs.record import Record, calibrated_by, joined_record, run_info, summarize_run
from ansgt.settings import TrainSettings
from ansgt.stages import Log, TimeIsUp, listening, note, stage, until
from ansgt.storage import DiskCache, brief
from ansgt.training import SHARED, Learner, build_learner

if TYPE_CHECKING:  # most runs train no experts
    from ansgt.runs.experts import Expert


@dataclass(frozen=True)
class Progress:
    """What a progress bar shows after an epoch."""

    split: int
    num_splits: int
    epoch: int
    epochs: int
    loss: float
    val_accuracy: float | None
    status: dict[str, float]


MOST_NAMED = 5
"""Classes that a warning names."""

OnEpoch = Callable[[Progress], object]
"""Called after every epoch."""
OnValidation = Callable[[int, Tensor], object]
"""Called with an epoch's number and the class probabilities of the validation nodes [n_val, C], wherever they are scored."""


def _unheard(*told: object) -> None:
    pass


@dataclass(frozen=True)
class Environment:
    """What surrounds a run and changes none of its numbers.

    Args:
        cache: for what is computed once per graph; by default nothing is kept.
        on_epoch: called after every epoch.
        on_validation: called with what every scored epoch predicts for the validation nodes.
        log: what the stages took, and who is told of them.
        checkpoint_seconds: how much work a killed run may lose.
        started: moment (`time.perf_counter`) from which a time limit counts; None: when the run begins.
    """

    cache: DiskCache = field(default_factory=lambda: DiskCache(None))
    on_epoch: OnEpoch = _unheard
    on_validation: OnValidation = _unheard
    log: Log = field(default_factory=Log)
    checkpoint_seconds: float = 10.0
    started: float | None = None


@dataclass(frozen=True)
class Job:
    """One model to train on one split, or several that differ by their seed.

    Args:
        config: the settings; `seed` is that of this model.
        graph: the graph.
        split: the split.
        folder: where the record goes.
        environment: cache and listeners.
        choices: what was left to the split's training part, and what it chose.
        clock: by when training has to end, where there is a limit.
    """

    config: RunConfig
    graph: Graph
    split: Split
    folder: SplitFolder
    environment: Environment
    choices: Choices = field(default_factory=Choices)
    clock: Clock = field(default_factory=Clock)

    def decided(self) -> "Job":
        """The same job with nothing left to decide."""
        choices = Choices.of(self.config, self.graph, self.split.train)
        return replace(self, config=choices.applied(self.config), choices=choices)

    @property
    def models(self) -> "list[Job]":
        """The jobs of R models that differ by their seed; the first has the run's own, so R = 1 is the plain run."""
        return [self._model(number) for number in range(self.config.train.num_models)]

    def _model(self, number: int) -> "Job":
        train = self.config.train
        seed = seeds.model_seed(self.config.seed, number)
        on_epoch = _counting(
            self.environment.on_epoch, number * train.epochs, train.num_models * train.epochs
        )
        train = replace(train, num_models=1, calibrate=False)  # it is their mean that is calibrated
        return replace(
            self,
            config=replace(self.config, seed=seed, train=train),
            folder=self.folder.model(number),
            environment=replace(self.environment, on_epoch=on_epoch),
        )


def run(
    config: RunConfig,
    dataset: Dataset,
    run_dir: Path | str,
    *,
    resume: bool = False,
    overwrite: bool = False,
    environment: Environment = Environment(),
) -> dict[str, Any]:
    """Trains a model on `config.num_splits` splits and returns the summary that `ansgt train --json` prints.

    Args:
        run_dir: where the record goes; locked, so that a second process stops at once.
        resume: go on with what is there; finished splits are not trained again.
        overwrite: start anew in a directory that already holds a run.
        environment: cache and listeners.
    """
    _check_shared(config)
    folder = RunFolder(Path(run_dir))
    splits = [dataset.split(config.split, index, config.seed) for index in range(config.num_splits)]
    started = time.perf_counter()
    limit = TimeLimit(config.time_limit, environment.started or started)
    words = memory_in_words(f"Training {config.model_name} on {config.dataset}")
    leads = ranks().leads
    with folder.lock() if leads else nullcontext(), words, listening(environment.log) as log:
        if leads:
            folder.start(config, run_info(dataset), resume=resume, overwrite=overwrite)
            folder.write_labelling(dataset.graph)
        ranks().wait()
        _share_rows(config, dataset.graph, environment)
        limit = limit.after(sum(folder.split(split.index).seconds_spent() for split in splits))
        for place, split in enumerate(splits):
            clock = Clock(hard=limit.last_moment(len(splits) - place))
            train_split(
                Job(config, dataset.graph, split, folder.split(split.index), environment, clock=clock)
            )
        if not leads:
            return {}
        summary = summarize_run(folder, time.perf_counter() - started)
        summary |= {"peak_bytes": most_memory(config.device), "stages": log.rows()}
        folder.write_summary(summary)
    _warn_of_absent_classes(config, dataset.graph, folder.results())
    return summary


def _share_rows(config: RunConfig, graph: Graph, environment: Environment) -> None:
    """Of several processes every one computes its share of the heuristics' rows and all read them from the cache."""
    if not ranks().alone and environment.cache.directory is not None:
        from ansgt.runs.rows import complete, row_stores

        with stage("heuristics' rows"):
            complete(row_stores(config, graph, environment.cache))


def _check_shared(config: RunConfig) -> None:
    """Raises `InputError` for what several processes cannot train together."""
    if ranks().alone:
        return
    if config.trains_experts:
        raise InputError(
            f"An effort or a time limit trains several models, which {ranks().size} processes cannot share; "
            "start it without torchrun."
        )
    if config.model_name not in SHARED:
        raise InputError(
            f"Model '{config.model_name}' cannot be trained by {ranks().size} processes together: they share the batches of "
            f"{', '.join(SHARED)} alone. Start it without torchrun."
        )
    check_device(config.device)


def _warn_of_absent_classes(config: RunConfig, graph: Graph, results: Rows) -> None:
    """Says which classes were trained on and given to no other node, in any of the splits."""
    absent = Counter(code for result in results for code in result.get("never_predicted", []))
    if not absent:
        return
    named = [str(graph.class_name(code)) for code, _ in absent.most_common(MOST_NAMED)]
    more = f" and {len(absent) - MOST_NAMED} others" if len(absent) > MOST_NAMED else ""
    some = "" if len(results) == 1 else f" in {max(absent.values())} of {len(results)} splits"
    remedy = (
        "select=macro_f1 or other settings may help"
        if config.train.class_weight == "balanced"
        else "class_weight=balanced counts every class alike"
    )
    what, are = ("Class", "is") if len(absent) == 1 else ("Classes", "are")
    warnings.warn(
        f"{what} {', '.join(named)}{more} {are} never predicted outside the training part{some}; {remedy}.",
        stacklevel=3,
    )


def train_split(job: Job) -> None:
    """Trains on one split and writes its record; what is finished is not trained again.

    With `train.num_models` = R > 1 the R models are trained one after another, each in a folder of its own while it
    lasts, so that a killed run goes on where it was.
    """
    finished = _is_finished(job)
    if not finished and job.config.trains_experts:
        train_experts(job)
    elif not finished:
        job = job.decided()
        if job.config.train.num_models == 1:
            train_model(job)
        else:
            for model in job.models:
                if not _is_finished(model):
                    train_model(model)
            folders = [model.folder for model in job.models]
            if ranks().leads:
                record = joined_record(job.config, job.graph, job.split, folders)
                record.write(job.graph, job.split, job.folder)
    if ranks().leads:
        job.folder.remove_models()  # also those of a run killed after its last word, before it had cleared up


def _is_finished(job: Job) -> bool:
    finished: bool = ranks().told(job.folder.is_finished)
    return finished


def train_experts(job: Job) -> None:
    """Trains the experts of a split, one after another, and writes one record of those that got ready.

    Within a time limit an expert may take half of what is left, so that others follow; what is not ready when the time is up
    is given up. Which experts there are then depends on the machine, and on what else it does.
    """
    from ansgt.runs.experts import Plan, experts_record

    plan = Plan.of(job.config, job.graph, job.split)
    ready: list[tuple[Expert, SplitFolder]] = []
    bounded = math.isfinite(job.clock.hard)
    experts = plan.in_time(job.config.effort) if bounded else plan.experts
    epochs = sum(expert.config.train.epochs for expert in plan.experts)
    took: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for number, expert in enumerate(experts):
        one = _expert_job(job, expert, number, epochs, sum(e.config.train.epochs for e in experts[:number]))
        if not one.folder.is_finished:
            if ready and not one.clock.is_worth_while(took.get(expert.config.model_name, 0.0)):
                continue
            note(f"expert {number + 1}: {expert.name}")
            try:
                with until(one.clock.hard):
                    train_model(one.decided())
            except TimeIsUp:
                one.folder.remove()
                break
            except TooLargeError as error:
                if number + 1 == len(experts) and not ready:
                    raise
                note(f"expert {number + 1} is left out: {error}")
                left_out[expert.name] = str(error)
                one.folder.remove()
                continue
            took[expert.config.model_name] = one.clock.least
        ready.append((expert, one.folder))
    if not ready:
        raise InputError(
            f"The time limit of {job.config.time_limit:g} s ended before a first model was trained; give more time."
        )
    record = experts_record(job.graph, job.split, ready, replace(plan, left_out=left_out))
    record.write(job.graph, job.split, job.folder)


def _expert_job(job: Job, expert: "Expert", number: int, epochs: int, before: int) -> Job:
    on_epoch = _counting(job.environment.on_epoch, before, epochs)
    environment = replace(job.environment, on_epoch=on_epoch)
    clock, folder = job.clock.half(), job.folder.model(number)
    train = replace(expert.config.train, calibrate=False)  # it is the mixture that is calibrated
    config = replace(expert.config, train=train)
    return replace(job, config=config, folder=folder, environment=environment, clock=clock)


def train_model(job: Job) -> None:
    """Trains one model and writes its record: the weights of the best validation epoch, and what they predict.

    Runs in several threads of a process take turns, an epoch at a time. A `KeyboardInterrupt` out of `on_epoch` ends the
    run with a checkpoint of that epoch.
    """
    started = time.perf_counter()
    config, split = job.config, job.split
    with seeds.owned_randomness(config.device):
        seeds.seed_building(config.seed, split.index)
        draws = seeds.draw_seed(config.seed, split.index)
        learner = build_learner(config, job.graph, split, draws, job.environment.cache)
        state = _State(learner)
        if ranks().told(job.folder.has_checkpoint):
            state.restore(job.folder)
    saved = time.perf_counter()
    job.clock.building = saved - started
    while state.epoch < config.train.epochs and not state.selection.exhausted(state.epoch - 1, config.train):
        if state.selection.best_epoch >= 0 and not job.clock.allows_epoch():
            break
        with seeds.owned_randomness(config.device), job.clock.lap():
            state.rows.append(_epoch(job, learner, state.selection, state.epoch))
        state.epoch += 1
        if _interrupted(job, state, learner):
            # here the state is whole: whoever asks for an end waits for this moment
            state.save(job.folder, time.perf_counter() - started)
            raise KeyboardInterrupt
        if time.perf_counter() - saved >= job.environment.checkpoint_seconds:
            state.save(job.folder, time.perf_counter() - started)
            saved = time.perf_counter()
    with seeds.owned_randomness(config.device):
        record = _record(job, state, started)
    if ranks().leads:
        record.write(job.graph, split, job.folder)
        job.folder.remove_checkpoint()
    del learner, state
    release_memory(config.device)


def _interrupted(job: Job, state: "_State", learner: Learner) -> bool:
    """Tells of the epoch; whether a process was asked to end meanwhile."""
    try:
        job.environment.on_epoch(_progress(job, state.rows[-1], learner))
    except KeyboardInterrupt:
        return ranks().any(True)
    return ranks().any(False)


@dataclass
class Selection:
    """The best epoch so far, by the validation part and nothing else, and whether to go on."""

    best_epoch: int = -1
    best_score: list[float] = field(default_factory=list)
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    val_accuracy: float = 0.0
    val_loss: float = 0.0
    __repr__ = brief_repr

    def offer(self, epoch: int, value: float, accuracy: float, loss: float, model: TrainedModel) -> None:
        """Keeps the weights when the validation score is better; ties are broken by the loss.

        Args:
            epoch: its number.
            value: what is selected by, the more the better; NaN (an AUC of one class) counts as 0.
            accuracy, loss: what the record says of the kept epoch.
            model: whose weights.
        """
        score = [0.0 if math.isnan(value) else value, -loss]
        if self.best_epoch < 0 or score > self.best_score:
            self.best_epoch, self.best_score = epoch, score
            self.best_weights = {name: value.cpu() for name, value in model.weights().items()}
            self.val_accuracy, self.val_loss = accuracy, loss

    def exhausted(self, epoch: int, train: TrainSettings) -> bool:
        return (
            train.patience is not None and self.best_epoch >= 0 and epoch - self.best_epoch >= train.patience
        )


@dataclass
class _State:
    """How far the training of one model has come."""

    learner: Learner
    selection: Selection = field(default_factory=Selection)
    rows: Rows = field(default_factory=list)
    epoch: int = 0
    spent: float = 0.0

    def save(self, folder: SplitFolder, seconds: float) -> None:
        """Writes the checkpoint; `seconds` are those of this process, added to what earlier ones spent."""
        if not ranks().leads:
            return
        folder.write_metrics(self.rows)
        selection = {**asdict(self.selection), "best_weights": self.selection.best_weights}
        progress = {"epoch": self.epoch, "seconds": self.spent + seconds, "rows": self.rows}
        folder.write_checkpoint({"learner": self.learner.state_dict(), **progress, "selection": selection})

    def restore(self, folder: SplitFolder) -> None:
        stored = folder.checkpoint()
        try:
            self.learner.load_state_dict(stored["learner"])
            self.epoch, self.spent = stored["epoch"], stored["seconds"]
            self.rows = stored["rows"]
            self.selection = Selection(**stored["selection"])
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise InputError(
                f"The checkpoint of {folder.path} does not fit this run: {brief(error)}."
            ) from None


def _epoch(job: Job, learner: Learner, selection: Selection, epoch: int) -> dict[str, Any]:
    """One epoch of training and, where it is due, one look at the validation part; returns the row of the record."""
    train, val = job.config.train, job.split.val
    seeds.seed_epoch(job.config.seed, job.split.index, epoch)
    row: dict[str, Any] = {"epoch": epoch, "loss": learner.train_epoch(epoch)}
    if not math.isfinite(row["loss"]):
        raise _broken(job, f"the loss of epoch {epoch} is {row['loss']}")
    if (epoch + 1) % train.eval_every == 0 or epoch + 1 == train.epochs:
        whole = job.config.model_name not in TRAINED  # a model of the whole graph predicts all nodes at once
        with job.clock.prediction(len(val), len(val) if whole else job.graph.num_nodes):
            predicted = learner.trained.predict_proba(val)
        probabilities = _finite(job, predicted, f"predictions after epoch {epoch}")
        job.environment.on_validation(epoch, probabilities)
        row["val_accuracy"], row["val_loss"] = accuracy_and_loss(probabilities, job.graph.y[val])
        chosen = metric(train.select, job.config.dataset)
        name = {"accuracy": "val_accuracy", "log_loss": "val_loss"}.get(chosen.name, f"val_{chosen.name}")
        if name not in row:
            row[name] = chosen(probabilities.numpy(), job.graph.y[val].numpy())
        value = chosen.sign * row[name]
        selection.offer(epoch, value, row["val_accuracy"], row["val_loss"], learner.trained)
    return row


def _record(job: Job, state: _State, started: float) -> Record:
    """Predicts every node with the kept weights."""
    seconds = state.spent + time.perf_counter() - started
    trained, selection = state.learner.trained, state.selection
    state.learner.release()
    return_memory()
    trained.load_weights(selection.best_weights)
    seeds.seed_prediction(job.config.seed, job.split.index)
    for name, value in selection.best_weights.items():
        _finite(job, value, f"weights '{name}' of epoch {selection.best_epoch}")
    probabilities = trained.predict_proba(torch.arange(job.graph.num_nodes))
    _finite(job, probabilities, "predictions of the kept epoch")
    probabilities, calibrated = calibrated_by(job.config, probabilities, job.graph, job.split)
    facts = {
        "num_parameters": trained.num_parameters,
        "best_epoch": selection.best_epoch,
        "epochs_run": len(state.rows),
        "val_accuracy": selection.val_accuracy,
        "val_loss": selection.val_loss,
        "learned": trained.heuristic_probabilities(),
        "seconds": seconds,
        **calibrated,
        **state.learner.standing(selection.best_epoch),
        **job.choices.facts(),
    }
    return Record(probabilities, selection.best_weights, facts, state.rows, state.learner.history())


def _finite(job: Job, values: Tensor, what: str) -> Tensor:
    """The values themselves; raises `BrokenRunError` where one of them is NaN or infinite."""
    if values.is_floating_point() and not bool(values.isfinite().all()):
        raise _broken(job, f"the {what} hold NaN or infinity")
    return values


def _broken(job: Job, what: str) -> BrokenRunError:
    name = f"{job.config.model_name} on {job.config.dataset}, split {job.split.index}"
    return BrokenRunError(
        f"Training {name} has broken down: {what}. A smaller learning rate (optim.lr={job.config.optim.lr:g}) or "
        "optim.clip_norm may help."
    )


def _progress(job: Job, row: dict[str, Any], learner: Learner) -> Progress:
    return Progress(
        job.split.index,
        job.config.num_splits,
        row["epoch"],
        job.config.train.epochs,
        row["loss"],
        row.get("val_accuracy"),
        learner.trained.heuristic_probabilities(),
    )


def _counting(on_epoch: OnEpoch, before: int, epochs: int) -> OnEpoch:
    """Counts the epochs of several models as those of one training."""

    def counted(progress: Progress) -> None:
        on_epoch(replace(progress, epoch=before + progress.epoch, epochs=epochs))

    return counted
