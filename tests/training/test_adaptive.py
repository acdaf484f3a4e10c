"""Algorithm 1 as a learner: what moves, what must not matter, and resumption around an update."""

import math
import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from shared import TINY

from ansgt.config import RunConfig
from ansgt.datasets import load
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.planner import Plan, plan_sequences
from ansgt.runs.prepare import Request, build_config
from ansgt.runs.seeds import seed_building, seed_epoch
from ansgt.sampling import StreamedMixture
from ansgt.storage import DiskCache, load_state, save_state
from ansgt.testing import random_graph
from ansgt.training import build_learner
from ansgt.training.adaptive import AdaptiveLearner, _batch_size


def config(*overrides: str) -> RunConfig:
    return build_config(Request("graph", "ansgt", "given"), overrides=[*TINY, *overrides])


def newman() -> tuple[Graph, Split]:
    data = load("newman")
    return data.graph, data.split()


def learner(*overrides: str, graph: Graph | None = None, split: Split | None = None) -> AdaptiveLearner:
    if graph is None or split is None:
        graph, split = newman()
    seed_building(0, 0)
    built: Any = build_learner(config(*overrides), graph, split, 0, DiskCache(None))
    return built


def train(one: AdaptiveLearner, start: int, stop: int) -> list[float]:
    losses = []
    for epoch in range(start, stop):
        seed_epoch(0, 0, epoch)
        losses.append(one.train_epoch(epoch))
    return losses


def test_streamed_sequences_give_the_same_numbers_as_held_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, with ragged batches, an update of the bandit in blocks, and whether or not node 0 is a centre."""
    monkeypatch.setattr("ansgt.training.adaptive.REWARDED", 256)

    def streaming(*arguments: Any) -> Plan:
        return replace(plan_sequences(*arguments), mixture="streamed", sequences="streamed", block=48)

    graph = random_graph(1500, num_features=16)
    for first in (0, 1):
        split = Split(torch.arange(first, 401), torch.arange(500, 900), torch.arange(900, 950), "given", 0)
        chosen = ("redraw_every=1", "batch_size=24", "input_dropout=0.5")
        held = learner(*chosen, graph=graph, split=split)
        with monkeypatch.context() as patch:
            patch.setattr("ansgt.prediction.ansgt.plan_sequences", streaming)
            streamed = learner(*chosen, graph=graph, split=split)
        assert not held.streams
        assert streamed.streams
        assert isinstance(streamed.trained.pipeline.mixture, StreamedMixture)
        assert train(held, 0, 5) == train(streamed, 0, 5)
        for name, value in held.trained.weights().items():
            assert torch.equal(value, streamed.trained.weights()[name]), name
        nodes = torch.arange(graph.num_nodes)
        assert torch.equal(held.trained.predict_proba(nodes), streamed.trained.predict_proba(nodes))


def test_the_bandit_is_updated_every_period_and_recorded() -> None:
    one = learner("bandit_step=20.0")
    losses = train(one, 0, 6)
    assert losses[-1] < losses[0]
    assert [row["epoch"] for row in one.history()] == [1, 3, 5]
    last = one.history()[-1]
    assert last["probabilities"] == pytest.approx(one.trained.p.tolist())
    assert sum(last["probabilities"]) == pytest.approx(1)
    assert max(last["probabilities"]) - min(last["probabilities"]) > 0.01
    assert one.trained.heuristic_probabilities() == dict(
        zip(last["heuristics"], one.trained.p.tolist(), strict=True)
    )


def test_samples_are_drawn_anew_after_every_third_epoch_where_asked() -> None:
    one, drawn = learner("redraw_every=3", "update_period=100"), []
    for epoch in range(6):
        before = one.tables.ids.clone()
        train(one, epoch, epoch + 1)
        drawn.append(not torch.equal(one.tables.ids, before))
    assert drawn == [
        False,
        False,
        False,
        True,
        False,
        False,
    ]  # when they are read: after the last epoch nothing is


def test_what_training_alone_needs_is_given_up_and_the_model_predicts_as_before() -> None:
    one = learner()
    train(one, 0, 2)
    nodes = torch.arange(50)
    before, standing = one.trained.predict_proba(nodes), one.standing(1)
    held = [weakref.ref(one.tables.ids), weakref.ref(one.sampled.ids)]
    one.release()
    assert [tensor() for tensor in held] == [None, None]
    assert torch.equal(one.trained.predict_proba(nodes), before)
    assert one.standing(1) == standing


@pytest.mark.parametrize("sampling", ["fixed", "1-hop", "knn"])
def test_without_adaptation_the_mixture_stays(sampling: str) -> None:
    one = learner(f"sampling={sampling}")
    before, ids = one.trained.p.clone(), one.tables.ids.clone()
    train(one, 0, 4)
    assert torch.equal(one.trained.p, before)
    assert one.history() == []
    assert not torch.equal(one.tables.ids, ids)  # resampled all the same
    if sampling == "1-hop":
        neighbours = set(one.trained.graph.adj[[int(one.train_nodes[0])]].indices.tolist())
        sampled = one.tables.ids[0, :, 1:7][one.tables.mask[0, :, 1:7]]
        assert set(sampled.tolist()) <= neighbours


@pytest.mark.parametrize("mode", ["without", "with", "distinct"])
@pytest.mark.parametrize("rule", ["step", "paper"])
def test_every_mode_and_rule_trains(mode: str, rule: str) -> None:
    one = learner(f"mode={mode}", f"bandit_rule={rule}", "reward=paper", "redraw_every=1")
    train(one, 0, 3)
    assert len(one.history()) == 1
    assert torch.isfinite(one.trained.predict_proba(torch.arange(5))).all()


def test_training_does_not_know_of_more_sequences_for_prediction() -> None:
    one, more = learner("num_layers=2"), learner("num_layers=2", "num_inference=8")
    assert train(one, 0, 3) == train(more, 0, 3)
    assert more.tables.num_sequences == 2
    nodes = torch.arange(40)
    assert not torch.equal(more.trained.predict_proba(nodes), one.trained.predict_proba(nodes))


@pytest.mark.parametrize("average", [0.0, 1.5])
@pytest.mark.parametrize("moment", [1, 2, 3])  # before, right after, and between updates (T = 2)
def test_resumed_equals_unbroken(moment: int, average: float, tmp_path: Path) -> None:
    settings = ("redraw_every=1", f"average_epochs={average}")
    whole, first = learner(*settings), learner(*settings)
    losses = train(whole, 0, 5)
    assert train(first, 0, moment) == losses[:moment]
    save_state(tmp_path / "s", first.state_dict())
    second = learner(*settings)
    second.load_state_dict(load_state(tmp_path / "s"))
    assert train(second, moment, 5) == losses[moment:]
    assert second.history() == whole.history()
    for name, value in whole.trained.weights().items():
        assert torch.equal(value, second.trained.weights()[name]), name


def test_the_running_mean_predicts_and_the_bandit_listens_to_the_weights() -> None:
    one, other = learner(), learner("average_epochs=3.0")
    assert train(one, 0, 4) == train(other, 0, 4)
    assert one.history() == other.history()
    nodes = torch.arange(40)
    assert not torch.allclose(one.trained.predict_proba(nodes), other.trained.predict_proba(nodes), atol=1e-4)
    assert other.trained.num_parameters == one.trained.num_parameters
    newest = learner("average_epochs=1e-6")  # a mean that forgets at once is the weights themselves
    train(newest, 0, 4)
    assert torch.allclose(one.trained.predict_proba(nodes), newest.trained.predict_proba(nodes), atol=1e-5)


def test_how_long_the_running_mean_remembers() -> None:
    one = learner("average_epochs=3.0", "batch_size=10")
    assert one.average is not None
    updates = 3.0 * math.ceil(len(one.train_nodes) / 10)
    assert one.average.share == pytest.approx(1 - math.exp(-1 / updates))
    assert learner("average_epochs=0.0").average is None
    assert set(one.standing(0)) == {"bandit", "memory", "heuristics", "proximity"}
    assert set(learner("sampling=fixed").standing(0)) == {"memory", "heuristics", "proximity"}


def test_a_batch_that_processes_cannot_share_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = learner("batch_size=10").settings
    sizes = [_batch_size(settings, number, torch.device("cpu")) for number in (9, 10, 11)]
    assert sizes == [9, 10, 10]
    monkeypatch.setattr("ansgt.training.adaptive.ranks", lambda: SimpleNamespace(size=3))
    assert _batch_size(settings, 3, torch.device("cpu")) == 3
    with pytest.raises(InputError, match="2 training nodes cannot be shared by 3 processes"):
        _batch_size(settings, 2, torch.device("cpu"))
    compiled = replace(settings, compiled=True)
    assert _batch_size(compiled, 50, torch.device("cuda")) == 10
    with pytest.raises(InputError, match="on GPUs alone"):
        _batch_size(compiled, 50, torch.device("cpu"))
    monkeypatch.setattr("ansgt.training.adaptive.ranks", lambda: SimpleNamespace(size=1))
    assert _batch_size(compiled, 50, torch.device("cpu")) == 10


def test_labels_outside_the_training_part_reach_nothing() -> None:
    """Other labels on validation and test nodes: same losses, same rewards, same weights, bit for bit."""
    graph, split = newman()
    y = graph.y.clone()
    outside = torch.cat([split.val, split.test])
    y[outside] = (y[outside] + 1) % 4
    one, other = learner(graph=graph, split=split), learner(graph=replace(graph, y=y), split=split)
    assert train(one, 0, 5) == train(other, 0, 5)
    assert one.history() == other.history()
    assert all(torch.equal(v, other.trained.weights()[k]) for k, v in one.trained.weights().items())


def test_no_label_at_all_reaches_the_reward() -> None:
    """Scrambled training labels change the loss but not the reward of an untrained model."""
    graph, split = newman()
    y = graph.y.clone()
    y[split.train] = y[split.train].roll(7)
    one, other = learner(graph=graph, split=split), learner(graph=replace(graph, y=y), split=split)
    one._update(0)
    other._update(0)
    assert one.history() == other.history()


def test_only_training_centres_have_a_significance() -> None:
    one = learner()
    asked = []
    inner = one.significance
    one.significance = lambda nodes: asked.append(nodes) or inner(nodes)  # type: ignore[assignment,func-returns-value]
    train(one, 0, 2)
    _, split = newman()
    assert [nodes.tolist() for nodes in asked] == [split.train.tolist()]
    assert sorted(one.sampled.nodes.tolist()) == split.train.tolist()


def test_isolated_nodes_and_sparse_features() -> None:
    graph = random_graph(60, num_isolated=5, num_features=80)
    x = torch.where(graph.x > 1.5, graph.x, 0.0)
    x[59] = 0.0  # no feature and no edge: nobody proposes anything
    split = Split(torch.arange(0, 60, 2), torch.arange(1, 40, 2), torch.arange(41, 60, 2), "s")
    dense = learner("normalize_features=none", graph=replace(graph, x=x), split=split)
    sparse = learner("normalize_features=none", graph=replace(graph, x=x.to_sparse_csr()), split=split)
    assert train(dense, 0, 3) == pytest.approx(train(sparse, 0, 3), rel=0.2)  # input dropout draws differ
    assert torch.isfinite(dense.trained.predict_proba(torch.arange(60))).all()


def test_no_supernodes_no_globals_and_given_start() -> None:
    one = learner("num_supernodes=0", "num_global=0", "initial=[1.0, 0.0, 0.0, 1.0]")
    assert one.trained.p.tolist() == [0.5, 0.0, 0.0, 0.5]
    train(one, 0, 1)
    assert one.trained.pipeline.coarse is None


def test_a_batch_is_no_larger_than_the_training_part() -> None:
    graph, split = newman()
    whole = train(learner(f"batch_size={len(split.train)}", graph=graph, split=split), 0, 3)
    assert train(learner("batch_size=100000", graph=graph, split=split), 0, 3) == whole


def test_a_pilot_leaves_nothing_but_the_bandit() -> None:
    """Weights, moments and learning rate begin as without it; the probabilities have moved before the first epoch."""
    plain, piloted = learner("bandit_step=20.0"), learner("bandit_step=20.0", "pilot_epochs=3")
    seed_epoch(0, 0, 0)
    piloted._pilot()
    first = {name: value for name, value in plain.trained.weights().items() if name != "p"}
    assert all(torch.equal(value, piloted.trained.weights()[name]) for name, value in first.items())
    assert int(piloted.optimizer.count) == 0
    assert [row["epoch"] for row in piloted.history()] == [-3, -2, -1]
    assert not torch.allclose(piloted.trained.p, plain.trained.p, atol=0.01)
    again = learner("bandit_step=20.0", "pilot_epochs=3")
    train(again, 0, 1)
    assert [row["epoch"] for row in again.history()] == [-3, -2, -1]
    assert again.standing(0)["bandit"]["updates"] == 3
    assert plain.standing(0)["bandit"] == {"updates": 0, "acted": False, "settled": False}
    assert "bandit" not in learner("sampling=fixed").standing(0)


@pytest.mark.parametrize("mode", ["distinct", "with", "without"])
def test_a_heuristic_of_probability_zero_may_be_all_that_a_centre_has(mode: str) -> None:
    """An isolated centre has KNN alone; at probability 0 it is drawn from all the same, and nothing becomes NaN."""
    graph = random_graph(60, num_features=16, num_isolated=2)
    split = Split(torch.arange(20, 60), torch.arange(10), torch.arange(10, 20), name="given", index=0)
    one = learner(
        "initial=[1.0, 1.0, 0.0, 0.0]", f"mode={mode}", "sampling=adaptive", graph=graph, split=split
    )
    lonely = torch.from_numpy((graph.degree == 0).nonzero()[0])
    drawn = one.trained.pipeline.draw(lonely, one.trained.p, 1).sampled
    knn = one.trained.pipeline.heuristics[3].rows(lonely.numpy()).toarray() > 0
    for row, ids, mask in zip(knn, drawn.ids, drawn.mask, strict=True):
        assert mask.any()
        assert row[ids[mask].numpy()].all()
    assert all(loss == loss for loss in train(one, 0, 4))
    assert torch.isfinite(one.trained.p).all()
    assert torch.isfinite(one.trained.predict_proba(torch.arange(60))).all()
