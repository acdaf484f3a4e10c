import numpy as np
import pytest
import torch
from sampling_cases import P, random_mixture

from ansgt.errors import InputError
from ansgt.heuristics import KNN, OneHop
from ansgt.sampling import Mixture, NodeSampler, reward
from ansgt.sampling.reward import _divisor
from ansgt.sampling.sampler import MODES, SampledNodes
from ansgt.testing import random_graph

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


def test_bad_input() -> None:
    sampled = draw(random_mixture(), "with", 5)
    with pytest.raises(InputError, match="significance must have shape"):
        reward(sampled, torch.ones(3))
    with pytest.raises(InputError, match="Unknown reward estimator 'ips'"):
        reward(sampled, torch.ones(1, 1, 5), "ips")
