"""Explanations: shares that add up, worked out by hand where the sequences are known."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from ansgt.errors import InputError
from ansgt.prediction import TrainedModel
from ansgt.prediction.explanation import Explanation, Explanations, explain, hops_between
from ansgt.prediction.focus import Attention
from ansgt.sequences import SequenceLayout
from ansgt.testing import path_graph, random_graph

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


class Attentive(TrainedModel):
    """A model on a path of four nodes whose attention is given; odd nodes are of class 1."""

    def __init__(self, parts: list[Attention], trained_on: list[bool] | None = None) -> None:
        super().__init__(path_graph(4))
        self.parts = parts
        self.trained_on = None if trained_on is None else np.array(trained_on)

    num_parameters = 0

    def _predict(self, nodes: torch.Tensor) -> torch.Tensor:
        return torch.eye(2)[nodes % 2]

    def weights(self) -> dict[str, torch.Tensor]:
        return {}

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        pass

    def attentions(self, nodes: torch.Tensor) -> list[list[Attention]]:
        return [self.parts for _ in nodes]


def explained(parts: list[Attention], node: int = 0, top: int = 15, **known: list[bool]) -> Explanation:
    return Attentive(parts, **known).explain(node, top)


def test_shares_by_hand() -> None:
    parts = [attention([0.4, 0.1, 0.2, 0.3], [1, 3], [True, True])]
    found = explained(parts)
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
    found = explained(parts)
    assert found.kinds["centre"] == pytest.approx(0.3)
    assert [(row.node, row.drawn) for row in found.attended] == [(3, 1.0), (1, 0.5)]
    assert found.attended[0].significance == pytest.approx((0.2 + 0.5) / 2)


def test_a_node_that_attended_to_nobody() -> None:
    found = explained([attention([1.0, 0.0, 0.0, 0.0], [0, 0], [False, False])])
    assert found.attended == []
    assert set(found.heuristics.values()) == {0.0}


def test_text_and_top() -> None:
    parts = [attention([0.4, 0.1, 0.2, 0.3], [1, 3], [True, True])]
    found = explained(parts, top=1)
    assert len(found.attended) == 1
    assert "node 0: class 1 (p = 0.800), label 0" in str(found)
    assert repr(found) == "Explanation(node 0: class 1 (p = 0.800), label 0; 1 attended)"


PARTS = [attention([0.4, 0.1, 0.2, 0.3], [1, 3], [True, True])]


def test_no_node_and_no_number() -> None:
    with pytest.raises(InputError, match="There is nothing to explain: no node is given"):
        Attentive(PARTS).explain_nodes([])
    with pytest.raises(InputError, match="Setting top must be a whole number, not 'all'"):
        explained(PARTS, top="all")  # type: ignore[arg-type]


def test_which_neighbours_were_trained_on() -> None:
    found = explained(PARTS, node=2, trained_on=[True, False, False, True])
    assert (found.trained, found.num_neighbours, found.num_trained) == (False, 2, 1)
    assert [(one.node, one.trained) for one in found.neighbours] == [(3, True), (1, False)]
    assert [one.significance for one in found.neighbours] == pytest.approx([0.2, 0.1])
    assert "of its 2 neighbours 1 were trained on: 3" in str(found)
    assert [(row.node, row.trained) for row in found.attended] == [(3, True), (1, False)]
    assert sorted(found.edges) == [(1, 2), (2, 3)]
    unknown = explained(PARTS, node=2)
    assert (unknown.trained, unknown.num_trained) == (None, None)
    assert "trained on" not in str(unknown)


def test_a_frame_of_many_nodes() -> None:
    pytest.importorskip("pandas")
    found = explain(Attentive(PARTS, [True, False, False, True]), [0, 2], top=2)
    frame = found.to_frame()
    assert frame["node"].tolist() == [0, 0, 2, 2]
    assert frame["attended"].tolist() == [3, 1, 3, 1]
    assert frame["hops"].tolist() == [3, 1, 1, 1]
    assert frame["near"].tolist() == [0.25, 1.0, 0.25, 1.0]
    assert frame["trained"].tolist() == [True, False, True, False]
    assert isinstance(found[:1], Explanations)
    assert len(found[:1]) == 1
    assert [one.node for one in found] == [0, 2]


def test_hops_are_those_of_dijkstra() -> None:
    graph = random_graph(60, mean_degree=2.5, num_features=2, num_isolated=3, seed=1)
    expected = dijkstra(graph.adj, indices=7, unweighted=True)
    found = hops_between(graph, 7, np.arange(60))
    assert found == {i: int(d) for i, d in enumerate(expected) if np.isfinite(d) and i != 7}


def test_names_are_escaped_in_html() -> None:
    found = explained(PARTS)
    changed = dataclasses.replace(found, node="<b>", prediction="<i>")
    assert "<b>" not in changed._repr_html_()
    assert "&lt;b&gt;" in changed._repr_html_()
