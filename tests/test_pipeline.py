"""From a graph to sequences: every stage is what its own tests say, and a draw depends on nothing but its numbers."""

import pytest
import torch

from ansgt.pipeline import INFERENCE_ROUND, SequencePipeline
from ansgt.sequences import SequenceSettings
from ansgt.testing import random_graph

SETTINGS = SequenceSettings(
    num_sampled=5, num_supernodes=2, num_global=1, num_augmentations=3, coarsening_rate=0.2
)
EQUAL = torch.full((4,), 0.25)


@pytest.fixture(scope="module")
def pipeline() -> SequencePipeline:
    return SequencePipeline(random_graph(60, num_isolated=2), SETTINGS, seed=3)


def test_a_sequence_holds_centre_sampled_nodes_supernodes_and_globals(pipeline: SequencePipeline) -> None:
    batch = pipeline.draw(torch.tensor([4, 9]), EQUAL, round=1).sequences.batch(torch.tensor([9, 4]))
    assert batch.ids.shape == (2 * 3, 1 + 5 + 2 + 1)
    assert batch.centre.tolist() == [9] * 3 + [4] * 3
    assert pipeline.coarse is not None
    own = batch.ids[:, batch.layout.supernodes][:, 0] - 60
    assert own.tolist() == pipeline.coarse.assignment[batch.centre].tolist()
    assert (batch.ids[:, batch.layout.globals] == -1).all()


def test_sampled_nodes_are_proposed_by_a_heuristic(pipeline: SequencePipeline) -> None:
    nodes = torch.arange(60)
    sampled = pipeline.draw(nodes, EQUAL, round=1).sampled
    rows = sum(heuristic.rows(nodes.numpy()) for heuristic in pipeline.heuristics).toarray()
    for node in range(60):
        drawn = sampled.ids[node][sampled.mask[node]]
        assert (rows[node, drawn.numpy()] > 0).all()


def test_a_draw_depends_on_seed_round_and_centre_alone(pipeline: SequencePipeline) -> None:
    nodes = torch.arange(20)
    whole = pipeline.draw(nodes, EQUAL, round=2).sampled.ids
    part = pipeline.draw(nodes[7:9], EQUAL, round=2).sampled.ids
    assert torch.equal(part, whole[7:9])
    again = SequencePipeline(random_graph(60, num_isolated=2), SETTINGS, seed=3)
    assert torch.equal(again.draw(nodes, EQUAL, round=2).sampled.ids, whole)
    assert not torch.equal(pipeline.draw(nodes, EQUAL, round=3).sampled.ids, whole)
    other = SequencePipeline(random_graph(60, num_isolated=2), SETTINGS, seed=4)
    assert not torch.equal(other.draw(nodes, EQUAL, round=2).sampled.ids, whole)


def test_tables_are_written_in_place_where_they_are_given(pipeline: SequencePipeline) -> None:
    nodes = torch.arange(10)
    mine = pipeline.draw(nodes, EQUAL, round=1).sequences
    place, before = mine.ids.data_ptr(), mine.ids.clone()
    drawn = pipeline.draw(nodes, EQUAL, round=2, into=mine)
    assert drawn.sequences is mine
    assert mine.ids.data_ptr() == place
    assert not torch.equal(mine.ids, before)
    assert pipeline.draw(nodes, EQUAL, round=1).sequences.ids.data_ptr() != place


def test_prediction_has_its_own_number_of_sequences() -> None:
    settings = SequenceSettings(num_sampled=5, num_augmentations=2, num_inference=6)
    pipeline = SequencePipeline(random_graph(40), settings)
    assert pipeline.draw(torch.arange(3), EQUAL, round=1).sampled.ids.shape[1] == 2
    assert pipeline.draw(torch.arange(3), EQUAL, INFERENCE_ROUND).sampled.ids.shape[1] == 6


def test_without_multiplicity_bias_no_token_counts_more_than_once() -> None:
    nodes = torch.arange(30)
    for bias in (True, False):
        settings = SequenceSettings(num_sampled=10, mode="distinct", multiplicity_bias=bias)
        drawn = SequencePipeline(random_graph(40), settings).draw(nodes, EQUAL, round=1)
        assert bool(drawn.sequences.log_count.any()) == bias
