"""`check_heuristic` lets right heuristics pass and says what is wrong with wrong ones."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.graph import Graph
from ansgt.heuristics import Heuristic, OneHop
from ansgt.testing import check_heuristic, check_rows


class Uniform:
    """Every other node with the same probability: right, and without a base."""

    def fit(self, graph: Graph) -> "Uniform":
        self.graph = graph
        return self

    def table(self) -> np.ndarray:
        n = self.graph.num_nodes
        return (1 - np.eye(n)) / (n - 1)

    def rows(self, nodes: np.ndarray) -> Any:
        return sp.csr_array(self.table()[nodes])


class Selfish(Uniform):
    def table(self) -> np.ndarray:
        return np.full((self.graph.num_nodes,) * 2, 1 / self.graph.num_nodes)


class Unscaled(Uniform):
    def table(self) -> np.ndarray:
        return 2 * super().table()


class Negative(Uniform):
    def table(self) -> np.ndarray:
        table = super().table()
        table[0, 1], table[0, 2] = -0.5, table[0, 2] + table[0, 1] + 0.5
        return table


class NotFinite(Uniform):
    def table(self) -> np.ndarray:
        table = super().table()
        table[1, 0] = np.nan
        return table


class ScaledPerBlock(Uniform):
    """Divides by the sum of the block, not of the row."""

    def rows(self, nodes: np.ndarray) -> Any:
        scores = (1 - np.eye(self.graph.num_nodes)[nodes]) * (1.0 + nodes[:, None])
        return sp.csr_array(scores * len(nodes) / max(scores.sum(), 1))


class KnowsTheBlock(Uniform):
    """Proposes only nodes that nobody asked for, where there are any."""

    def rows(self, nodes: np.ndarray) -> Any:
        weight = self.table()[nodes]
        if 0 < len(set(nodes.tolist())) < len(weight.T):
            weight[:, nodes] = 0
            weight /= weight.sum(axis=1, keepdims=True)
        return sp.csr_array(weight)


class ChangesTheGraph(Uniform):
    def fit(self, graph: Graph) -> "Uniform":
        graph.x.mul_(2.0)
        return super().fit(graph)


class ChangesTheNodes(Uniform):
    def rows(self, nodes: np.ndarray) -> Any:
        found = super().rows(nodes)
        nodes[:] = 0
        return found


class LooksAtLabels(Uniform):
    def table(self) -> np.ndarray:
        y = self.graph.y.numpy()
        weight = (1 - np.eye(len(y))) * (1 + y)
        return weight / weight.sum(axis=1, keepdims=True)


class Moody(Uniform):
    calls = itertools.count()

    def fit(self, graph: Graph) -> "Uniform":
        self.number = next(self.calls)
        return super().fit(graph)

    def table(self) -> np.ndarray:
        weight = (1 - np.eye(self.graph.num_nodes)) * (
            1 + (np.arange(self.graph.num_nodes) + self.number) % 2
        )
        return weight / weight.sum(axis=1, keepdims=True)


class Dense(Uniform):
    def rows(self, nodes: np.ndarray) -> Any:
        return self.table()[nodes]


class WrongShape(Uniform):
    def rows(self, nodes: np.ndarray) -> Any:
        return super().rows(np.arange(self.graph.num_nodes))


class FailsOnNobody(Uniform):
    def rows(self, nodes: np.ndarray) -> Any:
        return super().rows(nodes) if len(nodes) else sp.csr_array((1, self.graph.num_nodes))


class ReturnsNothing(Uniform):
    def fit(self, graph: Graph) -> Any:
        super().fit(graph)


class WithoutRows:
    def fit(self, graph: Graph) -> "WithoutRows":
        return self


class IgnoresTheBound(Heuristic):
    """Derives from the base and normalises by itself, but forgets `max_candidates`."""

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        raise NotImplementedError

    def _compute(self, nodes: np.ndarray) -> sp.csr_array:
        return OneHop().fit(self.graph_).rows(nodes)


def test_a_right_heuristic_passes_as_class_and_as_object() -> None:
    check_heuristic(Uniform)
    check_heuristic(Uniform())
    check_heuristic(OneHop(max_candidates=4))


def test_an_object_stays_as_it_was() -> None:
    given = Uniform()
    check_heuristic(given)
    assert vars(given) == {}


@pytest.mark.parametrize(
    ("heuristic", "sentence"),
    [
        (Selfish, "Selfish on the graph 'path' proposes node 0 to itself"),
        (Unscaled, "gives node 0 a row of sum 2, not 1"),
        (Negative, "gives node 0 a negative probability"),
        (NotFinite, "entries that are not finite"),
        (ScaledPerBlock, r"gives node 0 a row of sum 0\.4, not 1"),
        (KnowsTheBlock, "another row when 3 nodes are asked for together"),
        (ChangesTheGraph, "changes the graph's features"),
        (ChangesTheNodes, "changes the nodes it is given"),
        (LooksAtLabels, "looks at the labels"),
        (Moody, "gives other rows when it is fitted a second time"),
        (Dense, "rows of type ndarray, not a scipy.sparse array"),
        (WrongShape, r"gives rows of shape \(4, 4\) in place of \(1, 4\)"),
        (FailsOnNobody, "for no node at all"),
        (ReturnsNothing, "fit returns None"),
        (WithoutRows, "lacks a method fit or rows"),
        (IgnoresTheBound, "with max_candidates=3 proposes"),
    ],
)
def test_a_wrong_heuristic_is_caught(heuristic: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_heuristic(heuristic)


def test_rows_of_integers_are_refused() -> None:
    with pytest.raises(AssertionError, match="rows of int64, not of floating point"):
        check_rows(sp.csr_array([[0, 1]]), np.array([0]), 2)
