"""Draws: shapes, distributions and seeds; and the whole loop with a bandit that must find the heuristic that matters."""

import numba
import numpy as np
import pytest
import torch
from cases import P, random_mixture
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.datasets.newman import newman_network
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, OneHop, resolve
from ansgt.sampling import Exp4P, Mixture, NodeSampler, SampledNodes, reward
from ansgt.sampling.sampler import MODES
from ansgt.testing import random_graph

DRAWS = 20_000


def small_mixture(num_isolated: int = 3) -> Mixture:
    graph = random_graph(num_isolated=num_isolated)
    return Mixture.from_heuristics([resolve(name, max_candidates=8).fit(graph) for name in HEURISTICS], 60)


def sampler(mode: str, mixture: Mixture | None = None, **settings: int) -> NodeSampler:
    settings = {"num_sampled": 6, "num_sequences": 4, "seed": 0, **settings}
    return NodeSampler(small_mixture() if mixture is None else mixture, mode=mode, **settings)


@pytest.mark.parametrize("mode", MODES)
def test_shapes_and_contents(mode: str) -> None:
    mixture = small_mixture()
    drawn = sampler(mode, mixture).draw(torch.arange(60), P)
    assert drawn.ids.shape == drawn.mask.shape == drawn.count.shape == drawn.psi.shape == (60, 4, 6)
    assert drawn.q.shape == (4, 60, 4, 6)
    assert torch.all(drawn.ids[~drawn.mask] == 0)
    assert torch.all(drawn.count[~drawn.mask] == 0)
    psi = mixture.psi(P)
    for b in range(60):
        allowed = mixture.candidates[b, : mixture.lengths[b]].tolist()
        for s in range(4):
            ids = drawn.ids[b, s][drawn.mask[b, s]].tolist()
            assert set(ids) <= set(allowed) - {b}
            if mode != "with":
                assert len(set(ids)) == len(ids)
            found = [psi[b, allowed.index(i)].item() for i in ids]
            np.testing.assert_allclose(drawn.psi[b, s][drawn.mask[b, s]], found, rtol=1e-6)


def test_fewer_candidates_than_slots_are_masked_not_filled() -> None:
    graph = random_graph(num_nodes=12, mean_degree=3, num_isolated=2)
    mixture = Mixture.from_heuristics([OneHop().fit(graph)], 12)
    drawn = sampler("without", mixture, num_sampled=9).draw(torch.arange(12), [1.0])
    expected = np.minimum(graph.degree, 9)
    assert torch.equal(drawn.mask.sum(-1), torch.from_numpy(expected)[:, None].expand(12, 4))
    for i in range(10):
        assert sorted(drawn.ids[i, 0][drawn.mask[i, 0]].tolist()) == graph.adj[[i]].indices.tolist()
    np.testing.assert_allclose(drawn.inclusion[drawn.mask], 1)  # everybody is in
    for mode in ("with", "distinct"):
        other = sampler(mode, mixture, num_sampled=9).draw(torch.arange(12), [1.0])
        drawn_in_all = torch.from_numpy(np.where(graph.degree > 0, 9, 0))
        assert torch.equal(other.count.sum(-1), drawn_in_all[:, None].expand(12, 4))
        assert not other.mask[graph.degree == 0].any()


def test_distinct_is_with_replacement_merged() -> None:
    mixture = small_mixture()
    repeated = sampler("with", mixture, num_sampled=15).draw(torch.arange(60), P, round=3)
    merged = sampler("distinct", mixture, num_sampled=15).draw(torch.arange(60), P, round=3)
    for b in range(60):
        for s in range(4):
            nodes, counts = repeated.ids[b, s].unique(return_counts=True)
            kept = merged.mask[b, s]
            assert merged.ids[b, s][kept].tolist() == nodes.tolist()
            assert merged.count[b, s][kept].tolist() == counts.tolist()
            assert not merged.mask[b, s, len(nodes) :].any()


@pytest.mark.parametrize("mode", MODES)
def test_draw_depends_on_seed_round_centre_sequence_alone(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mixture = small_mixture()
    whole = sampler(mode, mixture).draw(torch.arange(60), P, round=2)
    some = torch.tensor([17, 4, 59])
    assert torch.equal(sampler(mode, mixture).draw(some, P, round=2).ids, whole.ids[some])
    fewer = sampler(mode, mixture, num_sequences=2).draw(some, P, round=2)
    assert torch.equal(fewer.ids, whole.ids[some, :2])
    monkeypatch.setattr("ansgt.sampling.mixture.SMALL_BLOCK", 300)
    assert torch.equal(sampler(mode, mixture).draw(torch.arange(60), P, round=2).ids, whole.ids)
    assert not torch.equal(sampler(mode, mixture).draw(torch.arange(60), P, round=3).ids, whole.ids)
    assert not torch.equal(sampler(mode, mixture, seed=1).draw(torch.arange(60), P, round=2).ids, whole.ids)
    assert not torch.equal(whole.ids[:, 0], whole.ids[:, 1])


@pytest.mark.parametrize("mode", MODES)
def test_any_number_of_threads(mode: str) -> None:
    mixture, before = small_mixture(), (numba.get_num_threads(), torch.get_num_threads())
    draws = []
    try:
        for count in (1, 2):
            numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
            torch.set_num_threads(count)
            draws.append(sampler(mode, mixture).draw(torch.arange(60), P).ids)
    finally:
        numba.set_num_threads(before[0])
        torch.set_num_threads(before[1])
    assert torch.equal(*draws)


@pytest.mark.parametrize("mode", ["with", "without"])
def test_inclusion_frequencies(mode: str) -> None:
    """Chi-square of how often each candidate is drawn, against theory."""
    mixture = random_mixture()
    num_sampled = 1 if mode == "without" else 5  # one of them: the race must be won with probability psi
    drawn = sampler(mode, mixture, num_sampled=num_sampled, num_sequences=DRAWS).draw(torch.tensor([0]), P)
    counts = torch.bincount(drawn.ids.flatten(), minlength=13)[1:].numpy()
    expected = mixture.psi(P)[0].numpy() * DRAWS * num_sampled
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 11 + 4 * np.sqrt(22)


@pytest.mark.parametrize("mode", ["without", "distinct"])
def test_inclusion_probability_of_a_sequence(mode: str) -> None:
    """E[1{i in} / inclusion_i] = 1 for every candidate: the property the reward rests on."""
    mixture = random_mixture()
    drawn = sampler(mode, mixture, num_sampled=5, num_sequences=DRAWS).draw(torch.tensor([0]), P)
    inverse = torch.where(drawn.mask, 1 / drawn.inclusion, 0.0)[0]
    per_node = torch.zeros(DRAWS, 13, dtype=torch.float64).scatter_add_(1, drawn.ids[0], inverse)[:, 1:]
    error = per_node.std(dim=0) / np.sqrt(DRAWS)
    assert torch.all((per_node.mean(dim=0) - 1).abs() < 4 * error)


def test_distinct_inclusion_is_one_minus_all_missed() -> None:
    mixture = random_mixture()
    drawn = sampler("distinct", mixture, num_sampled=5, num_sequences=DRAWS).draw(torch.tensor([0]), P)
    share = torch.bincount(drawn.ids[drawn.mask], minlength=13)[1:].double() / DRAWS
    expected = 1 - (1 - mixture.psi(P)[0]) ** 5
    assert torch.all((share - expected).abs() < 4 * (expected * (1 - expected) / DRAWS).sqrt())


@given(
    n=st.integers(2, 12),
    degree=st.floats(0, 4),
    isolated=st.integers(0, 2),
    num_sampled=st.integers(1, 15),
    mode=st.sampled_from(MODES),
)
@settings(deadline=None, max_examples=40)
def test_any_graph(n: int, degree: float, isolated: int, num_sampled: int, mode: str) -> None:
    graph = random_graph(num_nodes=n, mean_degree=degree, num_isolated=min(isolated, n - 1))
    mixture = Mixture.from_heuristics([resolve(name).fit(graph) for name in HEURISTICS], n)
    drawn = sampler(mode, mixture, num_sampled=num_sampled, num_sequences=2).draw(torch.arange(n), P)
    candidates = mixture.lengths[:, None].expand(n, 2)
    found = drawn.mask.sum(-1)
    if mode == "without":
        assert torch.equal(found, candidates.clamp(max=num_sampled))
    else:
        assert torch.equal(found > 0, candidates > 0)
        assert torch.equal(drawn.count.sum(-1), (candidates > 0) * num_sampled)
    assert not (drawn.ids == torch.arange(n)[:, None, None])[drawn.mask].any()
    assert torch.isfinite(drawn.psi).all()
    assert torch.isfinite(drawn.inclusion).all()


@pytest.mark.parametrize("mode", MODES)
def test_no_centres_give_an_empty_draw_that_pays_nobody(mode: str) -> None:
    drawn = sampler(mode).draw(torch.tensor([], dtype=torch.int64), P)
    some = sampler(mode).draw(torch.arange(2), P)
    assert len(drawn) == 0
    for field in ("ids", "mask", "count", "tau", "psi", "inclusion"):
        empty, full = getattr(drawn, field), getattr(some, field)
        assert (empty.shape, empty.dtype) == ((0, *full.shape[1:]), full.dtype), field
    assert drawn.q.shape == (4, 0, 4, 6)
    assert reward(drawn, torch.ones(0, 4, 6)).mean().tolist() == [0, 0, 0, 0]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="Unknown sampling mode 'topk'"):
        sampler("topk")
    with pytest.raises(InputError, match="at least 1, not 0 and 4"):
        sampler("with", num_sampled=0)
    with pytest.raises(InputError, match=r"p must have shape \[4\], not \[3\]"):
        sampler("with").draw(torch.arange(2), [0.3, 0.3, 0.4])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("mode", MODES)
def test_cuda_draws_the_same(mode: str) -> None:
    mixture = small_mixture()
    host = sampler(mode, mixture).draw(torch.arange(60), P)
    device = sampler(mode, mixture.to("cuda")).draw(torch.arange(60), P)
    assert torch.equal(host.ids, device.ids.cpu())
    np.testing.assert_allclose(host.inclusion, device.inclusion.cpu(), rtol=1e-9)


@pytest.fixture(scope="module")
def mixture() -> Mixture:
    graph = Graph.from_data(newman_network(seed=0))
    heuristics = [resolve(name, max_candidates=20).fit(graph) for name in HEURISTICS]
    return Mixture.from_heuristics(heuristics, graph.num_nodes)


def attention(sampled: SampledNodes, planted: int) -> torch.Tensor:
    """What a model would give that only looks at nodes proposed by heuristic `planted`, with log(count) as its bias."""
    logits = 4.0 * (sampled.q[planted] > 0) + sampled.count.clamp(min=1).log()
    return torch.softmax(logits.masked_fill(~sampled.mask, -torch.inf), dim=-1).nan_to_num()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("planted", range(4))
def test_weight_goes_to_the_planted_heuristic(mixture: Mixture, mode: str, planted: int) -> None:
    sampler = NodeSampler(mixture, num_sampled=10, num_sequences=4, mode=mode)
    bandit = Exp4P(num_arms=4, p_min=0.05)
    centres = torch.arange(0, 128, 2)  # training centres alone steer
    for round in range(15):
        sampled = sampler.draw(centres, bandit.probabilities(), round)
        bandit.update(reward(sampled, attention(sampled, planted)).mean())
    assert bandit.weights().argmax() == planted
    assert bandit.weights()[planted] > 0.6
