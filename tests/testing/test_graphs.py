"""The small graphs are what they say; random sequences have the documented shapes; a demand that is not met is heard."""

import numpy as np
import pytest
import torch

from ansgt.sequences import SequenceLayout
from ansgt.testing import RandomSequences, path_graph, random_graph, star_graph
from ansgt.testing.graphs import demand, other_labels, small_graphs, unchanged


def test_path_joins_neighbours_in_a_row() -> None:
    graph = path_graph(4, num_features=3)
    assert graph.adj.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    assert graph.x.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert graph.y.tolist() == [0, 1, 0, 1]


def test_star_joins_node_0_to_all_others() -> None:
    graph = star_graph(5)
    assert graph.degree.tolist() == [5, 1, 1, 1, 1, 1]
    assert graph.indices[:5].tolist() == [1, 2, 3, 4, 5]


def test_random_graph_is_seeded_and_its_last_nodes_are_isolated() -> None:
    one, again, other = (random_graph(40, num_isolated=7, seed=seed) for seed in (0, 0, 1))
    assert one.content_hash == again.content_hash != other.content_hash
    assert np.all(one.degree[-7:] == 0)
    assert one.num_classes == 3
    assert one.degree[:33].mean() > 4  # six were asked for; loops and duplicates are gone


LAYOUT = SequenceLayout(num_sampled=4, num_supernodes=1, num_global=2)


def test_batches_have_the_documented_shapes() -> None:
    tables = RandomSequences(30, 5, 3, LAYOUT, num_sequences=2, num_proximity=6, masked=0.3)
    batch = tables(torch.tensor([7, 29]))
    assert batch.ids.shape == batch.mask.shape == batch.index.shape == batch.log_count.shape == (4, 8)
    assert batch.proximity.shape == (4, 8, 8, 6)
    assert batch.x.shape == (30, 5)
    assert batch.centre.tolist() == [7, 7, 29, 29]  # centre-major
    assert batch.target.tolist() == [1, 1, 2, 2]


def test_centre_and_global_tokens_are_never_masked_and_global_ones_are_near_nothing() -> None:
    batch = RandomSequences(30, 5, 3, LAYOUT, 2, 6, masked=0.9)(torch.arange(30))
    assert batch.mask[:, [0, 6, 7]].all()
    assert not batch.mask.all()
    assert batch.proximity[:, LAYOUT.globals].abs().sum() == 0
    assert batch.proximity.transpose(1, 2)[~batch.mask].abs().sum() == 0


def test_same_seed_gives_the_same_sequences() -> None:
    one, again, other = (RandomSequences(9, 2, 2, LAYOUT, 2, 2, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.index, again.index)
    assert not torch.equal(one.index, other.index)


def test_a_demand_that_is_not_met_raises_its_sentence() -> None:
    demand(1 == 1, "never said")
    with pytest.raises(AssertionError, match="one is not two"):
        demand(1 == 2, "one is not two")


def test_the_graphs_hold_the_cases_where_things_go_wrong() -> None:
    graphs = {graph.name: graph for graph in small_graphs()}
    assert len(graphs) == 5
    assert graphs["without edges"].num_edges == 0
    assert graphs["random"].degree.min() == 0
    assert graphs["random, sparse features"].x.layout == torch.sparse_csr


def test_other_labels_differ_at_every_node() -> None:
    for graph in small_graphs():
        assert bool((other_labels(graph).y != graph.y).all())


@pytest.mark.parametrize("part", ["features", "indices", "labels"])
def test_a_changed_graph_is_noticed(part: str) -> None:
    for graph in small_graphs():
        x = graph.x if graph.x.layout == torch.strided else graph.x.values()
        arrays = {"features": x.numpy(), "indices": graph.indices, "labels": graph.y.numpy()}
        if len(arrays[part]) == 0:
            continue
        with pytest.raises(AssertionError, match=f"it changes the graph's {part}"), unchanged(graph, "it"):
            arrays[part][..., -1] += np.asarray(1, dtype=arrays[part].dtype)
