"""Which heuristic to trust (section 5.1, Algorithm 1): one reward per heuristic, and a bandit that learns from rewards.

`reward` comes from the significance of the drawn nodes (line 9); `Exp4P` is an adversarial bandit with log-space weights.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.errors import InputError, unknown_name
from ansgt.sampling.sampler import SampledNodes

ESTIMATORS = ("unbiased", "paper")
"""How a reward is estimated from what was drawn."""


@dataclass(frozen=True, eq=False)
class Reward:
    """Sums that can be added across batches and processes before the mean is taken.

    Args:
        total: sum of the rewards of every (centre, sequence) [K], float64.
        count: how many there were in which the heuristic proposed something [K], float64.
    """

    total: Tensor
    count: Tensor
    __repr__ = brief_repr

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
    - without replacement:  sum_slots s_i Q_ki / pi_i with pi_i = 1 - exp(-psi_i tau) (`ansgt.sampling.drawing`).

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


@dataclass(frozen=True)
class StepRule:
    """log w_k += step * r_k / sum_j r_j.

    Only the shares of the rewards count, so that neither the scale of the attention nor N nor the estimator's constant
    matters: `step` is the change of log-weight of a heuristic that takes the whole reward against one that takes none.
    With four equal heuristics nothing moves; one paid half as much again as the other three gains 0.9 per update at the
    default. A share is a ratio of estimates: it wants rewards averaged over some hundred draws (every training centre), or
    heuristics with a small p_k are under-paid.
    """

    step: float = 8.0

    def change(self, rewards: Tensor, probabilities: Tensor, p_min: float) -> Tensor:
        """What is added to the log-weights [K], float64."""
        return self.step * rewards / max(float(rewards.sum()), 1e-300)


@dataclass(frozen=True)
class PaperRule:
    """log w_k += (p_min / 2) (r_k + 1/p_k) sqrt(ln(N / delta) / (K T)), as printed in Algorithm 1, line 9.

    At the paper's settings this moves weights by under 1 % in ten updates.

    Args:
        num_sampled: N.
        update_period: T.
        delta: confidence.
    """

    num_sampled: int = 20
    update_period: int = 100
    delta: float = 0.1

    def change(self, rewards: Tensor, probabilities: Tensor, p_min: float) -> Tensor:
        """What is added to the log-weights [K], float64."""
        rate = math.sqrt(math.log(self.num_sampled / self.delta) / (len(rewards) * self.update_period))
        return (p_min / 2) * (rewards + 1 / probabilities) * rate


SETTLED = 0.05
"""Change of the probabilities by an update, in total variation, below which they count as settled."""


def standing(history: Sequence[Mapping[str, Any]], kept: int) -> dict[str, Any]:
    """How far the bandit had come when the kept epoch was trained.

    Args:
        history: one row per update, with `epoch`, after which it was made, and `probabilities`.
        kept: the epoch whose weights are kept.

    Returns:
        `updates` before that epoch was trained; `acted`: whether there was one (else "adaptive" is the mixture that
        training began with); `settled`: whether the last of them moved the probabilities by less than `SETTLED`.

    >>> standing([{"epoch": 4, "probabilities": [0.8, 0.2]}], kept=3)
    {'updates': 0, 'acted': False, 'settled': False}
    """
    seen = [row["probabilities"] for row in history if row["epoch"] < kept]
    moved = [
        sum(abs(a - b) for a, b in zip(*pair, strict=True)) / 2
        for pair in zip(seen[-2:], seen[-1:], strict=False)
    ]
    settled = len(seen) > 1 and moved[0] < SETTLED
    return {"updates": len(seen), "acted": bool(seen), "settled": settled}


Rule: TypeAlias = StepRule | PaperRule
RULES: dict[str, type[Rule]] = {"step": StepRule, "paper": PaperRule}
"""How rewards change the weights."""


class BanditSettings(Protocol):
    """The settings that the bandit reads: its rule and p_min, N and T."""

    @property
    def bandit_rule(self) -> str: ...
    @property
    def bandit_step(self) -> float: ...
    @property
    def p_min(self) -> float: ...
    @property
    def num_sampled(self) -> int: ...
    @property
    def update_period(self) -> int: ...


class Exp4P:
    """Weights of K heuristics and the probabilities p_k = (1 - K p_min) w_k / W + p_min.

    (The paper prints a sum over j in place of w_k, which makes all p_k equal.)

    Args:
        num_arms: K.
        p_min: lower bound of every probability, in (0, 1/K].
        rule: how rewards change the weights: `StepRule` or `PaperRule`, or "step" or "paper" for their defaults.

    >>> bandit = Exp4P(num_arms=2, p_min=0.1, rule=StepRule(1.0))
    >>> bandit.update([3.0, 1.0])
    >>> [round(p, 3) for p in bandit.probabilities().tolist()]
    [0.598, 0.402]
    """

    def __init__(self, num_arms: int, p_min: float = 0.01, rule: str | Rule = "step") -> None:
        if num_arms < 1:
            raise InputError(f"num_arms must be at least 1, not {num_arms}.")
        if not 0 < p_min <= 1 / num_arms:
            raise InputError(f"p_min must be in (0, 1/{num_arms}], not {p_min}.")
        if isinstance(rule, str):
            if rule not in RULES:
                raise unknown_name("bandit rule", rule, RULES)
            rule = RULES[rule]()
        self.num_arms = num_arms
        self.p_min = p_min
        self.rule = rule
        self.log_weights = torch.zeros(num_arms, dtype=torch.float64)
        self.num_updates = 0

    @classmethod
    def from_settings(cls, settings: BanditSettings, num_arms: int) -> Self:
        """The bandit as the settings want it; p_min is lowered to 1/K where it is more."""
        rules: dict[str, Rule] = {
            "step": StepRule(settings.bandit_step),
            "paper": PaperRule(settings.num_sampled, settings.update_period),
        }
        if settings.bandit_rule not in rules:
            raise unknown_name("bandit rule", settings.bandit_rule, rules)
        return cls(num_arms, min(settings.p_min, 1 / num_arms), rules[settings.bandit_rule])

    def weights(self) -> Tensor:
        """w_k / W [K], float64."""
        return torch.softmax(self.log_weights, dim=0)

    def probabilities(self) -> Tensor:
        """p_k [K], float64: at least p_min each, summing to 1."""
        return (1 - self.num_arms * self.p_min) * self.weights() + self.p_min

    def update(self, rewards: Any) -> None:
        """One round: the rewards [K] of what was drawn with the present probabilities."""
        r = torch.as_tensor(rewards, dtype=torch.float64).detach().cpu()
        if r.shape != (self.num_arms,):
            raise InputError(f"rewards must have shape [{self.num_arms}], not {list(r.shape)}.")
        if not bool((torch.isfinite(r) & (r >= 0)).all()):
            raise InputError(f"rewards must be finite and not negative, not {r.tolist()}.")
        log_weights = self.log_weights + self.rule.change(r, self.probabilities(), self.p_min)
        self.log_weights = log_weights - log_weights.max()  # only ratios count
        self.num_updates += 1

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers, so that it goes into JSON unchanged."""
        return {"log_weights": self.log_weights.tolist(), "num_updates": self.num_updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        log_weights = torch.as_tensor(state["log_weights"], dtype=torch.float64)
        if log_weights.shape != (self.num_arms,):
            raise InputError(f"The stored bandit has {len(log_weights)} arms, this one has {self.num_arms}.")
        self.log_weights = log_weights.clone()
        self.num_updates = int(state["num_updates"])
