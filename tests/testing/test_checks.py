import numpy as np
import pytest
import torch

from ansgt.testing.checks import demand, other_labels, small_graphs, unchanged


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
