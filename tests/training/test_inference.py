"""Averaged inference against a loop over nodes and sequences; significance in the order it was asked for."""

import pytest
import torch
from step_cases import LAYOUT, NODES, SEQUENCES, make_step

from ansgt.training.inference import Predictor, Significance


def test_probabilities_are_the_mean_of_softmax() -> None:
    step = make_step(dropout=0.5)
    model, nodes = step.model, torch.tensor([4, 2, 17, 2, 9])
    probabilities = Predictor(model, step.build, chunk_size=2)(nodes)
    assert model.training
    model.eval()
    for row, node in zip(probabilities, nodes, strict=True):
        expected = model(step.build(node[None])).softmax(-1).mean(0)
        assert torch.allclose(row, expected, atol=1e-6)
    assert torch.allclose(probabilities.sum(1), torch.ones(5))


@pytest.mark.parametrize("chunk_size", [1, 7, 100])
def test_chunks_do_not_matter(chunk_size: int) -> None:
    step = make_step()
    nodes = torch.arange(NODES)
    whole = Predictor(step.model, step.build, chunk_size=NODES)(nodes)
    assert torch.allclose(Predictor(step.model, step.build, chunk_size=chunk_size)(nodes), whole, atol=1e-6)
    assert Predictor(step.model, step.build, chunk_size=chunk_size)(nodes[:0]).shape == (0, whole.shape[1])


def test_significance_of_every_sequence() -> None:
    step = make_step(dropout=0.5)
    nodes = torch.tensor([3, 11, 5])
    s = Significance(step.model, step.build, chunk_size=2)(nodes)
    assert s.shape == (3, SEQUENCES, LAYOUT.num_sampled)
    step.model.eval()
    _, expected = step.model(step.build(nodes[1:2]), significance=True)
    assert torch.allclose(s[1], expected, atol=1e-6)
    assert not s.requires_grad


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_captured_inference_follows_the_weights() -> None:
    step = make_step("cuda", dropout=0.5)
    nodes = torch.arange(NODES, device="cuda")
    eager = Predictor(step.model, step.build, chunk_size=8)
    replay = Predictor(step.model, step.build, chunk_size=8, captured=True)
    for _ in range(2):
        assert torch.allclose(eager(nodes), replay(nodes), atol=1e-5)
        step(nodes[:8])
