"""Learning alone: the learners, their steps and their optimizers.

A `Learner` is all that the harness (`runs/run.py`) knows of a model under training: it asks for an epoch, for the trained
model, and for state, and never sees which model it trains.
"""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph, Split
from ansgt.prediction import TrainedModel
from ansgt.settings import NonNegative, brief, fit_value
from ansgt.storage import DiskCache

LEARNERS: dict[str, str] = {
    "ansgt": "ansgt.training.adaptive:AdaptiveLearner",
    "gophormer": "ansgt.training.gophormer:GophormerLearner",
}
"""Models that are not trained full-batch -> "module:class"."""
SHARED = ("ansgt",)
"""Models that several processes can train together."""
FULL_BATCH = "ansgt.training.full_batch:FullBatchLearner"

State = dict[str, Any]
"""Nested dicts of tensors and plain values, which `storage.save_state` stores without pickle."""


class Learner(Protocol):
    """A trained model plus what learning needs.

    All randomness of an epoch comes from the global generators, which the harness seeds from (seed, split, epoch) before
    `train_epoch`; a learner that draws on its own derives from the same numbers.
    """

    @property
    def trained(self) -> TrainedModel:
        """What would be left if training ended now."""

    def train_epoch(self, epoch: int) -> float:
        """One pass over the training part; returns the mean loss."""

    def state_dict(self) -> State:
        """Everything that an exact resumption needs (weights included)."""

    def load_state_dict(self, state: State) -> None: ...

    def release(self) -> None:
        """Gives up what training alone needs; nothing but `trained`, `history` and `standing` is asked for afterwards."""

    def history(self) -> list[dict[str, Any]]:
        """What else the record should keep, one row per event (the bandit's updates); [] when there is nothing."""

    def standing(self, kept: int) -> dict[str, Any]:
        """Further fields of the result that say how things stood when epoch `kept` was trained; {} when there are none."""


def build_learner(config: RunConfig, graph: Graph, split: Split, seed: int, cache: DiskCache) -> Learner:
    """The learner of one split, freshly initialised from the global generators.

    Args:
        config: of the run.
        graph: the graph.
        split: whose training part is learned from.
        seed: of the sequences drawn.
        cache: for what is computed once per graph.
    """
    module, _, name = LEARNERS.get(config.model_name, FULL_BATCH).partition(":")
    learner: Learner = getattr(importlib.import_module(module), name)(config, graph, split, seed, cache)
    return learner


def class_weights(config: RunConfig, graph: Graph, split: Split) -> Tensor | None:
    """What a training node of each class counts in the loss [C], with mean 1 over the training part; None: all alike."""
    asked = config.train.class_weight
    if asked is None:
        return None
    counts = torch.bincount(graph.y[split.train], minlength=graph.num_classes).double()
    weights = 1 / counts.clamp(min=1) if asked == "balanced" else _given_weights(asked, graph)
    total = float((weights * counts).sum())
    if total == 0:
        raise InputError("Setting train.class_weight gives every class of the training part the weight 0.")
    return (weights * len(split.train) / total).float().to(config.device)


def _given_weights(asked: Mapping[Any, Any], graph: Graph) -> Tensor:
    """The weights of classes by their names; a record has these as texts."""
    names = {str(name): code for code, name in enumerate(graph.classes.tolist())}
    weights = torch.ones(graph.num_classes, dtype=torch.float64)
    for name, weight in asked.items():
        if str(name) not in names:
            raise unknown_name("class in class_weight", brief(name), names)
        value = fit_value(f"train.class_weight[{brief(name)}]", NonNegative, weight)
        weights[names[str(name)]] = value
    return weights


__all__ = ["Learner", "build_learner", "class_weights"]
