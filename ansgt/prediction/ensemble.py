"""Several models of one split that differ by their seed alone, and predict together.

On a graph of two hundred nodes the seed decides as much as most settings do. The mean probabilities of R models, each
kept at its own best validation epoch, are steadier and better than one model's. Any model of the package can be one of
several; the harness trains the R one after another.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ansgt.prediction import TrainedModel

if TYPE_CHECKING:
    from ansgt.datasets.growth import Growth
    from ansgt.prediction.focus import Attention

PREFIXES = ("model", "restart")
"""Of a model's weights among R models' ("model-0.head.weight"); the second in records of version 0.1."""


class SeveralModels(TrainedModel):
    """Trained models of one graph that predict together; a subclass says how.

    Args:
        models: at least one.
    """

    draws = True

    def __init__(self, models: Sequence[TrainedModel]) -> None:
        super().__init__(models[0].graph)
        self.models = list(models)

    @property
    def num_parameters(self) -> int:
        return sum(model.num_parameters for model in self.models)

    def weights(self) -> dict[str, Tensor]:
        return joined([model.weights() for model in self.models])

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        for number, model in enumerate(self.models):
            model.load_weights(weights_of(weights, number))


class Ensemble(SeveralModels):
    """R models that differ by their seed, each with the same weight."""

    def grown(self, growth: "Growth") -> TrainedModel | None:
        each = [model.grown(growth) for model in self.models]
        models = [model for model in each if model is not None]
        return Ensemble(models) if len(models) == len(each) else None

    def _predict(self, nodes: Tensor) -> Tensor:
        """Mean class probabilities of the R models [len(nodes), C]."""
        return torch.stack([model.predict_proba(nodes) for model in self.models]).mean(dim=0)

    def moments(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Over the sequences of all models; of models without sequences, over the models alone."""
        parts = [model.moments(nodes) for model in self.models]
        means, variances = (torch.stack(each) for each in zip(*parts, strict=True))
        return means.mean(dim=0), variances.mean(dim=0) + means.var(dim=0, unbiased=False)

    def heuristic_probabilities(self) -> dict[str, float]:
        """The mean over the models."""
        each = [model.heuristic_probabilities() for model in self.models]
        return {name: fmean(one[name] for one in each) for name in each[0]}

    def super_nodes(self) -> np.ndarray | None:
        """Of the first model: the coarse graph depends on the graph and the seed of building alone."""
        return self.models[0].super_nodes()

    def attentions(self, nodes: Tensor) -> "list[list[Attention]]":
        each = [model.attentions(nodes) for model in self.models]
        return [[one for part in parts for one in part] for parts in zip(*each, strict=True)]

    def importance(self, node: int) -> np.ndarray:
        """The mean over the models."""
        mean: np.ndarray = np.mean([model.importance(node) for model in self.models], axis=0)
        return mean


def joined(weights: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The weights of R models in one dictionary."""
    return {
        f"{PREFIXES[0]}-{number}.{name}": value
        for number, one in enumerate(weights)
        for name, value in one.items()
    }


def weights_of(weights: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    """The weights of one of R models, under its own names."""
    prefixes = tuple(f"{prefix}-{number}." for prefix in PREFIXES)
    return {
        name.split(".", maxsplit=1)[1]: value for name, value in weights.items() if name.startswith(prefixes)
    }
