import numpy as np

from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.matching import Limits, greedy_matching, two_hop
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
