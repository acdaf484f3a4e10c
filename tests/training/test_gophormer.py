"""Gophormer in the harness: it learns, and it resumes."""

import pytest
import torch

from ansgt.graph import Split
from ansgt.models.baselines.gophormer import consistency_loss
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from ansgt.testing import random_graph
from ansgt.training.gophormer import GophormerLearner
from ansgt.training.steps import sequence_loss


def learner(epochs: int = 30, device: str = "cpu", captured: bool | None = None) -> GophormerLearner:
    graph = random_graph(60, num_features=16, num_isolated=2)
    nodes = torch.arange(60)
    split = Split(nodes[:36], nodes[36:48], nodes[48:], name="test")
    overrides = [
        "hidden_channels=16",
        "num_heads=2",
        "fanout=3",
        "batch_size=16",
        f"epochs={epochs}",
        "lr=0.01",
        "dropout=0.0",
        "input_dropout=0.0",
        "attention_dropout=0.0",
        "normalize_features=none",
        *([] if captured is None else [f"captured={str(captured).lower()}"]),
    ]
    config = build_config(Request("random", "gophormer", "test", device=device), overrides=overrides)
    torch.manual_seed(0)
    return GophormerLearner(config, graph, split, 0, DiskCache(None))


def train(one: GophormerLearner, epochs: range) -> list[float]:
    losses = []
    for epoch in epochs:
        torch.manual_seed(epoch)
        losses.append(one.train_epoch(epoch))
    return losses


def test_loss_falls() -> None:
    losses = train(learner(), range(30))
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def test_loss_is_cross_entropy_and_the_distance_between_predictions() -> None:
    one = learner()
    one.trained.egos.draw(one.tables, one.train_nodes, 0)
    batch, known = one.tables.batch(torch.tensor([3, 5, 0])), torch.tensor([1.0, 1.0, 0.0])
    logits = one.trained.model.eval()(batch)
    apart = consistency_loss(logits, one.settings.num_samples, one.settings.temperature, known)
    assert float(apart) > 0
    expected = sequence_loss(logits, batch.target, known) + one.settings.consistency_weight * apart
    torch.testing.assert_close(one.step.loss(torch.tensor([3, 5, -1])), expected)
    assert one.history() == []
    assert one.standing(0) == {}


def test_resumed_training_is_bit_identical() -> None:
    whole = learner()
    train(whole, range(4))
    half = learner()
    train(half, range(2))
    other = learner()
    other.load_state_dict(half.state_dict())
    train(other, range(2, 4))
    for name, value in whole.trained.weights().items():
        assert torch.equal(value, other.trained.weights()[name]), name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_captured_predictions_follow_the_nodes_and_the_weights() -> None:
    replayed, eager = learner(device="cuda", captured=True), learner(device="cuda", captured=False)
    for epoch in range(2):
        replayed.train_epoch(epoch)
        eager.trained.load_weights(replayed.trained.weights())
        for nodes in (torch.arange(60), torch.arange(7), torch.arange(7, 14)):
            assert torch.allclose(
                replayed.trained.predict_proba(nodes), eager.trained.predict_proba(nodes), atol=2e-2
            )
