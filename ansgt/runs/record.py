"""The record of a finished split: predictions, weights, accuracies; the result comes last. And the summary of a run."""

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import fmean, median_low
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.config import RunConfig
from ansgt.datasets import Dataset
from ansgt.device import card
from ansgt.graph import Graph, Split
from ansgt.metrics import METRICS, accuracy_and_loss, all_scores, metric
from ansgt.prediction.calibration import fitted_temperature, tempered
from ansgt.prediction.ensemble import joined
from ansgt.runs.folder import Rows, RunFolder, SplitFolder
from ansgt.storage import content_hash

OWN = ("best_epoch", "val_accuracy", "test_accuracy", "learned")
"""What the record of an ensemble keeps of each of its models."""

SCORED = ("val", "test")
"""Parts that every metric is computed of."""
SHARED = ("chosen",)
"""What is the same for all models of an ensemble, where it is there."""


@dataclass(frozen=True, eq=False)
class Alone:
    """What each of K models of a split says of the scored nodes, so that other ways to mix them need no training.

    Args:
        nodes: indices of the validation nodes, then of the test nodes [s].
        probabilities: of the classes [K, s, C], float16.
    """

    nodes: np.ndarray
    probabilities: np.ndarray
    __repr__ = brief_repr

    @classmethod
    def of(cls, split: Split, predicted: Sequence[np.ndarray]) -> "Alone":
        """Of every model's probabilities of all nodes [n, C]."""
        nodes = torch.cat([split.val, split.test]).numpy()
        return cls(nodes, np.stack([each[nodes] for each in predicted]).astype(np.float16))


@dataclass(frozen=True, eq=False)
class Record:
    """What training left of a split.

    Args:
        probabilities: of every node [n, C].
        weights: of the kept epoch.
        facts: further fields of the result: epochs, validation scores, seconds, ...
        metrics: one row per epoch (and model).
        history: one row per update of the bandit.
        alone: what each of several models says by itself; None for one model.
    """

    probabilities: Tensor
    weights: dict[str, Tensor]
    facts: dict[str, Any]
    metrics: Rows
    history: Rows
    alone: Alone | None = None
    __repr__ = brief_repr

    def write(self, graph: Graph, split: Split, folder: SplitFolder) -> None:
        """Scores the test part, once, and writes all files; the result last."""
        test_accuracy, test_loss = accuracy_and_loss(self.probabilities[split.test], graph.y[split.test])
        probabilities, label = self.probabilities.numpy(), graph.y.numpy()
        folder.write_metrics(self.metrics)
        folder.write_history(self.history)
        folder.write_weights(self.weights)
        folder.write_split(split)
        folder.write_predictions(probabilities, label)
        if self.alone is not None:
            folder.write_alone(self.alone.nodes, self.alone.probabilities)
        folder.write_result(
            {
                "split": split.name,
                "index": split.index,
                "split_hash": split.hash,
                "majority_share": split.majority_share(graph.y),
                **self.facts,
                "test_accuracy": test_accuracy,
                "test_loss": test_loss,
                "scores": scores_by_part(probabilities, label, split.parts),
                "never_predicted": never_predicted(probabilities, label, split),
                "prediction_hash": content_hash(probabilities),
            }
        )


def calibrated_by(
    config: RunConfig, probabilities: Tensor, graph: Graph, split: Split
) -> tuple[Tensor, dict[str, float]]:
    """Probabilities at the temperature that validation asks for, and that temperature for the result; or as they are."""
    if not config.train.calibrate:
        return probabilities, {}
    temperature = fitted_temperature(probabilities[split.val], graph.y[split.val])
    return tempered(probabilities, temperature), {"temperature": temperature}


def never_predicted(probabilities: np.ndarray, label: np.ndarray, split: Split) -> list[int]:
    """Classes that were trained on and that no node outside the training part was given."""
    others = np.ones(len(label), dtype=bool)
    others[split.train.numpy()] = False
    trained = np.unique(label[split.train.numpy()])
    return np.setdiff1d(trained, probabilities[others].argmax(axis=1)).tolist() if others.any() else []


def scores_of(folder: SplitFolder) -> dict[str, dict[str, float]]:
    """Every metric of the parts "val" and "test"; of an older record from its predictions."""
    stored: dict[str, dict[str, float]] | None = folder.result().get("scores")
    if stored is not None:
        return stored
    arrays = folder.predictions()
    return scores_by_part(arrays["probabilities"], arrays["label"], folder.parts())


def scores_by_part(
    probabilities: np.ndarray, label: np.ndarray, parts: Mapping[str, np.ndarray]
) -> dict[str, dict[str, float]]:
    """Every metric of the parts "val" and "test".

    Args:
        probabilities, label: of all nodes.
        parts: their nodes.
    """
    return {part: all_scores(probabilities[parts[part]], label[parts[part]]) for part in SCORED}


def joined_record(config: RunConfig, graph: Graph, split: Split, folders: Sequence[SplitFolder]) -> Record:
    """The record of R models from their own: the mean of what they predict, and what each had by itself."""
    results = [folder.result() for folder in folders]
    predicted = [torch.from_numpy(folder.predictions()["probabilities"]) for folder in folders]
    probabilities = torch.stack(predicted).mean(dim=0)
    probabilities, calibrated = calibrated_by(config, probabilities, graph, split)
    val_accuracy, val_loss = accuracy_and_loss(probabilities[split.val], graph.y[split.val])
    facts = {
        "num_parameters": sum(r["num_parameters"] for r in results),
        "best_epoch": median_low(r["best_epoch"] for r in results),
        "epochs_run": sum(r["epochs_run"] for r in results),
        "val_accuracy": val_accuracy,
        "val_loss": val_loss,
        "learned": {name: fmean(r["learned"][name] for r in results) for name in results[0]["learned"]},
        "models": [{key: r[key] for key in OWN} for r in results],
        "seconds": sum(r["seconds"] for r in results),
        **calibrated,
        **{name: results[0][name] for name in SHARED if name in results[0]},
        **joint_standing(results),
    }
    return record_of_several(
        folders, probabilities, facts, Alone.of(split, [each.numpy() for each in predicted])
    )


def record_of_several(
    folders: Sequence[SplitFolder], probabilities: Tensor, facts: dict[str, Any], alone: Alone
) -> Record:
    """With the weights, metrics and history of all models, each under its number."""
    return Record(
        probabilities,
        joined([folder.weights() for folder in folders]),
        facts,
        metrics=numbered([folder.metrics() for folder in folders]),
        history=numbered([folder.history() for folder in folders]),
        alone=alone,
    )


def joint_standing(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is true of the bandits of all models."""
    each = [result["bandit"] for result in results if "bandit" in result]
    if not each:
        return {}
    joint = {name: all(one[name] for one in each) for name in ("acted", "settled")}
    return {"bandit": {"updates": min(one["updates"] for one in each), **joint}}


def bandit_summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """In how many splits the bandit had acted by the kept epoch, and settled; {} where no bandit was at work."""
    each = [result["bandit"] for result in results if "bandit" in result]
    counts = {name: sum(one[name] for one in each) for name in ("acted", "settled")}
    return {"bandit": {**counts, "of": len(each)}} if each else {}


def numbered(parts: Sequence[Rows]) -> Rows:
    """The rows of R models, each with its model's number."""
    return [{**row, "model": number} for number, rows in enumerate(parts) for row in rows]


def models_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What each of several models had by itself; [] for one model. Records of version 0.1 call them restarts."""
    models: list[dict[str, Any]] = result.get("models", result.get("restarts", []))
    return models


def run_info(dataset: Dataset) -> dict[str, Any]:
    """The JSON object that says what a run was trained on, and with which versions."""
    graph = dataset.graph
    return {
        "dataset": dataset.name,
        "variant": dataset.variant,
        "data_hash": graph.content_hash,
        "names_hash": content_hash(graph.labelling.as_dict()),
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
    num_models = max([config.train.num_models, *(len(models_of(result)) for result in results)])
    return {
        "dataset": config.dataset,
        "variant": folder.info()["variant"],
        "model": config.model_name,
        "split": config.split,
        "num_splits": config.num_splits,
        "seed": config.seed,
        "num_models": num_models,
        "restarts": num_models,  # its name in version 0.1
        "test_accuracy": summarize([r["test_accuracy"] for r in results]),
        "val_accuracy": summarize([r["val_accuracy"] for r in results]),
        "majority_share": float(np.mean([r["majority_share"] for r in results])),
        "scores": summarized_scores([scores_of(split) for split in folder.finished_splits()]),
        "official_metric": metric("official", config.dataset).name,
        "num_parameters": results[0]["num_parameters"],
        "epochs": [r["epochs_run"] for r in results],
        "train_seconds": float(sum(r["seconds"] for r in results)),
        "seconds": seconds,
        "run_dir": str(folder.path),
        **bandit_summary(results),
        **_experts_summary(config, results),
    }


def _experts_summary(config: RunConfig, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was trained, with its weight, split by split; {} where settings said what is trained."""
    if not config.trains_experts:
        return {}
    shown = ("name", "weight", "val_accuracy", "test_accuracy", "epochs_run", "seconds")
    experts = [[{key: one[key] for key in shown} for one in models_of(result)] for result in results]
    return {
        "effort": config.effort,
        "time_limit": config.time_limit,
        "experts": experts,
        "aggregation": [result["aggregation"] for result in results],
    }


def summarized_scores(
    each: Sequence[dict[str, dict[str, float]]],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Part -> metric -> mean and std over the splits, from every split's part -> metric -> value."""
    return {part: {name: summarize([one[part][name] for one in each]) for name in METRICS} for part in SCORED}


def summarize(values: list[float]) -> dict[str, Any]:
    """Mean and population standard deviation over splits, with the values themselves."""
    known = [v for v in values if v is not None]
    if not known:
        return {"mean": None, "std": None, "per_split": values}
    return {"mean": float(np.mean(known)), "std": float(np.std(known)), "per_split": values}


def versions() -> dict[str, str]:
    """Versions that can change a number."""
    found = {"python": platform.python_version(), "platform": sys.platform}
    for package in ("ansgt", "torch", "torch_geometric", "numpy", "scipy", "numba", "safetensors"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    gpu = card()
    return found if gpu is None else {**found, "gpu": gpu}
