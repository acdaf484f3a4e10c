"""`check_coarsener` lets right coarseners pass and says what is wrong with wrong ones."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ansgt.coarsening import CoarseGraph, HeavyEdge
from ansgt.coarsening.base import Clustering
from ansgt.graph import Graph
from ansgt.testing import check_coarsener


class Wrapped:
    """Heavy edges, spoiled by `spoil`; derives from no base."""

    def fit(self, graph: Graph) -> CoarseGraph:
        return self.spoil(HeavyEdge(rate=0.3).fit(graph), graph)

    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return coarse


class WrongAssignment(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, assignment=coarse.assignment + 1)


class ShortAssignment(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, assignment=coarse.assignment[:-1])


class NarrowAssignment(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, assignment=coarse.assignment.astype(np.int32))


class OneHot(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, P=coarse.P.astype(bool).astype(float))


class WithoutDiagonal(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        adj = coarse.adj.copy()
        adj.setdiag(0)
        return replace(coarse, adj=adj)


class MeansForSums(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return coarse.with_means()


class SumsForMeans(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, x_mean=coarse.x)


class DoublePrecision(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, x=coarse.x.double())


class WrongRate(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, rate_reached=0.3)


class WrongShare(Wrapped):
    def spoil(self, coarse: CoarseGraph, graph: Graph) -> CoarseGraph:
        return replace(coarse, largest_share=0.0)


class ChangesTheGraph(Wrapped):
    def fit(self, graph: Graph) -> CoarseGraph:
        coarse = super().fit(graph)
        graph.y.zero_()
        return coarse


class LooksAtLabels(Wrapped):
    def fit(self, graph: Graph) -> CoarseGraph:
        return HeavyEdge(rate=0.3 if graph.y[0] else 0.6).fit(graph)


class Moody(Wrapped):
    calls = itertools.count()

    def fit(self, graph: Graph) -> CoarseGraph:
        return HeavyEdge(rate=(0.3, 0.6)[next(self.calls) % 2]).fit(graph)


class MissesTheTarget(HeavyEdge):
    def cluster(self, graph: Graph, *plan: Any) -> Clustering:
        return Clustering(np.arange(graph.num_nodes), graph.num_nodes)


def test_a_right_coarsener_passes_as_class_and_as_object() -> None:
    check_coarsener(Wrapped)
    check_coarsener(Wrapped())
    check_coarsener(HeavyEdge(rate=0.4, seed=3))


@pytest.mark.parametrize(
    ("coarsener", "sentence"),
    [
        (WrongAssignment, r"WrongAssignment on the graph 'path': assignment does not use each of 0\.\.1"),
        (ShortAssignment, r"assignment has shape \(3,\) in place of \(4,\)"),
        (NarrowAssignment, "assignment holds int32, not int64"),
        (OneHot, "P is not the one-hot assignment over the root of the size"),
        (WithoutDiagonal, "adj is not PᵀAP"),
        (MeansForSums, "x is not PᵀX"),
        (SumsForMeans, "x_mean is not the mean of the features"),
        (DoublePrecision, r"x and x_mean hold torch\.float64 and torch\.float32"),
        (WrongRate, r"rate_reached is 0\.3, not 0\.5"),
        (WrongShare, r"largest_share is 0\.0"),
        (ChangesTheGraph, "changes the graph's labels"),
        (LooksAtLabels, "looks at the labels"),
        (Moody, "other super-nodes when it runs a second time"),
        (MissesTheTarget, r"makes 4 super-nodes in place of 1 and gives no reason"),
        (object, "object lacks a method fit"),
    ],
)
def test_a_wrong_coarsener_is_caught(coarsener: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_coarsener(coarsener)
