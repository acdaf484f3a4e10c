"""A trained full-batch model: one pass in evaluation mode, and a refusal before the memory is full."""

import pytest
import torch

from ansgt import device
from ansgt.errors import InputError
from ansgt.prediction import build_trained
from ansgt.prediction.full_batch import TrainedFullBatch
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from ansgt.testing import random_graph

NODES = torch.tensor([5, 0, 59])


def trained(model: str = "gcn", *overrides: str, building: int = 0) -> TrainedFullBatch:
    config = build_config(Request("random", model, "test"), overrides=["hidden_channels=8", *overrides])
    torch.manual_seed(building)
    built = build_trained(config, random_graph(60, num_isolated=2), 0, DiskCache(None))
    assert isinstance(built, TrainedFullBatch)
    return built


def test_probabilities_are_the_softmax_of_the_logits_without_dropout() -> None:
    one = trained("gcn", "dropout=0.9")
    one.model.train()
    found = one.predict_proba(NODES)
    assert not one.model.training
    expected = one.model(one.inputs).softmax(dim=-1)[NODES]
    assert torch.equal(found, expected)
    assert not found.requires_grad
    assert torch.equal(one.predict_proba(NODES), found)
    assert one.predict_proba(NODES[:0]).shape == (0, 3)


def test_weights_are_copies_that_decide_the_prediction() -> None:
    one, other = trained(), trained(building=1)
    first, weights = one.predict_proba(NODES), one.weights()
    assert not torch.allclose(other.predict_proba(NODES), first, atol=1e-3)
    other.load_weights(weights)
    assert torch.equal(other.predict_proba(NODES), first)
    for value in weights.values():
        value.zero_()
    assert torch.equal(one.predict_proba(NODES), first)
    assert one.num_parameters == sum(p.numel() for p in one.model.parameters())


def test_columns_that_were_appended_are_features_too() -> None:
    plain, sized = trained("gcn", "size_columns=false"), trained("gcn", "size_columns=true")
    assert sized.inputs["x"].shape[1] > plain.inputs["x"].shape[1]
    assert sized.model.num_kept == sized.inputs["x"].shape[1] - plain.inputs["x"].shape[1]


def test_a_model_that_does_not_fit_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "available_bytes", lambda device: 1)
    with pytest.raises(InputError, match="Model 'graphormer' needs about"):
        trained("graphormer")


def test_an_explanation_names_the_nodes_whose_features_matter_and_no_heuristic() -> None:
    found = trained().explain(3)
    assert all(0 <= row.node < 60 and not row.heuristics for row in found.attended)
    with pytest.raises(InputError, match="Node -1 does not exist"):
        trained().explain(-1)
    assert trained().heuristic_probabilities() == {}
