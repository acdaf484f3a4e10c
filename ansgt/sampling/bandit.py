"""`Exp4P`: which heuristic to trust (section 5.1, Algorithm 1), an adversarial bandit with log-space weights."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ansgt.errors import InputError, unknown_name

RULES = ("step", "paper")


class Exp4P:
    """Weights of K heuristics and the probabilities p_k = (1 - K p_min) w_k / W + p_min.

    (The paper prints a sum over j in place of w_k, which makes all p_k equal.) Two rules for the weights:

    - ``"step"``: log w_k += step * r_k / sum_j r_j. Only the shares of the rewards count, so that neither the scale
      of the attention nor N nor the estimator's constant matters: `step` is the change of log-weight of a heuristic
      that takes the whole reward against one that takes none. With four equal heuristics nothing moves; one paid half as
      much again as the other three gains 0.9 an update at the default of 8. A share is a ratio of estimates: it wants
      rewards averaged over some hundred draws (every training centre), or heuristics with a small p_k are under-paid.
    - ``"paper"``: log w_k += (p_min / 2) (r_k + 1/p_k) sqrt(ln(N / delta) / (K T)), as printed. At its settings this
      moves weights by under 1 % in ten updates.

    Args:
        num_arms: K.
        p_min: floor of every probability, in (0, 1/K].
        rule: "step" or "paper".
        step: step size of rule "step".
        delta: confidence of rule "paper".
        num_sampled: N of rule "paper".
        update_period: T of rule "paper".

    >>> bandit = Exp4P(num_arms=2, p_min=0.1, step=1.0)
    >>> bandit.update([3.0, 1.0])
    >>> [round(p, 3) for p in bandit.probabilities().tolist()]
    [0.598, 0.402]
    """

    def __init__(
        self,
        num_arms: int,
        p_min: float = 0.01,
        rule: str = "step",
        step: float = 8.0,
        delta: float = 0.1,
        num_sampled: int = 20,
        update_period: int = 100,
    ) -> None:
        if rule not in RULES:
            raise unknown_name("bandit rule", rule, RULES)
        if num_arms < 1:
            raise InputError(f"num_arms must be at least 1, not {num_arms}.")
        if not 0 < p_min <= 1 / num_arms:
            raise InputError(f"p_min must be in (0, 1/{num_arms}], not {p_min}.")
        self.num_arms = num_arms
        self.p_min = p_min
        self.rule = rule
        self.step = step
        self.delta = delta
        self.num_sampled = num_sampled
        self.update_period = update_period
        self.log_weights = torch.zeros(num_arms, dtype=torch.float64)
        self.num_updates = 0

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
        change = (
            self._paper_change(r) if self.rule == "paper" else self.step * r / max(float(r.sum()), 1e-300)
        )
        log_weights = self.log_weights + change
        self.log_weights = log_weights - log_weights.max()  # only ratios count
        self.num_updates += 1

    def _paper_change(self, r: Tensor) -> Tensor:
        rate = math.sqrt(math.log(self.num_sampled / self.delta) / (self.num_arms * self.update_period))
        return (self.p_min / 2) * (r + 1 / self.probabilities()) * rate

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers, so that it goes into JSON unchanged."""
        return {"log_weights": self.log_weights.tolist(), "num_updates": self.num_updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        log_weights = torch.as_tensor(state["log_weights"], dtype=torch.float64)
        if log_weights.shape != (self.num_arms,):
            raise InputError(f"The stored bandit has {len(log_weights)} arms, this one has {self.num_arms}.")
        self.log_weights = log_weights.clone()
        self.num_updates = int(state["num_updates"])
