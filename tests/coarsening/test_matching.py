import numpy as np

from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.matching import Limits, greedy_matching, two_hop
from ansgt.graph import Graph
from ansgt.testing import star_graph

ROW, COL = np.array([0, 1, 2]), np.array([1, 2, 3])


def test_matching_follows_the_order():
    ones = np.ones(4, dtype=np.int64)
    label, saved = greedy_matching(ROW, COL, np.array([0, 1, 2]), ones, Limits(4, 10))
    assert (label.tolist(), saved) == ([0, 0, 2, 2], 2)
    label, saved = greedy_matching(ROW, COL, np.array([1, 0, 2]), ones, Limits(4, 10))
    assert (label.tolist(), saved) == ([0, 1, 1, 3], 1)


def test_matching_keeps_budget_and_cap():
    label, saved = greedy_matching(ROW, COL, np.array([0, 1, 2]), np.ones(4, dtype=np.int64), Limits(1, 10))
    assert (label.tolist(), saved) == ([0, 0, 2, 3], 1)
    label, saved = greedy_matching(ROW, COL, np.array([0, 1, 2]), np.array([5, 5, 1, 1]), Limits(4, 6))
    assert (label.tolist(), saved) == ([0, 1, 1, 3], 1)


def test_two_hop_pairs_leaves_that_are_alike():
    start = Contracted.from_graph(star_graph(4))
    vectors = np.array([[0.0], [1.0], [9.0], [1.1], [9.1]])
    label = np.arange(5)
    saved = two_hop(start.csr, start.size, vectors, label, np.arange(5), Limits(10, 10))
    assert saved == 2
    assert label.tolist() == [0, 1, 2, 1, 2]


def test_two_hop_leaves_merged_clusters_alone():
    start = Contracted.from_graph(star_graph(3))
    label = np.array([0, 0, 2, 3])
    saved = two_hop(start.csr, start.size, np.zeros((4, 1)), label, np.arange(4), Limits(10, 10))
    assert (saved, label.tolist()) == (1, [0, 0, 2, 2])


def pairs(edges, sizes, order, budget=10, cap=10):
    """Labels after a two-hop step on a graph whose test vectors say nothing, and the clusters saved."""
    n = len(sizes)
    start = Contracted.from_graph(Graph.from_arrays(np.eye(n, dtype=np.float32), np.array(edges).T))
    label = np.arange(n)
    vectors = np.zeros((n, 1))
    saved = two_hop(start.csr, np.array(sizes), vectors, label, np.array(order), Limits(budget, cap))
    return label.tolist(), saved


def test_two_hop_by_hand():
    assert pairs([(2, 0), (2, 1)], [1, 1, 1], [2, 0, 1]) == ([0, 0, 2], 1)
    shared = [(2, 0), (2, 1), (3, 1), (3, 4)]  # 1 is a leaf of both hubs, and is merged once
    assert pairs(shared, [1] * 5, [2, 3]) == ([0, 0, 2, 3, 4], 1)
    assert pairs(shared, [1] * 5, [3, 2]) == ([0, 1, 2, 3, 1], 1)
    star = [(3, 0), (3, 1), (3, 2)]
    assert pairs(star, [3, 3, 1, 1], [3], cap=4) == ([0, 1, 0, 3], 1)  # of equals the first one waits
    assert pairs(star, [3, 2, 1, 1], [3], cap=4) == ([0, 1, 1, 3], 1)  # a smaller one finds somebody sooner
    assert pairs(star, [3, 2, 1, 1], [3], cap=5) == ([0, 0, 2, 3], 1)
    two_stars = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6), (5, 7)]
    for budget, expected in ((0, 0), (1, 1), (2, 2), (3, 3), (9, 3)):
        assert pairs(two_stars, [1] * 8, [0, 5], budget)[1] == expected
