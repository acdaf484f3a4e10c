"""The Newman network has the properties that appendix A asks for."""

import numpy as np
import pytest
import torch

from ansgt.datasets import load
from ansgt.datasets.newman import newman_network
from ansgt.errors import InputError
from ansgt.graph import Graph


@pytest.mark.parametrize("homophily", [0.05, 0.25, 0.75, 1.0])
def test_newman_has_the_asked_properties(homophily: float) -> None:
    graphs = [Graph.from_data(newman_network(homophily, seed)) for seed in range(10)]
    assert graphs[0].num_nodes == 128
    assert graphs[0].num_features == 200
    assert torch.bincount(graphs[0].y).tolist() == [32] * 4
    assert np.mean([g.edge_homophily() for g in graphs]) == pytest.approx(homophily, abs=0.02)
    assert np.mean([g.degree.mean() for g in graphs]) == pytest.approx(16, rel=0.03)
    own = np.mean([g.x[:32, :50].mean() for g in graphs])
    other = np.mean([g.x[:32, 50:].mean() for g in graphs])
    assert own == pytest.approx(12 / 50, rel=0.05)
    assert other == pytest.approx(4 / 150, rel=0.1)


def test_the_same_seed_gives_the_same_network() -> None:
    one, again, other = (newman_network(seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.edge_index, again.edge_index)
    assert torch.equal(one.x, again.x)
    assert not torch.equal(one.x, other.x)
    assert one.x.unique().tolist() == [0, 1]
    with pytest.raises(InputError, match=r"in \[0, 1\], not 1.5"):
        newman_network(1.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 2**32),
        ("num_classes", 1),
        ("nodes_per_class", 10**6),
        ("mean_degree", "many"),
        ("homophily", "0.5"),
    ],
)
def test_arguments_that_no_network_has(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        load("newman", **{name: value})


def test_a_published_graph_takes_no_arguments_of_a_generator() -> None:
    with pytest.raises(InputError, match="'cora' is not generated: it takes no homophily"):
        load("cora", homophily=0.5)
