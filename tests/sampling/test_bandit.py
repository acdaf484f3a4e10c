import json
import math

import numpy as np
import pytest
import torch
from sampling_cases import random_mixture

from ansgt.errors import InputError
from ansgt.sampling import Exp4P, NodeSampler, reward


def test_starts_uniform() -> None:
    bandit = Exp4P(num_arms=4)
    assert bandit.probabilities().tolist() == [0.25] * 4
    assert bandit.weights().tolist() == [0.25] * 4


def test_step_rule_by_hand() -> None:
    bandit = Exp4P(num_arms=2, p_min=0.1, step=2.0)
    bandit.update(torch.tensor([3.0, 1.0]))
    w = math.exp(2 * 0.75) / (math.exp(2 * 0.75) + math.exp(2 * 0.25))
    np.testing.assert_allclose(bandit.weights(), [w, 1 - w])
    np.testing.assert_allclose(bandit.probabilities(), [0.8 * w + 0.1, 0.8 * (1 - w) + 0.1])


def test_step_rule_does_not_see_the_scale_of_rewards() -> None:
    one, two = Exp4P(num_arms=3), Exp4P(num_arms=3)
    one.update([1.0, 2.0, 3.0])
    two.update(np.array([1e-6, 2e-6, 3e-6]))
    np.testing.assert_allclose(one.probabilities(), two.probabilities())
    one.update([5.0, 5.0, 5.0])
    np.testing.assert_allclose(one.probabilities(), two.probabilities())  # equal rewards move nothing
    one.update([0.0, 0.0, 0.0])
    np.testing.assert_allclose(one.probabilities(), two.probabilities())


def test_paper_rule_by_hand() -> None:
    """Algorithm 1, line 9: K = 2, p = (1/2, 1/2), N = 20, T = 100, delta = 0.1, p_min = 0.05."""
    bandit = Exp4P(num_arms=2, p_min=0.05, rule="paper", num_sampled=20, update_period=100)
    bandit.update([0.3, 0.1])
    rate = (0.05 / 2) * math.sqrt(math.log(20 / 0.1) / (2 * 100))
    w = np.exp(rate * (np.array([0.3, 0.1]) + 1 / 0.5))
    np.testing.assert_allclose(bandit.weights(), w / w.sum())


def test_paper_rule_hardly_moves() -> None:
    bandit = Exp4P(num_arms=4, p_min=0.05, rule="paper")
    for _ in range(10):
        bandit.update([1.0, 0.0, 0.0, 0.0])
    assert 0.25 < bandit.probabilities()[0] < 0.26


@pytest.mark.parametrize("rule", ["step", "paper"])
def test_floor_and_no_overflow(rule: str) -> None:
    bandit = Exp4P(num_arms=4, p_min=0.01, rule=rule, step=1e6)
    for _ in range(1000):
        bandit.update([1e12, 0.0, 0.0, 0.0])
    p = bandit.probabilities()
    assert torch.isfinite(bandit.log_weights).all()
    assert p.sum().item() == pytest.approx(1.0)
    assert p.min() >= 0.01 - 1e-12
    assert p[0].item() == pytest.approx(0.97, abs=1e-9)


def test_state_survives_json() -> None:
    bandit = Exp4P(num_arms=4)
    for seed in range(5):
        bandit.update(np.random.default_rng(seed).random(4))
    other = Exp4P(num_arms=4)
    other.load_state_dict(json.loads(json.dumps(bandit.state_dict())))
    assert torch.equal(other.probabilities(), bandit.probabilities())
    assert other.num_updates == 5
    with pytest.raises(InputError, match="stored bandit has 4 arms"):
        Exp4P(num_arms=3).load_state_dict(bandit.state_dict())


def regret(significance: torch.Tensor, step: float) -> tuple[float, float]:
    """Regret per round against the best fixed heuristic: of the bandit, which sees draws alone, and of the uniform mixture.

    A heuristic earns sum_i Q_ki s_i; a mixture sum_k p_k of that. s [rounds, n] is the adversary's.
    """
    mixture = random_mixture()
    sampler = NodeSampler(mixture, num_sampled=10, num_sequences=100, mode="with")
    bandit = Exp4P(num_arms=4, p_min=0.02, step=step)
    pays = significance[:, 1:] @ mixture.Q[:, 0].double().T  # [rounds, K]
    earned = 0.0
    for round, s in enumerate(significance):
        earned += float(bandit.probabilities() @ pays[round])
        drawn = sampler.draw(torch.tensor([0]), bandit.probabilities(), round)
        bandit.update(reward(drawn, s[drawn.ids]).mean())
    best, rounds = float(pays.sum(dim=0).max()), len(pays)
    return (best - earned) / rounds, (best - float(pays.mean(dim=1).sum())) / rounds


def adversary(rounds: int) -> torch.Tensor:
    """The second half of the nodes matters; in the first fifth of the time an adversary shows the first instead."""
    s = torch.rand(rounds, 13, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 0.2
    s[:, 6:] += 1.0
    s[: rounds // 5] = s[: rounds // 5].flip(1)
    return s


@pytest.mark.parametrize("step", [0.5, 8.0])
def test_regret_on_an_adversarial_bandit(step: float) -> None:
    short, _ = regret(adversary(20), step)
    long, uniform = regret(adversary(200), step)
    assert long < 0.1 * uniform
    assert long < short  # regret grows slower than time


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"p_min must be in \(0, 1/4\], not 0.3"):
        Exp4P(num_arms=4, p_min=0.3)
    with pytest.raises(InputError, match="Unknown bandit rule 'ucb'"):
        Exp4P(num_arms=4, rule="ucb")
    with pytest.raises(InputError, match=r"rewards must have shape \[4\]"):
        Exp4P(num_arms=4).update([1.0])
    with pytest.raises(InputError, match="finite and not negative"):
        Exp4P(num_arms=2).update([1.0, float("nan")])
    with pytest.raises(InputError, match="num_arms must be at least 1"):
        Exp4P(num_arms=0)
