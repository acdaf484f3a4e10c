"""Heavy edges in order, unions within their limits, Louvain communities."""

import sys

import numpy as np
import pytest
from cases import two_cliques

from ansgt.coarsening import Louvain
from ansgt.coarsening.heavy_edge import first_of_label, heaviest_first, roots, union_pass, union_two_hop
from ansgt.errors import InputError
from ansgt.testing import path_graph, random_graph, star_graph


def test_edges_come_once_and_heaviest_first():
    graph = random_graph(60)
    community = np.arange(60) % 2
    row, col = heaviest_first(graph.indptr, graph.indices, np.arange(60), community)
    assert len(row) == graph.num_edges
    assert len({frozenset(edge) for edge in zip(row.tolist(), col.tolist(), strict=True)}) == graph.num_edges
    crosses = community[row] != community[col]
    widest = np.maximum(graph.degree[row], graph.degree[col])
    key = crosses * 1000 + widest
    assert np.all(np.diff(key) >= 0)


def test_union_keeps_the_cap_and_the_budget():
    row, col = np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32)
    parent, size = np.arange(4), np.ones(4, dtype=np.int64)
    assert union_pass(row, col, parent, size, 10, 2) == 2
    found = roots(parent)
    assert found[0] == found[1] != found[2] == found[3]
    parent, size = np.arange(4), np.ones(4, dtype=np.int64)
    assert union_pass(row, col, parent, size, 1, 10) == 1


@pytest.mark.parametrize(("budget", "cap", "joins"), [(0, 9, 0), (1, 9, 1), (9, 9, 3), (9, 2, 2)])
def test_leaves_of_a_hub_are_joined_as_often_as_asked(budget: int, cap: int, joins: int):
    adj = star_graph(4).adj
    parent, size = np.arange(5), np.ones(5, dtype=np.int64)
    assert union_two_hop(adj.indptr, adj.indices, parent, size, budget, cap) == joins
    assert len(np.unique(roots(parent))) == 5 - joins


def test_parents_of_a_given_clustering():
    assert first_of_label(np.array([0, 1, 0, 1]), 2).tolist() == [0, 1, 0, 1]


def test_cliques_are_communities():
    graph = two_cliques()
    assert len(np.unique(Louvain().communities(graph))) == 2
    assert Louvain(num_supernodes=2).fit(graph).assignment.tolist() == [0] * 8 + [1] * 8


def test_without_networkx_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="networkx"):
        Louvain().fit(path_graph(5))
