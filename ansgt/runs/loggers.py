"""Where the numbers of a training go besides the run directory: TensorBoard, Weights & Biases, MLflow; or your own.

A logger has three methods. `logged` turns loggers into the function that `run` and `NodeClassifier.fit` call after every
epoch.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from ansgt.config import RunConfig
from ansgt.errors import InputError, unknown_name
from ansgt.runs.run import OnEpoch, Progress
from ansgt.storage import brief


class Logger(Protocol):
    """What listens to a training."""

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        """Before the first epoch: what is trained, and its settings."""
        ...

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        """After an epoch: numbers by name ("split-0/loss")."""
        ...

    def finish(self) -> None:
        """After the last epoch, or when training ended with an error."""
        ...


class TensorBoard:
    """Events in a folder (extra ``ansgt[tensorboard]``).

    Args:
        folder: where `tensorboard --logdir` shall find them.
    """

    def __init__(self, folder: Path | str) -> None:
        self.writer = _needed("torch.utils.tensorboard", "tensorboard").SummaryWriter(str(folder))

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        """A run is known by its folder."""

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, epoch)

    def finish(self) -> None:
        self.writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases (extra ``ansgt[wandb]``); offline where `WANDB_MODE=offline` says so.

    Args:
        folder: where its files go.
        options: of `wandb.init`: project, entity, mode, ...
    """

    def __init__(self, folder: Path | str, **options: Any) -> None:
        self.wandb = _needed("wandb", "wandb")
        self.options = {"project": "ansgt", "dir": str(folder), **options}
        self.run: Any = None

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        Path(self.options["dir"]).mkdir(parents=True, exist_ok=True)
        self.run = self.wandb.init(name=name, config=dict(settings), **self.options)

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        self.run.log({**values, "epoch": epoch})

    def finish(self) -> None:
        if self.run is not None:
            self.run.finish()


class MLflow:
    """A run of MLflow (extra ``ansgt[mlflow]``), where `MLFLOW_TRACKING_URI` says.

    Args:
        folder: not used; MLflow has a place of its own.
        uri: in place of `MLFLOW_TRACKING_URI`.
        experiment: its name; created where it does not exist.
    """

    def __init__(
        self, folder: Path | str | None = None, uri: str | None = None, experiment: str = "ansgt"
    ) -> None:
        self.mlflow = _needed("mlflow", "mlflow")
        self.uri, self.experiment = uri, experiment
        self.run_id: str | None = None

    def start(self, name: str, settings: Mapping[str, Any]) -> None:
        try:
            self.client = self.mlflow.MlflowClient(tracking_uri=self.uri)
            found = self.client.get_experiment_by_name(self.experiment)
            number = found.experiment_id if found else self.client.create_experiment(self.experiment)
            self.run_id = self.client.create_run(number, run_name=name).info.run_id
        except self.mlflow.exceptions.MlflowException as error:
            raise InputError(f"MLflow refuses: {brief(error)}") from None
        for key, value in settings.items():
            self.client.log_param(self.run_id, key.replace("[", "").replace("]", ""), str(value)[:500])

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        for name, value in values.items():
            self.client.log_metric(self.run_id, name, value, step=epoch)

    def finish(self) -> None:
        if self.run_id is not None:
            self.client.set_terminated(self.run_id)


LOGGERS: dict[str, Callable[[Path], Logger]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}
"""Name on the command line -> what is made for a folder of its own inside the run directory."""


def logger(name: str, folder: Path) -> Logger:
    """One of `LOGGERS`, by its name."""
    if name not in LOGGERS:
        raise unknown_name("logger", name, LOGGERS)
    return LOGGERS[name](folder)


@contextmanager
def logged(
    loggers: Sequence[Logger], name: str = "ansgt", settings: Mapping[str, Any] | None = None
) -> Iterator[OnEpoch]:
    """Yields what training calls after every epoch; the loggers are finished when the block ends, however it ends.

    Args:
        loggers: all of them hear everything.
        name: of the run.
        settings: flat, by name.
    """
    started: list[Logger] = []
    try:
        for each in loggers:
            started.append(each)
            each.start(name, settings or {})

        def on_epoch(progress: Progress) -> None:
            values = values_of(progress)
            for each in loggers:
                each.log(values, progress.epoch)

        yield on_epoch
    finally:
        for each in started:
            each.finish()


def flat_settings(config: RunConfig) -> dict[str, Any]:
    """Every setting of a run by its full name, and what it is of."""
    sections = {part: asdict(getattr(config, part)) for part in ("optim", "train", "data")}
    sections["model"] = dict(config.settings)
    named = {f"{part}.{name}": value for part, values in sections.items() for name, value in values.items()}
    return {
        "model": config.model_name,
        "dataset": config.dataset,
        "split": config.split,
        "seed": config.seed,
        **named,
    }


def values_of(progress: Progress) -> dict[str, float]:
    """The numbers of an epoch: loss, validation accuracy where it was scored, the heuristics' probabilities."""
    split = f"split-{progress.split}"
    values = {f"{split}/loss": progress.loss}
    if progress.val_accuracy is not None:
        values[f"{split}/val_accuracy"] = progress.val_accuracy
    return values | {f"{split}/probability/{name}": value for name, value in progress.status.items()}


def _needed(module: str, extra: str) -> Any:
    """An optional library; raises `InputError` with what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"{extra} is not installed; pip install 'ansgt[{extra}]'.") from None
