"""Averaged inference against a loop over nodes and sequences; significance in the order it was asked for."""

import pytest
import torch
from cases import LAYOUT, NODES, SEQUENCES, make_step

from ansgt.prediction.inference import AveragedInference, Execution, FreshInference, Significance, chunk_size


class Tables:
    """A builder whose sequences are fixed and whose draws are counted."""

    def __init__(self) -> None:
        self.step = make_step()
        self.device = torch.device("cpu")
        self.batch = self.step.build
        self.drawn: list[list[int]] = []

    def draw(self, builder: "Tables", nodes: torch.Tensor) -> None:
        builder.drawn.append(nodes.tolist())


def fresh(tables: Tables, num_sequences: int) -> FreshInference:
    return FreshInference(
        tables.step.model,
        lambda: tables,  # type: ignore[arg-type,return-value]
        tables.draw,  # type: ignore[arg-type]
        portion=10,
        num_sequences=num_sequences,
        execution=Execution(),
    )


def test_sequences_are_drawn_once_for_the_same_nodes_and_numbers() -> None:
    tables = Tables()
    predict = fresh(tables, SEQUENCES)
    nodes, p = torch.arange(4), torch.tensor([0.5, 0.5])
    first = predict(nodes, p)
    assert torch.equal(first, AveragedInference(tables.step.model, tables.batch)(nodes))
    predict(nodes.clone(), p.clone())
    assert tables.drawn == [[0, 1, 2, 3]]
    predict(nodes, torch.tensor([0.4, 0.6]))
    predict(nodes.flip(0), torch.tensor([0.4, 0.6]))
    assert len(tables.drawn) == 3
    many = torch.arange(NODES)
    assert torch.allclose(
        predict(many, p), AveragedInference(tables.step.model, tables.batch)(many), atol=1e-6
    )
    assert [len(part) for part in tables.drawn[3:]] == [10, 10, 3]


def test_chunks_on_a_cpu_stay_in_its_cache() -> None:
    tables, asked = Tables(), []

    def build(centres: torch.Tensor) -> object:
        asked.append(len(centres))
        return tables.step.build(centres)

    tables.batch = build  # type: ignore[assignment]
    fresh(tables, 500)(torch.arange(7))
    assert asked == [2, 2, 2, 2]
    assert chunk_size(5_000, torch.device("cpu")) == 1
    assert chunk_size(5_000, torch.device("cuda")) == 256


def test_probabilities_are_the_mean_of_softmax() -> None:
    step = make_step(dropout=0.5)
    model, nodes = step.model, torch.tensor([4, 2, 17, 2, 9])
    probabilities = AveragedInference(model, step.build, chunk_size=2)(nodes)
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
    whole = AveragedInference(step.model, step.build, chunk_size=NODES)(nodes)
    assert torch.allclose(
        AveragedInference(step.model, step.build, chunk_size=chunk_size)(nodes), whole, atol=1e-6
    )
    assert AveragedInference(step.model, step.build, chunk_size=chunk_size)(nodes[:0]).shape == (
        0,
        whole.shape[1],
    )


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
    eager = AveragedInference(step.model, step.build, chunk_size=8)
    replay = AveragedInference(step.model, step.build, chunk_size=8, execution=Execution(captured=True))
    for _ in range(2):
        assert torch.allclose(eager(nodes), replay(nodes), atol=1e-5)
        step(nodes[:8])
