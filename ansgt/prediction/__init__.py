"""Prediction: trained models one can hold, averaged inference, explanations.

A `TrainedModel` is what is left when training is over. It predicts, explains, and its weights can be stored.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.settings import Count, fit_value
from ansgt.storage import DiskCache
from ansgt.turns import turn

if TYPE_CHECKING:  # whoever only predicts does not pay for explanations
    from ansgt.datasets.growth import Growth
    from ansgt.prediction.explanation import Explanation, Explanations
    from ansgt.prediction.focus import Attention, Focus

TRAINED: dict[str, str] = {
    "ansgt": "ansgt.prediction.ansgt:TrainedANSGT",
    "gophormer": "ansgt.prediction.gophormer:TrainedGophormer",
}
"""Models that predict from sequences -> "module:class"; all others see the whole graph at once."""
FULL_BATCH = "ansgt.prediction.full_batch:TrainedFullBatch"


class TrainedModel(ABC):
    """A model with what it needs to predict on one graph: no optimizer, no bandit, no split.

    Any thread may ask it; threads take turns.

    Args:
        graph: the graph it predicts on.
    """

    trained_on: np.ndarray | None = None
    """Which nodes of the graph were trained on [n], bool; None where that is not known."""

    temperature: float = 1.0
    """What logits are divided by, where the run was calibrated; see `ansgt.prediction.calibration`."""

    draws: bool = False
    """Whether a prediction is a mean over sequences that were drawn, or over models."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """Trained numbers."""

    def predict_proba(self, nodes: Tensor) -> Tensor:
        """Class probabilities of the given nodes [len(nodes), C], float32 on the CPU, in evaluation mode."""
        if len(nodes) == 0:
            return torch.zeros(0, self.graph.num_classes)
        with turn():
            return self._tempered(self._predict(nodes))

    def _tempered(self, probabilities: Tensor) -> Tensor:
        if self.temperature == 1.0:
            return probabilities
        from ansgt.prediction.calibration import tempered

        return tempered(probabilities, self.temperature)

    def spread(self, nodes: Tensor) -> Tensor:
        """How far a node's sequences (and models) disagree: standard deviation of their class probabilities [len(nodes), C].

        Of the probabilities as the sequences give them, before any temperature.
        """
        if not self.draws:
            raise InputError(
                "This model draws no sequences, so there is no spread over them; num_models=5 gives one over five models."
            )
        if len(nodes) == 0:
            return torch.zeros(0, self.graph.num_classes)
        with turn():
            return self.moments(nodes)[1].sqrt()

    def moments(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the class probabilities over the sequences, each [len(nodes), C], of at least one node."""
        mean = self._predict(nodes)
        return mean, torch.zeros_like(mean)

    @abstractmethod
    def _predict(self, nodes: Tensor) -> Tensor:
        """`predict_proba` of at least one node."""

    def grown(self, growth: "Growth") -> "TrainedModel | None":
        """The same model on a graph that grew from `self.graph`, for questions about a few nodes; None where that takes all
        of the graph."""
        return None

    @abstractmethod
    def weights(self) -> dict[str, Tensor]:
        """What prediction needs beside graph and settings, as flat named tensors (copies)."""

    @abstractmethod
    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Takes what `weights` returned."""

    def heuristic_probabilities(self) -> dict[str, float]:
        """p_k by heuristic; {} for a model without heuristics."""
        return {}

    def super_nodes(self) -> np.ndarray | None:
        """The super-node of every node [n], int64; None for a model without a coarse graph."""
        return None

    def attentions(self, nodes: Tensor) -> "list[list[Attention]]":
        """What the sequences of each of `nodes` attended to, one entry per model; none without sampled sequences."""
        return [[] for _ in range(len(nodes))]

    def importance(self, node: int) -> np.ndarray:
        """How much every node's features matter to the class of `node` [n]; sums to 1. For models without sequences."""
        raise InputError(
            "This model cannot be explained: it has neither sequences drawn by heuristics nor one input."
        )

    def focuses(self, nodes: Tensor, top: int) -> "list[Focus]":
        """Whom each of `nodes` attended to, the `top` largest shares."""
        from ansgt.prediction.focus import focus_of, focus_of_importance

        top = fit_value("top", Count, top)
        attentions = self.attentions(nodes)
        if all(attentions):
            found = [focus_of(each, top) for each in attentions]
            return [replace(one, probabilities=self._tempered(one.probabilities)) for one in found]
        probabilities = self.predict_proba(nodes)
        return [
            focus_of_importance(self.importance(node), node, probabilities[place], top)
            for place, node in enumerate(nodes.tolist())
        ]

    def explain(self, node: Any, top: int = 15) -> "Explanation":
        """Which nodes `node` attended to, how much, and which heuristic brought each of them.

        Args:
            node: its name, or its number where nodes have no names.
            top: how many attended nodes to list.
        """
        return self.explain_nodes([self.graph.place(node)], top)[0]

    def explain_nodes(self, nodes: Sequence[int], top: int = 15) -> "Explanations":
        """The same for several nodes, given by their indices."""
        from ansgt.prediction.explanation import explain

        if len(nodes) == 0:
            raise InputError("There is nothing to explain: no node is given.")
        with turn():
            return explain(self, nodes, top)


def build_trained(
    config: RunConfig, graph: Graph, seed: int, cache: DiskCache, asked: int | None = None
) -> TrainedModel:
    """A model of its kind with fresh weights (from the global generators), which `load_weights` replaces.

    Args:
        config: of the run.
        graph: the graph to predict on.
        seed: of the sequences drawn.
        cache: for what is computed once per graph.
        asked: how many nodes are to be predicted; of a large graph what few need is all that is computed.
    """
    module, _, name = TRAINED.get(config.model_name, FULL_BATCH).partition(":")
    kind = getattr(importlib.import_module(module), name)
    built: TrainedModel = kind.build(config, graph, seed, cache, asked=asked)
    return built


__all__ = ["TrainedModel", "build_trained"]
