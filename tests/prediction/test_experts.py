"""Weighted experts: the weighted sum of what they say; reasons are those of the heaviest."""

import numpy as np
import pytest
import torch
from torch import Tensor

from ansgt.prediction import TrainedModel
from ansgt.prediction.experts import WeightedExperts
from ansgt.testing.graphs import path_graph


class Constant(TrainedModel):
    """Says the same of every node, and that node 0 alone matters as much as `first` says."""

    num_parameters = 1

    def __init__(self, probabilities: list[float], first: float) -> None:
        super().__init__(path_graph(4))
        self.probabilities, self.first = torch.tensor(probabilities), first

    def _predict(self, nodes: Tensor) -> Tensor:
        return self.probabilities.expand(len(nodes), -1)

    def weights(self) -> dict[str, Tensor]:
        return {"p": self.probabilities.clone()}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        self.probabilities = weights["p"]

    def importance(self, node: int) -> np.ndarray:
        return np.array([self.first, 1 - self.first, 0, 0])


@pytest.fixture
def experts() -> WeightedExperts:
    return WeightedExperts([Constant([1.0, 0.0], 0.2), Constant([0.5, 0.5], 0.9)], [0.25, 0.75])


def test_the_weighted_sum(experts: WeightedExperts) -> None:
    assert experts.predict_proba(torch.tensor([3, 1])).tolist() == [[0.625, 0.375]] * 2
    assert experts.num_parameters == 2


def test_weights_travel_under_the_number_of_their_expert(experts: WeightedExperts) -> None:
    weights = experts.weights()
    assert set(weights) == {"model-0.p", "model-1.p"}
    other = WeightedExperts([Constant([0.0, 1.0], 0.0), Constant([0.0, 1.0], 0.0)], [0.5, 0.5])
    other.load_weights(weights)
    assert other.predict_proba(torch.tensor([0])).tolist() == [[0.75, 0.25]]


def test_reasons_are_those_of_the_heaviest_expert_with_the_probabilities_of_all(
    experts: WeightedExperts,
) -> None:
    focus = experts.focuses(torch.tensor([1]), 3)[0]
    assert focus.ids.tolist() == [0]
    assert focus.share.tolist() == pytest.approx([0.9])
    assert focus.probabilities.tolist() == [0.625, 0.375]
