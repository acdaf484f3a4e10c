"""From the significance of the drawn nodes to one reward per heuristic (section 5.1, Algorithm 1 line 9)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ansgt.errors import InputError, unknown_name
from ansgt.sampling.sampler import SampledNodes

ESTIMATORS = ("unbiased", "paper")


@dataclass(frozen=True, eq=False)
class Reward:
    """Sums that can be added across batches and processes before the mean is taken.

    Args:
        total: sum of the rewards of every (centre, sequence) [K], float64.
        count: how many there were in which the heuristic proposed something [K], float64.
    """

    total: Tensor
    count: Tensor

    def mean(self) -> Tensor:
        """Mean reward of every heuristic [K], float64; 0 for one that never proposed anything."""
        return self.total / self.count.clamp(min=1.0)

    def __add__(self, other: "Reward") -> "Reward":
        return Reward(self.total + other.total, self.count + other.count)


def reward(
    sampled: SampledNodes, significance: Tensor, estimator: str = "unbiased", counted: bool = True
) -> Reward:
    """Rewards r_k of the heuristics from the significance s_i of the drawn nodes.

    "unbiased" estimates sum_i Q_ki s_i over *all* candidates i, whatever the sampling mode:

    - with replacement:     (1/N) sum_draws s_i Q_ki / psi_i
    - distinct, counted:    (1/N) sum_slots s_i Q_ki / psi_i. The model adds log(count) to a merged slot's attention
      logit, so that s_i already is the sum over its copies, and this is the line above; multiplying by the count again
      would square it.
    - distinct, not counted: sum_slots s_i Q_ki / (1 - (1 - psi_i)^N), for a model that gives a merged slot the weight
      of one.
    - without replacement:  sum_slots s_i Q_ki / pi_i with pi_i = 1 - exp(-psi_i tau) (`ansgt.sampling.race`).

    "paper" is sum_slots s_i Q_ki / psi_i as printed: N times the first line with replacement, biased without (heuristics
    with few candidates are under-paid).

    A centre counts for heuristic k only where k proposes something to it: isolated nodes pay nobody and dilute nobody.

    Args:
        sampled: B centres × S sequences × N slots.
        significance: s [B, S, N], non-negative; masked slots are ignored.
        estimator: "unbiased" or "paper".
        counted: mode "distinct" only: whether s already contains the multiplicity.
    """
    if estimator not in ESTIMATORS:
        raise unknown_name("reward estimator", estimator, ESTIMATORS)
    if significance.shape != sampled.ids.shape:
        raise InputError(
            f"significance must have shape {list(sampled.ids.shape)}, not {list(significance.shape)}."
        )
    weight = significance.detach().to(torch.float64) / _divisor(sampled, estimator, counted)
    weight = torch.where(sampled.mask, weight, 0.0)
    each = torch.einsum("bsn,kbsn->kb", weight, sampled.q.to(torch.float64))
    active = sampled.active.to(torch.float64)
    return Reward((each * active).sum(dim=1), active.sum(dim=1) * sampled.ids.shape[1])


def _divisor(sampled: SampledNodes, estimator: str, counted: bool) -> Tensor:
    """What s_i Q_ki is divided by [B, S, N]."""
    if estimator == "paper":
        return sampled.psi
    if sampled.mode == "without" or (sampled.mode == "distinct" and not counted):
        return sampled.inclusion
    return sampled.psi * sampled.ids.shape[-1]
