"""A trained Gophormer votes over ego-graphs: the same at every call, whoever else is asked about."""

import pytest
import torch

from ansgt.pipeline import INFERENCE_ROUND
from ansgt.prediction import build_trained
from ansgt.prediction import gophormer as module
from ansgt.prediction.gophormer import TrainedGophormer
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from ansgt.testing import random_graph

NODES = torch.arange(60)


def trained(*overrides: str, building: int = 0) -> TrainedGophormer:
    small = ["hidden_channels=16", "num_heads=2", "fanout=3", "num_samples=2", "num_votes=5"]
    config = build_config(Request("random", "gophormer", "test"), overrides=[*small, *overrides])
    torch.manual_seed(building)
    graph = random_graph(60, num_features=16, num_isolated=2)
    built = build_trained(config, graph, 0, DiskCache(None))
    assert isinstance(built, TrainedGophormer)
    return built


def test_prediction_repeats_and_does_not_depend_on_the_other_nodes() -> None:
    one = trained()
    everybody = one.predict_proba(NODES)
    torch.testing.assert_close(everybody, one.predict_proba(NODES))
    torch.testing.assert_close(one.predict_proba(NODES[30:40]), everybody[30:40])
    torch.testing.assert_close(everybody.sum(dim=1), torch.ones(60))
    assert one.predict_proba(NODES[:0]).shape == (0, 3)


def test_weights_decide_the_prediction() -> None:
    one, other = trained(), trained(building=1)
    first = one.predict_proba(NODES)
    assert not torch.allclose(other.predict_proba(NODES), first, atol=1e-3)
    other.load_weights(one.weights())
    assert torch.equal(other.predict_proba(NODES), first)
    assert other.num_parameters == sum(value.numel() for value in one.weights().values())


def test_votes_are_drawn_for_prediction_and_samples_for_training() -> None:
    egos = trained().egos
    tables = egos.tables()
    egos.draw(tables, NODES[:7], INFERENCE_ROUND)
    assert tables.num_sequences == 5
    votes = tables.ids.clone()
    egos.draw(tables, NODES[:7], INFERENCE_ROUND)
    assert torch.equal(tables.ids, votes)
    egos.draw(tables, NODES[:7], 0)
    assert tables.num_sequences == 2


def test_many_nodes_are_predicted_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained().predict_proba(NODES)
    monkeypatch.setattr(module, "PORTION", 25)
    torch.testing.assert_close(trained().predict_proba(NODES), whole)
