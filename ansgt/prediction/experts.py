"""Separately trained experts of one split that predict together, each with its weight."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ansgt.prediction import TrainedModel
from ansgt.prediction.ensemble import SeveralModels
from ansgt.prediction.focus import Attention, Focus


class WeightedExperts(SeveralModels):
    """K trained models of one graph as one; they may be of different kinds.

    Explanations are those of the expert with the largest weight: experts do not share sequences.

    Args:
        models: at least one.
        shares: their weights [K], which sum to 1.
    """

    def __init__(self, models: Sequence[TrainedModel], shares: Sequence[float]) -> None:
        super().__init__(models)
        self.shares = list(shares)

    @property
    def first(self) -> TrainedModel:
        """The expert with the largest weight."""
        return self.models[int(np.argmax(self.shares))]

    def _predict(self, nodes: Tensor) -> Tensor:
        """sum_k w_k q_k, the class probabilities [len(nodes), C]."""
        parts = (
            share * model.predict_proba(nodes) for model, share in zip(self.models, self.shares, strict=True)
        )
        return torch.stack(list(parts)).sum(dim=0)

    def moments(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Over the sequences of all experts, each with its weight; of experts without sequences, over the experts alone."""
        parts = [model.moments(nodes) for model in self.models]
        means, variances = (torch.stack(each) for each in zip(*parts, strict=True))
        shares = torch.tensor(self.shares, dtype=means.dtype)[:, None, None]
        mean = (shares * means).sum(dim=0)
        return mean, (shares * (variances + (means - mean) ** 2)).sum(dim=0)

    def heuristic_probabilities(self) -> dict[str, float]:
        return self.first.heuristic_probabilities()

    def super_nodes(self) -> np.ndarray | None:
        return self.first.super_nodes()

    def attentions(self, nodes: Tensor) -> list[list[Attention]]:
        return self.first.attentions(nodes)

    def importance(self, node: int) -> np.ndarray:
        return self.first.importance(node)

    def focuses(self, nodes: Tensor, top: int) -> list[Focus]:
        """Whom the first expert attended to, with the probabilities of all."""
        probabilities = self.predict_proba(nodes)
        found = self.first.focuses(nodes, top)
        return [replace(one, probabilities=probabilities[place]) for place, one in enumerate(found)]
