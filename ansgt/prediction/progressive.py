"""Progressive mixture: what separately trained experts say, weighted by what they said of validation nodes.

Let q_k(y_s) be the probability that expert k gives to the label of validation node s. After t nodes expert k has the weight
exp(sum over s <= t of log q_k(y_s)), normalised; the weights that count are the mean over t = 0 ... n and over orders of the
nodes. One more expert is the plain mean of all K. If the n nodes are drawn like those that are predicted, and no expert has
seen them, the expected log loss of the mixture exceeds that of the best of the K + 1 by at most

    C log(K + 1) / (n + 1),    C = 1 for log loss    (Catoni, 2004; Yang and Barron, 1999).

Experts whose epoch was chosen on the same nodes have seen them a little, so the bound is a guide here, not a proof. It says
how many experts n nodes support (`most_experts`).

Where there are enough nodes every expert first gets a temperature of its own: log loss would take weight from an expert
that is right more often than the others but surer than it should be.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ansgt.arrays import brief_repr
from ansgt.prediction.calibration import fitted_temperature, tempered

TOLERANCE = 0.05
"""Log loss that weighting may cost: more experts than that are not weighted."""
ORDERS = 32
FOLDS = 5
FLOOR = 1e-7
"""Smallest probability of a label that counts: one node alone cannot rule an expert out."""
CALIBRATED = 300
"""Validation nodes from which on experts have temperatures; on the 36 to 50 of small graphs they over-fit."""
MOST_NODES = 5000
"""Validation nodes that weigh; more would change nothing but the time it takes."""


def excess_bound(num_experts: int, num_nodes: int) -> float:
    """C log(K + 1) / (n + 1): what weighting K experts on n nodes may cost in expected log loss.

    >>> round(excess_bound(5, 36), 3)
    0.048
    """
    return math.log(num_experts + 1) / (num_nodes + 1)


def most_experts(num_nodes: int) -> int:
    """The largest K with `excess_bound(K, num_nodes) <= TOLERANCE`; below 2 a plain mean is all that can be had.

    >>> most_experts(10), most_experts(36), most_experts(100)
    (0, 5, 155)
    """
    return int(math.exp(min(TOLERANCE * (num_nodes + 1), 20.0)) - 1 + 1e-9)


def progressive_weights(likelihoods: np.ndarray) -> np.ndarray:
    """Weights of K experts [K], which sum to 1.

    Args:
        likelihoods: probability of the known label of every validation node under every expert [n, K].
    """
    num_nodes, num_experts = likelihoods.shape
    if num_experts == 1 or num_nodes == 0:
        return np.full(num_experts, 1.0 / num_experts)
    with_mean = np.column_stack([likelihoods, likelihoods.mean(axis=1)])
    logs = np.log(np.clip(with_mean.astype(np.float64), FLOOR, 1.0))
    orders = np.random.RandomState(0)
    total = np.zeros(num_experts + 1)
    for _ in range(ORDERS):
        order = orders.permutation(num_nodes)[:MOST_NODES]
        sums = np.vstack([np.zeros(num_experts + 1), np.cumsum(logs[order], axis=0)])
        shares = np.exp(sums - sums.max(axis=1, keepdims=True))
        total += (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    total /= total.sum()
    weights: np.ndarray = total[:-1] + total[-1] / num_experts
    return weights


def expert_weights(likelihoods: np.ndarray) -> np.ndarray:
    """`progressive_weights`, or a plain mean where there are too few nodes for so many experts."""
    num_nodes, num_experts = likelihoods.shape
    if num_experts > most_experts(num_nodes):
        return np.full(num_experts, 1.0 / num_experts)
    return progressive_weights(likelihoods)


@dataclass(frozen=True, eq=False)
class ExpertMixture:
    """Weights and temperatures of K experts.

    Args:
        weights: they sum to 1 [K].
        temperatures: what each expert's logits are divided by before it is weighed [K].
    """

    weights: np.ndarray
    temperatures: Sequence[float]
    __repr__ = brief_repr

    @classmethod
    def of(
        cls, probabilities: np.ndarray, labels: np.ndarray, calibrated: bool | None = None
    ) -> "ExpertMixture":
        """From what the experts say of the validation nodes.

        Args:
            probabilities: of the experts [K, n, C].
            labels: known classes [n].
            calibrated: whether experts get temperatures; None: where n is at least `CALIBRATED`.
        """
        if calibrated is None:
            calibrated = len(labels) >= CALIBRATED
        temperatures = [1.0] * len(probabilities)
        if calibrated and len(probabilities) > 1:
            known = torch.from_numpy(labels)
            temperatures = [fitted_temperature(torch.from_numpy(one), known) for one in probabilities]
        told = _tempered(probabilities, temperatures)
        return cls(expert_weights(likelihoods_of(told, labels)), temperatures)

    def mixed(self, probabilities: np.ndarray) -> np.ndarray:
        """What the experts say together [m, C], from what each says [K, m, C]."""
        told = _tempered(probabilities, self.temperatures)
        found: np.ndarray = np.tensordot(self.weights.astype(told.dtype), told, axes=1)
        return found


def _tempered(probabilities: np.ndarray, temperatures: Sequence[float]) -> np.ndarray:
    parts = zip(probabilities, temperatures, strict=True)
    found = [tempered(torch.from_numpy(one), temperature).numpy() for one, temperature in parts]
    return np.stack(found)


def crossed_mixture(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What the mixture says of the validation nodes [n, C], each weighted by the others' labels alone.

    Args:
        probabilities: of the experts [K, n, C].
        labels: known classes [n].
    """
    num_nodes = len(labels)
    mixed = np.zeros(probabilities.shape[1:])
    fold = np.random.RandomState(1).permutation(num_nodes) % FOLDS
    for number in range(FOLDS):
        inside, outside = fold == number, fold != number
        others = ExpertMixture.of(probabilities[:, outside], labels[outside], num_nodes >= CALIBRATED)
        mixed[inside] = others.mixed(probabilities[:, inside])
    return mixed


def likelihoods_of(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probability of every node's label under every expert [n, K], from the experts' probabilities [K, n, C]."""
    found: np.ndarray = probabilities[:, np.arange(len(labels)), labels].T
    return found
