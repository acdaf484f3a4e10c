import numpy as np
import pytest
from cases import dense_ppr, normalized

from ansgt.errors import InputError
from ansgt.heuristics import PPR
from ansgt.heuristics.ppr import _chebyshev, _exact_rows, default_eps
from ansgt.heuristics.push import ordered, push_rows
from ansgt.testing import path_graph, random_graph, star_graph


def test_two_nodes_by_hand() -> None:
    # from 0 the walk alternates: mass of 1 is c sum (1-c)^odd; it is the only other node
    np.testing.assert_array_equal(PPR().fit(path_graph(2)).rows(np.array([0])).toarray(), [[0, 1]])


def test_a_leaf_of_a_star_prefers_the_hub_and_the_hub_all_leaves_alike() -> None:
    """From leaf 1 of four: hub h = (1-c)(s + 3l), leaf l = (1-c) h / 4 each, itself s = c + (1-c) h / 4."""
    walk = 0.85
    hub = walk * 0.15 / (1 - walk**2)
    leaf = walk * hub / 4
    rows = PPR().fit(star_graph(4)).rows(np.array([0, 1])).toarray()
    np.testing.assert_allclose(rows[0], [0, 0.25, 0.25, 0.25, 0.25], atol=1e-7)
    np.testing.assert_allclose(rows[1], np.array([hub, 0, leaf, leaf, leaf]) / (hub + 3 * leaf), atol=1e-7)


def test_rows_are_the_walk_from_the_centre_not_the_walk_to_it() -> None:
    graph = random_graph(num_nodes=20, mean_degree=3)
    rows = PPR().fit(graph).rows(np.arange(20)).toarray()
    np.testing.assert_allclose(rows, normalized(dense_ppr(graph)), atol=1e-7)
    assert np.abs(rows - normalized(dense_ppr(graph).T)).max() > 1e-3


def test_chebyshev_equals_the_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_nodes=300, num_isolated=5)
    monkeypatch.setattr("ansgt.heuristics.ppr.SMALL", 10)
    rows = PPR(method="exact").fit(graph).rows(np.arange(300)).toarray()
    np.testing.assert_allclose(rows, normalized(dense_ppr(graph)), atol=1e-7)


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-9])
def test_chebyshev_takes_the_steps_that_its_bound_asks_for(tol: float) -> None:
    class Counted:
        shape, steps = (3, 3), 0

        def __matmul__(self, x: np.ndarray) -> np.ndarray:
            self.steps += 1
            return x / 2

    walk, rate = Counted(), 1 / 0.8 - np.sqrt(1 / 0.8**2 - 1)
    _chebyshev(walk, np.arange(3), 0.8, tol)  # type: ignore[arg-type]
    assert 2 * rate**walk.steps <= tol < 2 * rate ** (walk.steps - 1)


@pytest.mark.parametrize("share", [0, 1])
def test_sparse_and_dense_solution_equal_the_inverse(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_nodes=300, num_isolated=5)
    monkeypatch.setattr("ansgt.heuristics.ppr._SPARSE", share)
    nodes = np.array([299, 7, 7, 0])
    np.testing.assert_allclose(_exact_rows(graph, nodes, 0.15).toarray(), dense_ppr(graph)[nodes], atol=1e-14)
    assert _exact_rows(graph, nodes[:0], 0.15).shape == (0, 300)


def test_restart_probability_one_half() -> None:
    graph = random_graph()
    rows = PPR(restart_prob=0.5).fit(graph).rows(np.arange(60)).toarray()
    np.testing.assert_allclose(rows, normalized(dense_ppr(graph, 0.5)), atol=1e-7)


def test_push_approaches_exact() -> None:
    graph = random_graph(num_isolated=3)
    exact = PPR().fit(graph).rows(np.arange(60)).toarray()
    errors = [
        np.abs(PPR(method="push", eps=eps).fit(graph).rows(np.arange(60)).toarray() - exact).sum(axis=1).max()
        for eps in (1e-2, 1e-4, 1e-6)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3


def test_settings() -> None:
    assert [default_eps(number) for number in (20_000, 25_000, 25_001)] == [2e-5, 2e-5, 2e-4]
    assert PPR().settings() == {"restart_prob": 0.15, "method": "auto", "eps": None, "max_candidates": None}
    assert PPR(restart_prob=1.0).fit(path_graph()).rows(np.arange(2)).nnz == 0
    with pytest.raises(InputError, match="restart_prob must be in"):
        PPR(restart_prob=0.0).fit(path_graph())
    with pytest.raises(InputError, match="Unknown PPR method 'inverse'"):
        PPR(method="inverse").fit(path_graph())
    with pytest.raises(InputError, match="eps must be positive"):
        PPR(eps=-1).fit(path_graph())


def test_the_stated_error_bounds_the_real_one() -> None:
    graph = random_graph(num_nodes=300)
    assert PPR().fit(graph).measured() == {}
    push = PPR(method="push", eps=1e-3).fit(graph)
    facts = push.measured()
    adj = graph.adj.toarray().astype(float)
    walk = adj / np.maximum(adj.sum(axis=0), 1)
    exact = 0.15 * np.linalg.inv(np.eye(300) - 0.85 * walk).T
    np.fill_diagonal(exact, 0)
    found = push_rows(ordered(graph), np.arange(300), 0.15, 1e-3)[0].toarray()
    error = np.abs(found - exact).sum(axis=1).mean()
    assert 0.05 * facts["l1_at_most"] < error <= facts["l1_at_most"]
    assert facts | {"l1_at_most": 0} == {"eps": 1e-3, "l1_at_most": 0, "nodes": 300}
    residual = push_rows(ordered(graph), np.arange(300), 0.15, 1e-3)[1]
    assert facts["l1_at_most"] == pytest.approx(2 * 0.85 * residual.mean())


def test_what_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.heuristics.ppr.SMALL", 60)
    for method, number, is_exact in (
        ("auto", 60, True),
        ("auto", 61, False),
        ("exact", 61, True),
        ("push", 60, False),
    ):
        assert (PPR(method=method).fit(random_graph(number)).measured() == {}) == is_exact
