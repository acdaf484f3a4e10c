"""The bandit by hand and its state; rewards against expectations over many draws."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from cases import P, random_mixture

from ansgt.errors import InputError
from ansgt.heuristics import KNN, OneHop
from ansgt.sampling import Exp4P, Mixture, NodeSampler, PaperRule, StepRule, reward
from ansgt.sampling.bandit import RULES, Rule, _divisor, standing
from ansgt.sampling.sampler import MODES, SampledNodes
from ansgt.testing import random_graph


def test_starts_uniform() -> None:
    bandit = Exp4P(num_arms=4)
    assert bandit.probabilities().tolist() == [0.25] * 4
    assert bandit.weights().tolist() == [0.25] * 4


def test_step_rule_by_hand() -> None:
    bandit = Exp4P(num_arms=2, p_min=0.1, rule=StepRule(2.0))
    bandit.update(torch.tensor([3.0, 1.0]))
    w = math.exp(2 * 0.75) / (math.exp(2 * 0.75) + math.exp(2 * 0.25))
    np.testing.assert_allclose(bandit.weights(), [w, 1 - w])
    np.testing.assert_allclose(bandit.probabilities(), [0.8 * w + 0.1, 0.8 * (1 - w) + 0.1])


def test_step_rule_gains_nine_tenths_for_half_as_much_again() -> None:
    change = StepRule().change(torch.tensor([1.5, 1.0, 1.0, 1.0]), torch.full((4,), 0.25), 0.05)
    assert float(change[0] - change[1]) == pytest.approx(8 / 9, rel=1e-6)


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
    bandit = Exp4P(num_arms=2, p_min=0.05, rule=PaperRule(num_sampled=20, update_period=100, delta=0.1))
    bandit.update([0.3, 0.1])
    rate = (0.05 / 2) * math.sqrt(math.log(20 / 0.1) / (2 * 100))
    w = np.exp(rate * (np.array([0.3, 0.1]) + 1 / 0.5))
    np.testing.assert_allclose(bandit.weights(), w / w.sum())
    p = np.array([0.8, 0.2])
    change = PaperRule().change(torch.tensor([0.3, 0.1]), torch.from_numpy(p), 0.05)
    np.testing.assert_allclose(change, rate * (np.array([0.3, 0.1]) + 1 / p), rtol=1e-6)


def test_paper_rule_hardly_moves() -> None:
    bandit = Exp4P(num_arms=4, p_min=0.05, rule="paper")
    for _ in range(10):
        bandit.update([1.0, 0.0, 0.0, 0.0])
    assert 0.25 < bandit.probabilities()[0] < 0.26


@pytest.mark.parametrize("rule", [StepRule(1e6), PaperRule()])
def test_floor_and_no_overflow(rule: Rule) -> None:
    bandit = Exp4P(num_arms=4, p_min=0.01, rule=rule)
    for _ in range(1000):
        bandit.update([1e12, 0.0, 0.0, 0.0])
    p = bandit.probabilities()
    assert torch.isfinite(bandit.log_weights).all()
    assert bandit.log_weights.max() == 0  # only ratios count
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
    bandit = Exp4P(num_arms=4, p_min=0.02, rule=StepRule(step))
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


@dataclass(frozen=True)
class Settings:
    """What `Exp4P.from_settings` reads."""

    bandit_rule: str = "step"
    bandit_step: float = 3.0
    p_min: float = 0.4
    num_sampled: int = 7
    update_period: int = 11


def test_from_settings() -> None:
    bandit = Exp4P.from_settings(Settings(), num_arms=2)
    assert (bandit.num_arms, bandit.p_min, bandit.rule) == (2, 0.4, StepRule(3.0))
    assert Exp4P.from_settings(Settings("paper"), 4).rule == PaperRule(7, 11, delta=0.1)
    assert Exp4P.from_settings(Settings(), num_arms=4).p_min == 0.25  # no more than an equal share
    with pytest.raises(InputError, match="Unknown bandit rule 'ucb'; known: paper, step"):
        Exp4P.from_settings(Settings("ucb"), 4)


def test_a_rule_by_its_name_has_its_defaults() -> None:
    assert list(RULES) == ["step", "paper"]
    assert Exp4P(num_arms=3).rule == Exp4P(num_arms=3, rule="step").rule == StepRule(8.0)
    assert Exp4P(num_arms=3, rule="paper").rule == PaperRule(20, 100, 0.1)
    assert Exp4P(num_arms=1).p_min == 0.01


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


DRAWS = 20_000


def draw(mixture: Mixture, mode: str, num_sampled: int, num_sequences: int = 1) -> SampledNodes:
    """Row b is one experiment: the same candidates, another centre, so another draw."""
    sampler = NodeSampler(mixture, num_sampled=num_sampled, num_sequences=num_sequences, mode=mode)
    return sampler.draw(torch.arange(len(mixture.lengths)), P)


def repeated(mixture: Mixture, times: int) -> Mixture:
    return Mixture(
        mixture.candidates.repeat(times, 1),
        mixture.lengths.repeat(times),
        mixture.Q.repeat(1, times, 1),
        mixture.active.repeat(1, times),
    )


def rewards_of_each(
    sampled: SampledNodes, significance: torch.Tensor, estimator: str = "unbiased", counted: bool = True
) -> torch.Tensor:
    """Rewards of every experiment by itself [K, B], for their spread."""
    weight = torch.where(sampled.mask, significance / _divisor(sampled, estimator, counted), 0.0)
    return (weight * sampled.q).sum(dim=(2, 3))


def significance_of(sampled: SampledNodes, s: torch.Tensor) -> torch.Tensor:
    """s of the drawn nodes; a merged slot's is the sum over its copies, as attention with log(count) gives it."""
    return s[sampled.ids] * sampled.count.clamp(min=1)


@pytest.mark.parametrize("mode", MODES)
def test_unbiased_in_every_mode(mode: str) -> None:
    mixture = random_mixture()
    s = torch.rand(13, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    truth = mixture.Q[:, 0].double() @ s[1:]
    sampled = draw(repeated(mixture, DRAWS), mode, num_sampled=5)
    significance = significance_of(sampled, s)
    each = rewards_of_each(sampled, significance)
    error = each.std(dim=1) / np.sqrt(DRAWS)
    mean = reward(sampled, significance).mean()
    torch.testing.assert_close(mean, each.mean(dim=1))
    assert torch.all((mean - truth).abs() < 4 * error)


def test_distinct_without_the_attention_bias() -> None:
    mixture = random_mixture()
    s = torch.rand(13, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    truth = mixture.Q[:, 0].double() @ s[1:]
    sampled = draw(repeated(mixture, DRAWS), "distinct", num_sampled=5)
    each = rewards_of_each(sampled, s[sampled.ids], counted=False)
    error = each.std(dim=1) / np.sqrt(DRAWS)
    assert torch.all((each.mean(dim=1) - truth).abs() < 4 * error)


def test_paper_is_n_times_unbiased_with_replacement_and_biased_without() -> None:
    mixture = random_mixture()
    s = torch.rand(13, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    truth = mixture.Q[:, 0].double() @ s[1:]
    results = {}
    for mode in ("with", "without"):
        sampled = draw(repeated(mixture, DRAWS), mode, num_sampled=5)
        each = rewards_of_each(sampled, s[sampled.ids], estimator="paper") / 5
        results[mode] = (each.mean(dim=1) - truth) / (each.std(dim=1) / np.sqrt(DRAWS))
    assert torch.all(results["with"].abs() < 4)
    assert torch.all(results["without"].abs() > 8)
    # the heuristic with the fewest candidates is the one most under-paid
    paid = (
        reward(draw(repeated(mixture, DRAWS), "without", 5), s[sampled.ids], estimator="paper").mean() / truth
    )
    assert paid.argmin() == 0
    assert paid[0] < 0.8 * paid[3]


def test_distinct_equals_with_exactly() -> None:
    """The same draws, once repeated and once merged: the same reward to rounding."""
    mixture = repeated(random_mixture(), 50)
    s = torch.rand(13, dtype=torch.float64)
    one, two = draw(mixture, "with", 8, 3), draw(mixture, "distinct", 8, 3)
    for estimator in ("unbiased", "paper"):
        a = reward(one, significance_of(one, s), estimator).mean()
        b = reward(two, significance_of(two, s), estimator).mean()
        torch.testing.assert_close(a, b, rtol=1e-6, atol=0)


def test_by_hand() -> None:
    mixture = Mixture(
        candidates=torch.tensor([[4, 7]], dtype=torch.int32),
        lengths=torch.tensor([2]),
        Q=torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]]),
        active=torch.ones(2, 1, dtype=torch.bool),
    )
    sampled = NodeSampler(mixture, num_sampled=3, num_sequences=1, mode="without").draw([0], [0.5, 0.5])
    assert sampled.mask.tolist() == [[[True, True, False]]]
    s = torch.where(sampled.ids == 4, 2.0, 6.0)  # both are in for certain: the exact sums
    assert reward(sampled, s).mean().tolist() == [2.0, 4.0]
    # psi = 0.75, 0.25: paper divides by these
    np.testing.assert_allclose(reward(sampled, s, "paper").mean(), [2 / 0.75, 1 / 0.75 + 3 / 0.25])


def test_batches_add_up_and_masks_are_respected() -> None:
    graph = random_graph(num_isolated=4)
    mixture = Mixture.from_heuristics([OneHop().fit(graph), KNN(k=5).fit(graph)], 60)
    sampler = NodeSampler(mixture, num_sampled=12, num_sequences=3, mode="without")
    whole = sampler.draw(torch.arange(60), [0.5, 0.5])
    s = torch.rand(60, 3, 12)
    s[~whole.mask] = torch.nan  # a masked slot may hold anything
    total = reward(whole, s)
    parts = [reward(sampler.draw(part, [0.5, 0.5]), s[part]) for part in torch.arange(60).split(13)]
    summed = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    torch.testing.assert_close(summed.mean(), total.mean())
    assert total.count.tolist() == [int((graph.degree > 0).sum()) * 3, 180]


def test_isolated_centres_dilute_nobody() -> None:
    graph = random_graph(num_isolated=20)
    mixture = Mixture.from_heuristics([OneHop().fit(graph)], 60)
    sampler = NodeSampler(mixture, num_sampled=4, num_sequences=2, mode="with")
    everyone = sampler.draw(torch.arange(60), [1.0])
    linked = sampler.draw(torch.arange(40)[graph.degree[:40] > 0], [1.0])
    one = torch.ones(everyone.ids.shape)
    assert reward(everyone, one).mean().item() == pytest.approx(1.0)
    assert reward(linked, one[: len(linked)]).mean().item() == pytest.approx(1.0)
    nobody = sampler.draw(torch.arange(40, 60), [1.0])
    assert reward(nobody, torch.ones(nobody.ids.shape)).mean().tolist() == [0.0]


def test_bad_input_of_a_reward() -> None:
    sampled = draw(random_mixture(), "with", 5)
    with pytest.raises(InputError, match="significance must have shape"):
        reward(sampled, torch.ones(3))
    with pytest.raises(InputError, match="Unknown reward estimator 'ips'"):
        reward(sampled, torch.ones(1, 1, 5), "ips")


def test_standing_counts_what_the_kept_epoch_was_trained_on() -> None:
    shares = [0.5, 0.8, 0.84, 0.77]
    rows = [{"epoch": 5 * k + 4, "probabilities": [p, 1 - p]} for k, p in enumerate(shares)]
    assert standing(rows, kept=4) == {"updates": 0, "acted": False, "settled": False}
    assert standing(rows, kept=5) == {"updates": 1, "acted": True, "settled": False}
    assert standing(rows, kept=10) == {"updates": 2, "acted": True, "settled": False}
    assert standing(rows, kept=15) == {"updates": 3, "acted": True, "settled": True}
    assert standing(rows, kept=99) == {"updates": 4, "acted": True, "settled": False}
    assert standing(rows[1:3], kept=99)["settled"]
