"""The harness: train over splits, select on validation alone, keep a record, survive being killed.

It knows no model: a `Learner` trains an epoch and predicts; all randomness of epoch e is seeded from
(seed, split, e), so a run resumed from any checkpoint continues exactly as if it had never stopped.
"""

import gc
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ansgt.config import RunConfig
from ansgt.datasets import Dataset
from ansgt.graph import Graph, Split
from ansgt.storage import DiskCache, folder_lock, write_json
from ansgt.training.build import build_learner
from ansgt.training.checkpoint import load_state, save_state
from ansgt.training.learner import Learner, Predictor
from ansgt.training.randomness import owned_randomness, seed_all
from ansgt.training.records import RunFolder, read_rows, summarize, versions, write_rows
from ansgt.training.restarts import Restarts, restarted
from ansgt.training.result import join_results, score, write_result
from ansgt.training.selection import Selection


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
            target = folder.split(split.index)
            if (target / "result.json").exists():
                _remove_parts(target)  # killed after its last word, before it had cleared up
            else:
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
    predictor.load_weights(join_results(graph, split, folder, folders))
    _remove_parts(folder)
    return predictor


def _remove_parts(folder: Path) -> None:
    for part in folder.glob("restart-*"):
        shutil.rmtree(part)


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
        write_result(graph, split, folder, learner, selection, rows, seconds)
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
