"""The harness: train over splits, select on validation alone, keep a record, survive being killed.

It knows no model: a `Learner` trains an epoch and predicts; all randomness of epoch e is seeded from
(seed, split, e), so a run resumed from any checkpoint continues exactly as if it had never stopped.
"""

import gc
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean, median_low
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.config import RunConfig, TrainConfig
from ansgt.datasets import Dataset
from ansgt.graph import Graph, Split
from ansgt.storage import DiskCache, content_hash, folder_lock, read_json, write_json, write_npz
from ansgt.training.build import build_learner
from ansgt.training.checkpoint import load_state, save_state
from ansgt.training.learner import Learner, Predictor
from ansgt.training.randomness import owned_randomness, seed_all
from ansgt.training.records import RunFolder, read_rows, summarize, versions, write_rows
from ansgt.training.restarts import Restarts, named, restarted


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


Report = Callable[[Progress], object]


@dataclass
class Selection:
    """The best validation epoch so far, and whether to go on."""

    best_epoch: int = -1
    best_score: list[float] = field(default_factory=list)
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    val_accuracy: float = 0.0
    val_loss: float = 0.0

    def offer(self, epoch: int, accuracy: float, loss: float, learner: Learner, rule: str) -> None:
        """Keeps the weights when the validation score is better: accuracy with ties broken by loss, or loss alone."""
        score = [accuracy, -loss] if rule == "accuracy" else [-loss]
        if self.best_epoch < 0 or score > self.best_score:
            self.best_epoch, self.best_score = epoch, score
            self.best_weights = {name: value.cpu() for name, value in learner.weights().items()}
            self.val_accuracy, self.val_loss = accuracy, loss

    def exhausted(self, epoch: int, train: TrainConfig) -> bool:
        return (
            train.patience is not None and self.best_epoch >= 0 and epoch - self.best_epoch >= train.patience
        )


def run(
    config: RunConfig,
    dataset: Dataset,
    run_dir: Path | str,
    *,
    resume: bool = False,
    overwrite: bool = False,
    cache_dir: Path | str | None = None,
    report: Report | None = None,
    checkpoint_seconds: float = 10.0,
) -> dict[str, Any]:
    """Trains `config.model` on `config.num_splits` splits and returns the summary (DESIGN.md, section 2, `train`).

    Args:
        run_dir: where the record goes; locked, so that a second process stops at once.
        resume: go on with what is there; finished splits are not trained again.
        overwrite: start anew in a directory that already holds a run.
        report: called after every epoch.
        checkpoint_seconds: how much work a killed run may lose.
    """
    folder = RunFolder(Path(run_dir))
    splits = [dataset.split(config.split, index, config.seed) for index in range(config.num_splits)]
    started = time.perf_counter()
    with folder_lock(folder.path):
        folder.start(config, run_info(dataset), resume=resume, overwrite=overwrite)
        for split in splits:
            if not (folder.split(split.index) / "result.json").exists():
                target = folder.split(split.index)
                train_split(
                    config, dataset.graph, split, target, DiskCache(cache_dir), report, checkpoint_seconds
                )
                release_memory(config.device)
        summary = summarize_run(folder, time.perf_counter() - started)
        write_json(folder.path / "summary.json", summary)
    return summary


def train_split(
    config: RunConfig,
    graph: Graph,
    split: Split,
    folder: Path,
    cache: DiskCache,
    report: Report | None = None,
    checkpoint_seconds: float = 10.0,
) -> Predictor:
    """Trains on one split and writes its record; returns what predicts: the weights of the best validation epoch.

    With `config.train.restarts` = R > 1 the R models are trained one after another, each in a folder of its own while
    it lasts, so that a killed run goes on where it was.
    """
    restarts = config.train.restarts
    if restarts == 1:
        return train_model(config, graph, split, folder, cache, report, checkpoint_seconds)
    folders = [folder / f"restart-{number}" for number in range(restarts)]
    for number, target in enumerate(folders):
        if not (target / "result.json").exists():
            own, told = restarted(config, number), _of_restart(report, number, restarts)
            train_model(own, graph, split, target, cache, told, checkpoint_seconds)
            release_memory(config.device)
    predictor = Restarts(config, graph, split, cache)
    _join(graph, split, folder, folders, predictor)
    for target in folders:
        shutil.rmtree(target)
    return predictor


def train_model(
    config: RunConfig,
    graph: Graph,
    split: Split,
    folder: Path,
    cache: DiskCache,
    report: Report | None = None,
    checkpoint_seconds: float = 10.0,
) -> Learner:
    """Trains one model and writes its record; returns the learner with the weights of the best validation epoch."""
    started = time.perf_counter()
    checkpoint = folder / "checkpoint.safetensors"
    with owned_randomness(config.device):
        seed_all(config.seed, split.index, -1)
        learner = build_learner(config, graph, split, cache)
        rows: list[dict[str, Any]] = []
        selection, epoch, spent = Selection(), 0, 0.0
        if checkpoint.exists():
            selection, rows, epoch, spent = _restore(checkpoint, folder, learner)
        saved = time.perf_counter()
        while epoch < config.train.epochs and not selection.exhausted(epoch - 1, config.train):
            rows.append(_epoch(config, graph, split, learner, selection, epoch))
            epoch += 1
            if report is not None:
                report(_progress(config, split, rows[-1], learner))
            if time.perf_counter() - saved >= checkpoint_seconds:
                seconds = spent + time.perf_counter() - started
                _save(checkpoint, folder, learner, selection, rows, epoch, seconds)
                saved = time.perf_counter()
        learner.load_weights(selection.best_weights)
        seed_all(config.seed, split.index, -2)
        seconds = spent + time.perf_counter() - started
        _finish(graph, split, folder, learner, selection, rows, seconds)
    checkpoint.unlink(missing_ok=True)
    return learner


def _epoch(
    config: RunConfig, graph: Graph, split: Split, learner: Learner, selection: Selection, epoch: int
) -> dict[str, Any]:
    """One epoch of training and, where it is due, one look at the validation part; returns the row of the record."""
    seed_all(config.seed, split.index, epoch)
    row: dict[str, Any] = {"epoch": epoch, **learner.train_epoch(epoch)}
    if (epoch + 1) % config.train.eval_every == 0 or epoch + 1 == config.train.epochs:
        probabilities = learner.predict_proba(split.val)
        row["val_accuracy"], row["val_loss"] = score(probabilities, graph.y[split.val])
        selection.offer(epoch, row["val_accuracy"], row["val_loss"], learner, config.train.select)
    return row


def score(probabilities: Tensor, labels: Tensor) -> tuple[float, float]:
    """Accuracy and mean cross-entropy of class probabilities [k, C] against labels [k]."""
    if len(labels) == 0:
        return float("nan"), float("nan")
    accuracy = float((probabilities.argmax(dim=-1) == labels).double().mean())
    chosen = probabilities.double().gather(1, labels[:, None]).clamp(min=1e-12)
    return accuracy, float(-chosen.log().mean())


def release_memory(device: str) -> None:
    """Frees what a finished learner held: tables of gigabytes, in reference cycles that Python collects only in time."""
    gc.collect()
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()


def _progress(config: RunConfig, split: Split, row: dict[str, Any], learner: Learner) -> Progress:
    return Progress(
        split.index,
        config.num_splits,
        row["epoch"],
        config.train.epochs,
        row["loss"],
        row.get("val_accuracy"),
        learner.status(),
    )


def _save(
    path: Path,
    folder: Path,
    learner: Learner,
    selection: Selection,
    rows: list[Any],
    epoch: int,
    seconds: float,
) -> None:
    write_rows(folder / "metrics.jsonl", rows)
    state = {"learner": learner.state_dict(), "epoch": epoch, "seconds": seconds}
    save_state(path, {**state, "selection": {**asdict(selection), "best_weights": selection.best_weights}})


def _restore(
    path: Path, folder: Path, learner: Learner
) -> tuple[Selection, list[dict[str, Any]], int, float]:
    state = load_state(path)
    learner.load_state_dict(state["learner"])
    rows = [row for row in read_rows(folder / "metrics.jsonl") if row["epoch"] < state["epoch"]]
    return Selection(**state["selection"]), rows, state["epoch"], state["seconds"]


def _of_restart(report: Report | None, number: int, restarts: int) -> Report | None:
    """A report that counts the epochs of all R models."""
    if report is None:
        return None

    def told(progress: Progress) -> None:
        before = number * progress.epochs
        report(replace(progress, epoch=before + progress.epoch, epochs=restarts * progress.epochs))

    return told


def _finish(
    graph: Graph,
    split: Split,
    folder: Path,
    learner: Learner,
    selection: Selection,
    rows: list[dict[str, Any]],
    seconds: float,
) -> None:
    """Scores the kept epoch, once, on the test part, and writes the record."""
    probabilities = learner.predict_proba(torch.arange(graph.num_nodes))
    write_rows(folder / "metrics.jsonl", rows)
    if learner.history():
        write_rows(folder / "history.jsonl", learner.history())
    result = {
        "num_parameters": learner.num_parameters,
        "best_epoch": selection.best_epoch,
        "epochs_run": len(rows),
        "val_accuracy": selection.val_accuracy,
        "val_loss": selection.val_loss,
        "learned": learner.status(),
        "seconds": seconds,
    }
    _write_record(graph, split, folder, probabilities, selection.best_weights, result)


def _join(graph: Graph, split: Split, folder: Path, folders: list[Path], predictor: Restarts) -> None:
    """The record of R models from their own: the mean of what they predict, and what each had by itself."""
    results = [read_json(part / "result.json") for part in folders]
    weights: dict[str, Tensor] = {}
    predicted = []
    for number, part in enumerate(folders):
        weights |= named(number, load_state(part / "model.safetensors"))
        with np.load(part / "predictions.npz", allow_pickle=False) as arrays:
            predicted.append(torch.from_numpy(arrays["probabilities"]))
    predictor.load_weights(weights)
    probabilities = torch.stack(predicted).mean(dim=0)
    for name in ("metrics.jsonl", "history.jsonl"):
        rows = [
            {**row, "restart": number}
            for number, part in enumerate(folders)
            for row in read_rows(part / name)
        ]
        if rows:
            write_rows(folder / name, rows)
    val_accuracy, val_loss = score(probabilities[split.val], graph.y[split.val])
    own = ("best_epoch", "val_accuracy", "test_accuracy", "learned")
    result = {
        "num_parameters": sum(r["num_parameters"] for r in results),
        "best_epoch": median_low(r["best_epoch"] for r in results),
        "epochs_run": sum(r["epochs_run"] for r in results),
        "val_accuracy": val_accuracy,
        "val_loss": val_loss,
        "learned": {name: fmean(r["learned"][name] for r in results) for name in results[0]["learned"]},
        "restarts": [{key: r[key] for key in own} for r in results],
        "seconds": sum(r["seconds"] for r in results),
    }
    _write_record(graph, split, folder, probabilities, weights, result)


def _write_record(
    graph: Graph,
    split: Split,
    folder: Path,
    probabilities: Tensor,
    weights: dict[str, Tensor],
    result: dict[str, Any],
) -> None:
    """Weights, split, predictions and, last, `result.json`."""
    test_accuracy, test_loss = score(probabilities[split.test], graph.y[split.test])
    save_state(folder / "model.safetensors", weights)
    parts = {"train": split.train.numpy(), "val": split.val.numpy(), "test": split.test.numpy()}
    write_npz(folder / "split.npz", **parts)
    write_npz(folder / "predictions.npz", probabilities=probabilities.numpy(), label=graph.y.numpy())
    named_split = {
        "split": split.name,
        "index": split.index,
        "split_hash": split.hash,
        "majority_share": split.majority_share(graph.y),
    }
    scored = {"test_accuracy": test_accuracy, "test_loss": test_loss}
    write_json(
        folder / "result.json",
        {**named_split, **result, **scored, "prediction_hash": content_hash(probabilities.numpy())},
    )


def run_info(dataset: Dataset) -> dict[str, Any]:
    graph = dataset.graph
    return {
        "dataset": dataset.name,
        "variant": dataset.variant,
        "data_hash": graph.content_hash,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "num_classes": graph.num_classes,
        "num_features": graph.num_features,
        "versions": versions(),
        "threads": torch.get_num_threads(),
    }


def summarize_run(folder: RunFolder, seconds: float) -> dict[str, Any]:
    """The JSON object of `ansgt train`, computed from the record."""
    config, results = folder.config(), folder.results()
    return {
        "dataset": config.dataset,
        "variant": folder.info()["variant"],
        "model": config.model,
        "split": config.split,
        "num_splits": config.num_splits,
        "seed": config.seed,
        "restarts": config.train.restarts,
        "test_accuracy": summarize([r["test_accuracy"] for r in results]),
        "val_accuracy": summarize([r["val_accuracy"] for r in results]),
        "majority_share": float(np.mean([r["majority_share"] for r in results])),
        "num_parameters": results[0]["num_parameters"],
        "epochs": [r["epochs_run"] for r in results],
        "train_seconds": float(sum(r["seconds"] for r in results)),
        "seconds": seconds,
        "run_dir": str(folder.path),
    }
