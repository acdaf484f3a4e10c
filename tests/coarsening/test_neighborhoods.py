from dataclasses import replace

import numpy as np

from ansgt.coarsening.contraction import Contracted, relabel
from ansgt.coarsening.matching import Limits
from ansgt.coarsening.multilevel import neighborhoods_of
from ansgt.coarsening.neighborhoods import (
    edge_variation,
    neighborhood_costs,
    orient,
    select_neighborhoods,
)
from ansgt.testing import path_graph, random_graph, star_graph


def dense_cost(adj, size, vectors, members):
    """trace(BᵀL_C B) / (|C| - 1) from its definition."""
    inner = adj[np.ix_(members, members)]
    outside = adj[members].sum(axis=1) - inner.sum(axis=1)
    L = np.diag(inner.sum(axis=1)) - inner + 2 * np.diag(outside)
    weight = size[members] / size[members].sum()
    B = vectors[members] - weight @ vectors[members]
    return np.trace(B.T @ L @ B) / (len(members) - 1)


def level(seed=0):
    """Clusters of several sizes, the last of which has no neighbour."""
    start = Contracted.from_graph(random_graph(80, num_isolated=1, seed=seed))
    contracted = start.contract(*relabel(np.r_[np.random.default_rng(seed).integers(0, 50, 79), 50]))
    vectors = np.random.default_rng(seed).normal(size=(contracted.num_nodes, 4))
    return contracted, vectors


def adjacency(contracted):
    adj = np.zeros((contracted.num_nodes,) * 2)
    row = np.repeat(np.arange(contracted.num_nodes), np.diff(contracted.indptr))
    adj[row, contracted.indices] = contracted.weights
    return adj


def test_costs_equal_the_definition():
    contracted, vectors = level()
    adj = adjacency(contracted)
    costs = neighborhood_costs(neighborhoods_of(contracted, vectors), 10**9)
    assert np.isinf(costs).tolist() == [False] * (contracted.num_nodes - 1) + [True]
    for i in range(contracted.num_nodes):
        members = np.concatenate([[i], np.flatnonzero(adj[i])])
        expected = dense_cost(adj, contracted.size, vectors, members) if len(members) > 1 else np.inf
        np.testing.assert_allclose(costs[i], expected, rtol=1e-10)


def test_every_edge_is_stored_once_at_its_lighter_end():
    graph = star_graph(5)
    start = Contracted.from_graph(graph)
    pointer, column, weight = orient(start.csr)
    assert pointer.tolist() == [0, 0, 1, 2, 3, 4, 5]
    assert column.tolist() == [0] * 5
    assert weight.tolist() == [1.0] * 5


def test_variation_of_an_edge_is_its_weighted_squared_distance():
    contracted, vectors = level()
    found = edge_variation(contracted.csr, vectors)
    row = np.repeat(np.arange(contracted.num_nodes), np.diff(contracted.indptr))
    step = vectors[row] - vectors[contracted.indices]
    np.testing.assert_allclose(found, contracted.weights * (step**2).sum(axis=1))


def test_too_large_sets_wait():
    contracted, vectors = level()
    costs = neighborhood_costs(neighborhoods_of(contracted, vectors), 1)
    assert np.isinf(costs).all()


def test_the_cheapest_set_is_taken_first():
    contracted, vectors = level(1)
    given = neighborhoods_of(contracted, vectors)
    costs = neighborhood_costs(given, 10**9)
    best = int(np.argmin(costs))
    members = {best, *np.flatnonzero(adjacency(contracted)[best]).tolist()}
    rank = np.arange(contracted.num_nodes)
    label, saved = select_neighborhoods(given, costs, rank, Limits(len(members) - 1, 10**9))
    assert saved == len(members) - 1
    assert {int(i) for i in np.flatnonzero(label == label[best])} == members


def test_budget_and_cap_hold():
    contracted, vectors = level(2)
    given = neighborhoods_of(contracted, vectors)
    costs = neighborhood_costs(given, 8)
    for budget in (1, 5, 30):
        label, saved = select_neighborhoods(given, costs, np.arange(contracted.num_nodes), Limits(budget, 8))
        assert saved <= budget
        assert len(set(label.tolist())) == contracted.num_nodes - saved
        merged = np.bincount(label, weights=contracted.size)
        assert merged[np.bincount(label, minlength=len(merged)) > 1].max() <= 8


def test_an_oversized_star_keeps_its_nearest_leaves():
    start = Contracted.from_graph(star_graph(6))
    vectors = np.array([[0.0], [0.1], [0.2], [5.0], [6.0], [7.0], [8.0]])
    given = neighborhoods_of(start, vectors)
    costs = neighborhood_costs(given, 3)
    assert np.isinf(costs[0])
    label, saved = select_neighborhoods(given, np.full(7, np.inf), np.arange(7), Limits(2, 3))
    assert (label.tolist(), saved) == ([0, 0, 0, 3, 4, 5, 6], 2)


def test_what_a_cheaper_set_left_of_a_star_is_still_merged():
    start = Contracted.from_graph(star_graph(6))
    given = neighborhoods_of(start, np.array([[0.0], [0.1], [0.2], [5.0], [6.0], [7.0], [8.0]]))
    label, saved = select_neighborhoods(given, neighborhood_costs(given, 3), np.arange(7), Limits(2, 3))
    assert (label.tolist(), saved) == ([1, 1, 2, 2, 4, 5, 6], 2)


def test_a_set_of_which_one_member_is_left_takes_it_from_nobody():
    start = replace(Contracted.from_graph(path_graph(3)), size=np.array([5, 5, 1]))
    given = neighborhoods_of(start, np.array([[0.0], [1.0], [2.0]]))
    label, saved = select_neighborhoods(given, np.full(3, np.inf), np.arange(3), Limits(2, 6))
    assert (label.tolist(), saved) == ([0, 1, 1], 1)
