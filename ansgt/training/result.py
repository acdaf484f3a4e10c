"""The record of a finished split: predictions, weights, accuracies; `result.json` comes last."""

from pathlib import Path
from statistics import fmean, median_low
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.graph import Graph, Split
from ansgt.storage import content_hash, read_json, write_json, write_npz
from ansgt.training.checkpoint import load_state, save_state
from ansgt.training.learner import Learner
from ansgt.training.records import read_rows, write_rows
from ansgt.training.restarts import named
from ansgt.training.selection import Selection


def score(probabilities: Tensor, labels: Tensor) -> tuple[float, float]:
    """Accuracy and mean cross-entropy of class probabilities [k, C] against labels [k]."""
    if len(labels) == 0:
        return float("nan"), float("nan")
    accuracy = float((probabilities.argmax(dim=-1) == labels).double().mean())
    chosen = probabilities.double().gather(1, labels[:, None]).clamp(min=1e-12)
    return accuracy, float(-chosen.log().mean())


def write_result(
    graph: Graph,
    split: Split,
    folder: Path,
    learner: Learner,
    selection: Selection,
    rows: list[dict[str, Any]],
    seconds: float,
) -> None:
    """Scores a model's kept epoch, once, on the test part, and writes its record."""
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


def join_results(graph: Graph, split: Split, folder: Path, folders: list[Path]) -> dict[str, Tensor]:
    """The record of R models from their own: the mean of what they predict, and what each had by itself.

    Returns:
        The weights of all R.
    """
    results = [read_json(part / "result.json") for part in folders]
    weights: dict[str, Tensor] = {}
    predicted = []
    for number, part in enumerate(folders):
        weights |= named(number, load_state(part / "model.safetensors"))
        with np.load(part / "predictions.npz", allow_pickle=False) as arrays:
            predicted.append(torch.from_numpy(arrays["probabilities"]))
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
    return weights


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
