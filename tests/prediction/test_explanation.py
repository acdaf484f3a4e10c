"""Explanations: shares that add up, worked out by hand where the sequences are known."""

import numpy as np
import pytest
import torch

from ansgt.prediction.explanation import Attention, explain_node
from ansgt.sequences import SequenceLayout
from ansgt.testing import path_graph

LAYOUT = SequenceLayout(num_sampled=2, num_supernodes=1, num_global=0)


def attention(share: list[float], ids: list[int], mask: list[bool]) -> Attention:
    """One model with one sequence [centre, two nodes, super-node] and two heuristics."""
    return Attention(
        layout=LAYOUT,
        heuristics=["near", "far"],
        share=np.array([share]),
        ids=np.array([ids]),
        mask=np.array([mask]),
        posterior=np.array([[[1.0, 0.25]], [[0.0, 0.75]]]),
        probabilities=torch.tensor([0.2, 0.8]),
    )


def predict(nodes: torch.Tensor) -> torch.Tensor:
    """Odd nodes are of class 1."""
    return torch.eye(2)[nodes % 2]


def test_shares_by_hand() -> None:
    parts = [attention([0.4, 0.1, 0.2, 0.3], [1, 3], [True, True])]
    found = explain_node(parts, predict, path_graph(4), node=0)
    assert found.kinds == pytest.approx({"centre": 0.4, "node": 0.3, "super": 0.3, "global": 0.0})
    assert found.heuristics == pytest.approx({"near": (0.1 + 0.05) / 0.3, "far": 0.15 / 0.3})
    assert [row.node for row in found.attended] == [3, 1]
    assert [row.distance for row in found.attended] == [3, 1]
    assert [row.prediction for row in found.attended] == [1, 1]
    assert found.attended[0].heuristics == pytest.approx({"near": 0.25, "far": 0.75})
    assert found.prediction == 1


def test_two_models_are_averaged_and_a_node_is_listed_once() -> None:
    parts = [
        attention([0.4, 0.1, 0.2, 0.3], [1, 3], [True, True]),
        attention([0.2, 0.5, 0.0, 0.3], [3, 0], [True, False]),
    ]
    found = explain_node(parts, predict, path_graph(4), node=0)
    assert found.kinds["centre"] == pytest.approx(0.3)
    assert [(row.node, row.drawn) for row in found.attended] == [(3, 1.0), (1, 0.5)]
    assert found.attended[0].significance == pytest.approx((0.2 + 0.5) / 2)


def test_a_node_that_attended_to_nobody() -> None:
    found = explain_node([attention([1.0, 0.0, 0.0, 0.0], [0, 0], [False, False])], predict, path_graph(4), 0)
    assert found.attended == []
    assert set(found.heuristics.values()) == {0.0}


def test_text_and_top() -> None:
    parts = [attention([0.4, 0.1, 0.2, 0.3], [1, 3], [True, True])]
    found = explain_node(parts, predict, path_graph(4), node=0, top=1)
    assert len(found.attended) == 1
    assert "node 0: class 1 (p = 0.800), label 0" in str(found)
