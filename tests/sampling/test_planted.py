"""The whole loop on a Newman network with a planted significance: the bandit must find the heuristic that matters."""

import pytest
import torch

from ansgt.datasets import newman_network
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, resolve
from ansgt.sampling import Exp4P, Mixture, NodeSampler, SampledNodes, reward
from ansgt.sampling.sampler import MODES


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
