"""Full-batch training: it learns from the training part alone, follows its schedule, and resumes exactly."""

from dataclasses import replace

import pytest
import torch

from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from ansgt.testing import random_graph
from ansgt.training.full_batch import FullBatchLearner

NODES = torch.arange(60)
SPLIT = Split(NODES[:36], NODES[36:48], NODES[48:], name="test")


def learner(*overrides: str, graph: Graph | None = None) -> FullBatchLearner:
    settings = ["hidden_channels=16", "epochs=20", "lr=0.05", *overrides]
    config = build_config(Request("random", "gcn", "test"), overrides=settings)
    torch.manual_seed(0)
    return FullBatchLearner(config, graph or random_graph(60, seed=1), SPLIT, 0, DiskCache(None))


def train(one: FullBatchLearner, start: int, stop: int) -> list[float]:
    losses = []
    for epoch in range(start, stop):
        torch.manual_seed(epoch)
        losses.append(one.train_epoch(epoch))
    return losses


def test_loss_falls_and_there_is_no_history() -> None:
    one = learner("dropout=0.0", "input_dropout=0.0")
    losses = train(one, 0, 20)
    assert losses[-1] < 0.8 * losses[0]
    assert one.history() == []


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_resumed_training_is_bit_identical(name: str) -> None:
    settings = (f"optim.name={name}", "warmup_epochs=3", "end_lr=0.001")
    whole, half, other = learner(*settings), learner(*settings), learner(*settings)
    losses = train(whole, 0, 6)
    assert train(half, 0, 4) == losses[:4]
    other.load_state_dict(half.state_dict())
    assert train(other, 4, 6) == losses[4:]
    for name, value in whole.trained.weights().items():
        assert torch.equal(value, other.trained.weights()[name]), name


def test_labels_outside_the_training_part_reach_nothing() -> None:
    graph = random_graph(60, seed=1)
    y = graph.y.clone()
    y[36:] = (y[36:] + 1) % 3
    one, other = learner(graph=graph), learner(graph=replace(graph, y=y))
    assert train(one, 0, 3) == train(other, 0, 3)
    y[0] = (y[0] + 1) % 3
    assert train(learner(graph=replace(graph, y=y)), 0, 1) != train(learner(graph=graph), 0, 1)


def test_the_learning_rate_rises_then_falls_to_its_end() -> None:
    one = learner("warmup_epochs=4", "end_lr=0.01")
    rates = []
    for epoch in range(20):
        rates.append(one.optimizer.param_groups[0]["lr"])
        one.train_epoch(epoch)
    assert rates[:5] == pytest.approx([0.0125, 0.025, 0.0375, 0.05, 0.05])
    assert rates[12] == pytest.approx((0.05 + 0.01) / 2)
    assert one.optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_the_optimizer_is_as_set(name: str) -> None:
    settings = {"lr": 0.3, "weight_decay": 0.125, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3}
    one = learner(f"optim.name={name}", *(f"{key}={value}" for key, value in settings.items()))
    assert type(one.optimizer) is {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    for group in one.optimizer.param_groups:
        assert (group["betas"], group["eps"], group["initial_lr"]) == ((0.8, 0.9), 1e-3, 0.3)
        assert group["weight_decay"] in (0.125, 0.0)
    assert one.standing(0) == {}
    still = learner("lr=0.0")
    before = {name: value.clone() for name, value in still.trained.weights().items()}
    train(still, 0, 2)
    assert all(torch.equal(value, still.trained.weights()[name]) for name, value in before.items())


def test_without_an_end_the_learning_rate_stays() -> None:
    one = learner("lr=0.05", "warmup_epochs=0")
    train(one, 0, 3)
    assert one.optimizer.param_groups[0]["lr"] == 0.05


def test_what_a_node_of_each_class_counts() -> None:
    """Mean 1 over the training part; a class without a training node counts, and divides by, nothing."""
    graph = random_graph(60, seed=1)
    y = torch.tensor([0] * 20 + [1] * 12 + [2] * 4 + [0, 1, 2, 3] * 6)
    graph = replace(graph, y=y, num_classes=4)
    balanced = learner("class_weight=balanced", graph=graph).class_weight
    torch.testing.assert_close(balanced, torch.tensor([36 / 60, 36 / 36, 36 / 12, 12.0]))
    given = learner("train.class_weight={1: 3.0, 2: 0.5}", graph=graph).class_weight
    scale = 36 / (20 + 3 * 12 + 0.5 * 4)
    torch.testing.assert_close(given, scale * torch.tensor([1.0, 3.0, 0.5, 1.0]))
    assert learner(graph=graph).class_weight is None
    with pytest.raises(InputError, match="weight 0"):
        learner("train.class_weight={0: 0, 1: 0, 2: 0}", graph=graph)
    with pytest.raises(InputError, match="class in class_weight"):
        learner("train.class_weight={9: 1.0}", graph=graph)


def test_gradients_are_clipped() -> None:
    one = learner("clip_norm=1e-6")
    one.train_epoch(0)
    total = torch.cat([p.grad.flatten() for p in one.trained.model.parameters() if p.grad is not None]).norm()
    assert float(total) == pytest.approx(1e-6, rel=1e-3)
