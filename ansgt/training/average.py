"""`WeightAverage`: a running mean of the weights, which predicts in their place."""

import copy
import math

import torch
from torch import Tensor

from ansgt.models.ansgt import ANSGT
from ansgt.training.capture import Restore


class WeightAverage:
    """Exponential moving average of a model's weights, in a copy of the model.

    With a few dozen training nodes the weights swing from epoch to epoch, and the epoch that validation picks is partly
    luck; their mean moves slowly. Written in place, so that a captured step may contain `update`.

    Args:
        model: under training.
        updates: time constant; a weight that is u updates old counts exp(-u / updates).
    """

    def __init__(self, model: ANSGT, updates: float) -> None:
        self.model: ANSGT = copy.deepcopy(model).requires_grad_(False)
        self.share = -math.expm1(-1.0 / updates)
        self._mean: list[Tensor] = list(self.model.parameters())
        self._live: list[Tensor] = list(model.parameters())

    @torch.no_grad()
    def update(self) -> None:
        """Takes the present weights into the mean."""
        torch._foreach_lerp_(self._mean, self._live, self.share)

    @torch.no_grad()
    def snapshot(self) -> Restore:
        """What takes the mean back to now, in place."""
        kept = [value.clone() for value in self._mean]
        return lambda: torch._foreach_copy_(self._mean, kept)
