"""Facts of a graph by hand; no label outside the training part counts."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ansgt.graph import Graph
from ansgt.links import cosine_kernel, left_out
from ansgt.runs import facts as module
from ansgt.runs.facts import FACTS, Facts
from ansgt.testing import random_graph


def path() -> Graph:
    """0 - 1 - 2 - 3, classes 0 0 1 1, three features."""
    x = torch.tensor([[1.0, 0, 0], [1, 1, 0], [0, 0, 2], [0, 0, 1]])
    return Graph.from_arrays(x, torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([0, 0, 1, 1]))


def test_by_hand() -> None:
    facts = Facts(path(), torch.tensor([0, 1, 2]))
    assert facts["num_nodes"] == 4
    assert facts["mean_degree"] == 1.5
    assert facts["num_features"] == 3
    assert facts["share_of_zeros"] == pytest.approx(7 / 12)
    assert facts["homophily"] == 0.5  # 0 - 1 joins one class, 1 - 2 two; 2 - 3 is not inside
    assert Facts(path(), torch.tensor([0, 2]))["homophily"] == 0.5  # no edge inside: chance
    assert Facts(path(), torch.tensor([0, 1, 3]))["homophily"] == 1.0
    assert Facts(path(), torch.arange(4))["homophily"] == pytest.approx(2 / 3)


def test_of_many_training_nodes_some_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VOTERS", 25)
    graph, train = random_graph(60), torch.arange(40)
    asked = np.sort(np.random.RandomState(0).permutation(40)[:25])
    expected = left_out(cosine_kernel(sp.csr_array(graph.features[asked])), graph.y.numpy()[asked]).mean()
    assert Facts(graph, train)["told_by_words"] == pytest.approx(expected)


def test_no_label_outside_the_training_part_is_read() -> None:
    graph = random_graph(60)
    train = torch.arange(0, 40)
    before = Facts(graph, train).all()
    graph.y[40:] = torch.from_numpy(np.random.RandomState(1).permutation(graph.y[40:].numpy()))
    assert Facts(graph, train).all() == before
    assert set(before) == set(FACTS)
