"""A finished run, brought back: its learner with the best weights, its scores, its predictions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.datasets import Dataset, load
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.storage import DiskCache, default_cache_dir
from ansgt.training.build import build_learner, resolve_device
from ansgt.training.checkpoint import load_state
from ansgt.training.learner import Predictor
from ansgt.training.randomness import owned_randomness, seed_all
from ansgt.training.records import RunFolder, open_run, summarize
from ansgt.training.restarts import Restarts
from ansgt.training.result import score


def load_run(
    run_dir: Path | str,
    *,
    root: Path | str = "data",
    device: str = "auto",
    cache_dir: Path | str | None = None,
) -> tuple[RunFolder, RunConfig, Dataset]:
    """Opens a run and the data set it was trained on, and checks that the data are the same."""
    folder = open_run(run_dir)
    values = folder.config().as_dict() | {"device": resolve_device(device)}
    config = RunConfig.from_dict(values)
    info = folder.info()
    own = info["variant"].endswith((".npz", ".pt", ".pth"))
    # a classifier keeps its graph inside the run directory, so a relative path is relative to that
    source = str(folder.path / info["variant"]) if own else config.dataset
    dataset = load(source, root, cache_dir=cache_dir)
    if dataset.graph.content_hash != info["data_hash"]:
        raise InputError(f"The data of '{config.dataset}' are not those that {run_dir} was trained on.")
    return folder, config, dataset


def load_learner(
    folder: RunFolder, config: RunConfig, dataset: Dataset, index: int, cache_dir: Path | str | None = None
) -> tuple[Predictor, Split]:
    """What one split's training left, with the weights of its best validation epoch."""
    path = folder.split(index) / "model.safetensors"
    if not path.exists():
        raise InputError(f"Split {index} of {folder.path} is not finished: it has no model.safetensors.")
    split = dataset.split(config.split, index, config.seed)
    with owned_randomness(config.device):
        seed_all(config.seed, index, -1)
        learner = _build(config, dataset.graph, split, cache_dir)
    learner.load_weights(load_state(path))
    return learner, split


def move_learner(
    learner: Predictor,
    config: RunConfig,
    trained_on: Graph,
    graph: Graph,
    cache_dir: Path | str | None = None,
) -> Predictor:
    """Trained weights on another graph with the same features: one that grew, or a new one.

    Its heuristics, coarse graph and sequences are computed anew; labels are not needed.
    """
    if graph.num_features != trained_on.num_features:
        raise InputError(
            f"Field 'x' has {graph.num_features} features, but the model was trained with {trained_on.num_features}."
        )
    graph = replace(graph, num_classes=trained_on.num_classes)
    nothing = Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([]), "none")
    with owned_randomness(config.device):
        moved = _build(config, graph, nothing, cache_dir)
    try:
        moved.load_weights(learner.weights())
        if isinstance(moved, Restarts):
            moved.models()  # builds them: weights that do not fit are refused here
    except RuntimeError:
        raise InputError(
            f"Model '{config.model}' learns weights per node and cannot move to another graph."
        ) from None
    return moved


def _build(config: RunConfig, graph: Graph, split: Split, cache_dir: Path | str | None) -> Predictor:
    cache = DiskCache(cache_dir or default_cache_dir())
    make = build_learner if config.train.restarts == 1 else Restarts
    return make(config, graph, split, cache)


def predict_all(learner: Predictor, config: RunConfig, index: int, nodes: Tensor) -> Tensor:
    """Class probabilities as the record's were computed: from the generators that end a split."""
    with owned_randomness(config.device):
        seed_all(config.seed, index, -2)
        return learner.predict_proba(nodes)


def evaluate_run(
    run_dir: Path | str,
    *,
    root: Path | str = "data",
    device: str = "auto",
    cache_dir: Path | str | None = None,
) -> dict[str, Any]:
    """The JSON object of `ansgt evaluate`."""
    folder, config, dataset = load_run(run_dir, root=root, device=device, cache_dir=cache_dir)
    graph, test, val, matches = dataset.graph, [], [], True
    for result in folder.results():
        learner, split = load_learner(folder, config, dataset, result["index"], cache_dir)
        probabilities = predict_all(learner, config, split.index, torch.arange(graph.num_nodes))
        test.append(score(probabilities[split.test], graph.y[split.test])[0])
        val.append(score(probabilities[split.val], graph.y[split.val])[0])
        stored = folder.predictions(split.index)["probabilities"]
        matches &= bool(np.allclose(stored, probabilities.numpy(), atol=1e-4))
    if not test:
        raise InputError(f"No split of {run_dir} is finished; train it with --resume first.")
    return {
        "dataset": config.dataset,
        "model": config.model,
        "split": config.split,
        "num_splits": len(test),
        "test_accuracy": summarize(test),
        "val_accuracy": summarize(val),
        "matches_record": matches,
        "run_dir": str(run_dir),
    }
