"""A trained ANS-GT predicts from its weights, its probabilities p and its seed, and from nothing else."""

import numpy as np
import pytest
import torch

from ansgt.datasets import load
from ansgt.errors import InputError
from ansgt.pipeline import INFERENCE_ROUND
from ansgt.prediction import build_trained
from ansgt.prediction.ansgt import TrainedANSGT
from ansgt.runs.prepare import Request, build_config
from ansgt.runs.seeds import seed_building
from ansgt.storage import DiskCache

TINY = ["num_layers=2", "num_augmentations=2", "num_sampled=6", "hidden_channels=16", "num_heads=2"]
NODES = torch.arange(128)


def trained(*overrides: str, building: int = 0, seed: int = 0) -> TrainedANSGT:
    """A model with the first weights that `building` gives, on a Newman network."""
    config = build_config(Request("graph", "ansgt", "given"), overrides=[*TINY, *overrides])
    seed_building(building, 0)
    built = build_trained(config, load("newman").graph, seed, DiskCache(None))
    assert isinstance(built, TrainedANSGT)
    return built


def test_predictions_depend_on_weights_p_and_seed_alone() -> None:
    one = trained()
    one.p = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    first = one.predict_proba(NODES)
    assert first.sum(dim=1).tolist() == pytest.approx([1.0] * 128, abs=1e-5)
    one.predict_proba(NODES[:7])
    assert torch.equal(one.predict_proba(NODES), first)
    assert torch.allclose(one.predict_proba(NODES[20:30]), first[20:30], atol=1e-6)
    other = trained(building=1)
    assert not torch.allclose(other.predict_proba(NODES), first, atol=1e-3)
    other.load_weights(one.weights())
    assert torch.equal(other.predict_proba(NODES), first)
    other.p = other.p.flip(0)
    assert not torch.equal(other.predict_proba(NODES), first)
    assert not torch.equal(trained(seed=1).predict_proba(NODES), trained().predict_proba(NODES))


def test_weights_are_copies_and_hold_p() -> None:
    one = trained()
    weights = one.weights()
    assert weights["p"].tolist() == [0.25] * 4
    for value in weights.values():
        value.zero_()
    assert one.p.tolist() == [0.25] * 4
    assert sum(float(value.abs().sum()) for value in one.model.state_dict().values()) > 0
    assert one.heuristic_probabilities() == dict.fromkeys(["1-hop", "2-hop", "ppr", "knn"], 0.25)
    assert one.num_parameters == sum(v.numel() for n, v in weights.items() if n != "p")


def test_attention_of_many_nodes_is_that_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.prediction.focus.CHUNK", 3)
    model, nodes = trained(), torch.tensor([5, 90, 17, 3])
    together = model.attentions(nodes)
    for node, ((one,), probabilities) in zip(
        nodes, zip(together, model.predict_proba(nodes), strict=True), strict=True
    ):
        ((alone,),) = model.attentions(node[None])
        assert np.array_equal(one.ids, alone.ids)
        assert np.allclose(one.posterior, alone.posterior)
        assert np.allclose(one.share, alone.share, atol=1e-6)
        assert one.share.sum() == pytest.approx(1.0, abs=1e-6)
        assert np.allclose(one.posterior.sum(axis=0)[one.mask], 1.0)
        assert torch.allclose(one.probabilities, probabilities, atol=1e-5)


def test_more_sequences_are_averaged() -> None:
    one, more = trained(), trained("num_inference=8")
    nodes = NODES[:40]
    averaged = more.predict_proba(nodes)
    assert not torch.equal(averaged, one.predict_proba(nodes))
    batch = more.pipeline.draw(nodes, more.p, INFERENCE_ROUND).sequences.batch(nodes)
    assert len(batch) == 40 * 8
    with torch.no_grad():
        more.model.eval()
        logits = more.model(batch)
    assert torch.allclose(averaged, logits.softmax(dim=-1).view(40, 8, -1).mean(dim=1), atol=1e-6)


def test_many_nodes_are_predicted_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained().predict_proba(NODES)
    monkeypatch.setattr("ansgt.planner.LARGE_PORTION", 1)  # portions of one chunk
    monkeypatch.setattr("ansgt.planner.CHUNK", 32)
    assert torch.allclose(trained().predict_proba(NODES), whole, atol=1e-6)


def test_an_explanation_shares_its_attention_among_all_tokens() -> None:
    found = trained().explain(7)
    assert sum(found.kinds.values()) == pytest.approx(1.0)
    with pytest.raises(InputError, match="Node 128 does not exist: the graph has 128 nodes"):
        trained().explain(128)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("num_sampled=200", "num_sampled is 200, but the graph has 128 nodes"),
        ("sampling=3-hop", "must be one of adaptive, fixed, 1-hop"),
        ("mode=twice", "must be one of without, with, distinct"),
        ("coarsening_rate=1.5", "coarsening_rate must be in (0, 1]"),
        ("coarsening_method=xx", "must be one of vn, ve, jc"),
        ("initial=[1.0, 2.0]", "2 values for 4 heuristics"),
        ("p_min=0.0", "p_min must be in (0, 1]"),
        ("num_layers=0", "num_layers must be in [1, 1000], not 0"),
        ("num_inference=0", "num_inference must be at least 1, not 0"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        trained(override)
    assert message in str(caught.value)
