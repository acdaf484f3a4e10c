"""Gophormer's ego-graphs against networkx, and its consistency loss against the formula."""

import networkx as nx
import pytest
import torch

from ansgt.errors import InputError
from ansgt.models.baselines.gophormer import EgoSampler, Gophormer, GophormerSettings, Reach, consistency_loss
from ansgt.sequences import SequenceBuilder, SequenceLayout
from ansgt.sequences.proximity import Proximity
from ansgt.testing import path_graph, random_graph, star_graph


def test_all_neighbours_are_taken_where_they_are_few() -> None:
    graph = random_graph(40, mean_degree=3.0, num_isolated=2, seed=2)
    wide = EgoSampler(graph, Reach(40, 2), num_sequences=2)
    drawn = wide.draw(torch.arange(40))
    ball = nx.from_scipy_sparse_array(graph.adj)
    for node in range(40):
        expected = set(nx.ego_graph(ball, node, radius=2)) - {node}
        for s in range(2):
            got = drawn.ids[node, s][drawn.mask[node, s]].tolist()
            assert sorted(got) == sorted(expected)


def test_draws_are_distinct_near_and_bounded() -> None:
    graph = random_graph(60, mean_degree=10.0, seed=1)
    sampler = EgoSampler(graph, Reach(3, 2), num_sequences=4)
    drawn = sampler.draw(torch.arange(60))
    assert sampler.num_sampled == 12
    lengths = dict(nx.all_pairs_shortest_path_length(nx.from_scipy_sparse_array(graph.adj)))
    for node in range(60):
        for s in range(4):
            got = drawn.ids[node, s][drawn.mask[node, s]].tolist()
            assert len(set(got)) == len(got)
            assert node not in got
            assert all(lengths[node][other] <= 2 for other in got)
            assert sum(lengths[node][other] == 1 for other in got) >= min(3, int(graph.degree[node]))
    assert bool((drawn.ids[~drawn.mask] == 0).all())


def test_neighbours_are_drawn_uniformly() -> None:
    sampler = EgoSampler(star_graph(10), Reach(3, 1), num_sequences=4000, seed=5)
    drawn = sampler.draw(torch.tensor([0])).ids.flatten()
    share = torch.bincount(drawn, minlength=11)[1:] / 4000
    torch.testing.assert_close(share, torch.full((10,), 0.3), atol=0.03, rtol=0.0)


def test_a_draw_depends_on_its_coordinates_alone() -> None:
    graph = random_graph(60, mean_degree=10.0, seed=1)
    sampler = EgoSampler(graph, Reach(3), num_sequences=2, seed=4)
    whole, part = sampler.draw(torch.arange(60), round=3), sampler.draw(torch.tensor([7, 50]), round=3)
    assert torch.equal(whole.ids[[7, 50]], part.ids)
    assert not torch.equal(whole.ids, sampler.draw(torch.arange(60), round=4).ids)


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="fanout must be at least 1, not 0"):
        EgoSampler(path_graph(4), Reach(0))
    assert EgoSampler(path_graph(4), Reach(9)).num_sampled == 3
    assert EgoSampler(path_graph(9), Reach(2), max_nodes=5).num_sampled == 5


def test_consistency_loss() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.0]], requires_grad=True)
    p = logits.detach().softmax(-1).view(2, 2, 2)
    mean = p.mean(1, keepdim=True)
    sharp = mean**2 / (mean**2).sum(-1, keepdim=True)
    per_centre = ((p - sharp) ** 2).sum(-1).mean(1)
    both = consistency_loss(logits, 2, 0.5, torch.ones(2))
    torch.testing.assert_close(both, per_centre.mean())
    torch.testing.assert_close(consistency_loss(logits, 2, 0.5, torch.tensor([0.0, 1.0])), per_centre[1])
    both.backward()
    assert bool((logits.grad.abs() > 0).any())


def test_model_reads_ego_graphs_of_isolated_nodes_too() -> None:
    graph = random_graph(20, num_isolated=2, num_features=8)
    sampler = EgoSampler(graph, Reach(2), num_sequences=3)
    layout = SequenceLayout(sampler.num_sampled, num_global=1)
    builder = SequenceBuilder(graph, layout, Proximity(4).fit(graph))
    builder.resample(sampler.draw(torch.arange(20)))
    settings = GophormerSettings(hidden_channels=16, num_heads=2, num_global=1, num_proximity=4)
    model = Gophormer(8, 3, settings)
    logits = model(builder.batch(torch.arange(20)))
    assert logits.shape == (60, 3)
    logits.sum().backward()
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters())
