"""Synthetic graphs: the shape that was asked for, by counts of the generated graph itself."""

import numpy as np
import pytest
import torch

from ansgt.datasets import load, load_dataset
from ansgt.datasets.synthetic import TOLERANCE, SyntheticSettings, _link, synthetic_graph
from ansgt.errors import InputError


def test_the_graph_has_what_was_asked_for() -> None:
    graph, split = synthetic_graph(SyntheticSettings(20_000, mean_degree=10, homophily=0.7, num_classes=8))
    assert graph.degree.mean() == pytest.approx(10, rel=TOLERANCE)
    assert graph.edge_homophily() == pytest.approx(0.7, abs=0.02)
    assert torch.bincount(graph.y).tolist() == [2500] * 8
    assert [len(part) for part in (split.train, split.val, split.test)] == [10_800, 3_600, 5_600]
    matrix = graph.adj
    assert (matrix != matrix.T).nnz == 0
    assert matrix.diagonal().sum() == 0
    assert matrix.has_canonical_format


def test_degrees_follow_the_power_law_up_to_the_largest_hub() -> None:
    degree = np.sort(synthetic_graph(SyntheticSettings(200_000, num_features=1))[0].degree)[::-1]
    ranks = np.array([100, 1000, 10_000])
    slope = np.polyfit(np.log(ranks), np.log(degree[ranks]), 1)[0]
    assert slope == pytest.approx(-1 / 1.5, abs=0.06)  # the r-th largest is r^(-1 / (exponent - 1))
    assert degree[0] > 100 * degree.mean()
    few = synthetic_graph(SyntheticSettings(20_000, num_features=1, exponent=50))[0].degree
    assert few.max() < 4 * few.mean()


def test_features_are_class_centres_with_the_stated_noise() -> None:
    graph, _ = synthetic_graph(SyntheticSettings(5_000, num_classes=4, num_features=32, noise=0.3))
    centres = torch.stack([graph.x[graph.y == label].mean(dim=0) for label in range(4)])
    torch.testing.assert_close(centres.norm(dim=1), torch.ones(4), atol=0.05, rtol=0)
    assert float((graph.x - centres[graph.y]).std()) == pytest.approx(0.3, rel=0.01)
    assert len(synthetic_graph(SyntheticSettings(500, noise=0.0))[0].x.unique(dim=0)) == 40


def test_features_alone_are_mediocre_by_default() -> None:
    """The nearest true centre, which no model of the features alone can beat, is right for about half of the nodes."""
    graph, split = synthetic_graph(SyntheticSettings(10_000))
    centres = torch.stack([graph.x[graph.y == label].mean(dim=0) for label in range(40)])
    right = torch.cdist(graph.x, centres).argmin(dim=1) == graph.y
    assert 0.35 < float(right[split.test].float().mean()) < 0.65


def test_a_seed_is_a_graph() -> None:
    one, again, other = (load("synthetic-1000", seed=seed) for seed in (0, 0, 1))
    assert one.graph.content_hash == again.graph.content_hash != other.graph.content_hash
    assert one.split().hash == again.split().hash != other.split().hash


def test_compiled_and_plain_place_the_same_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SyntheticSettings(300, num_classes=3, num_features=2)
    fast = synthetic_graph(settings)[0]
    monkeypatch.setattr("ansgt.datasets.synthetic._link", _link.py_func)
    with np.errstate(over="ignore"):
        plain = synthetic_graph(settings)[0]
    assert plain.content_hash == fast.content_hash


def test_names() -> None:
    named = load("synthetic-500-6+num_classes=3+noise=0.1")
    given = load("synthetic", num_nodes=500, mean_degree=6, num_classes=3, noise=0.1)
    assert named.graph.content_hash == given.graph.content_hash
    assert named.graph.name == "synthetic-500-6+num_classes=3+noise=0.1"
    data = load_dataset("synthetic-500-6")
    assert data.train_mask.sum() == 270
    assert data.edge_index.shape[1] == 2 * load("synthetic-500-6").graph.num_edges


def test_no_edges_at_all() -> None:
    assert load("synthetic-100-0").graph.num_edges == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("synthetic-many", "num_nodes must be a whole number"),
        ("synthetic-5", "num_nodes must be at least 10"),
        ("synthetic-100-3-4", r"is named synthetic-<nodes>\["),
        ("synthetic-100+noise", r"is named synthetic-<nodes>\["),
        ("synthetic-100+colour=3", "Unknown setting 'colour'"),
        ("synthetic-100+homophily=2", "homophily must be in"),
        ("synthetic-20", "at most 10 classes, not 40"),
        ("synthetic-100-40", "mean degree of at most 25"),
        ("synthetic-100+train_share=0.9+val_share=0.2", "more than 1 together"),
        ("synthetic-2000000000", "GiB, more than is free"),
    ],
)
def test_graphs_that_do_not_exist(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(name)
