"""What every heuristic must do: conformance, settings, names and objects, the cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import (
    HEURISTICS,
    KNN,
    PPR,
    Heuristic,
    HeuristicLike,
    OneHop,
    TwoHop,
    fit_heuristics,
    heuristic_names,
    measured,
    resolve,
)
from ansgt.heuristics.base import candidate_limit
from ansgt.storage import DiskCache
from ansgt.testing import check_heuristic, check_rows, path_graph, random_graph, star_graph

NAMES = list(HEURISTICS)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(2, 14))
    kind = draw(st.sampled_from(["random", "star", "clique", "empty", "two parts"]))
    pairs = {
        "star": [(0, i) for i in range(1, n)],
        "clique": [(i, j) for i in range(n) for j in range(i)],
        "empty": [],
        "two parts": [(i, i + 1) for i in range(n - 1) if i != n // 2],
    }.get(kind)
    if pairs is None:
        node = st.integers(0, n - 1)
        pairs = draw(st.lists(st.tuples(node, node), max_size=30))
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    x = draw(st.sampled_from(["normal", "zero", "equal", "sparse"]))
    features = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
    features = {"zero": features * 0, "equal": features * 0 + 1}.get(x, features)
    return Graph.from_arrays(sp.csr_array(np.maximum(features, 0)) if x == "sparse" else features, edges)


@pytest.mark.parametrize("name", NAMES)
def test_conformance(name: str) -> None:
    check_heuristic(HEURISTICS[name])
    check_heuristic(HEURISTICS[name](max_candidates=2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bound", [None, 4])
@pytest.mark.parametrize("graph", [random_graph(num_isolated=3), star_graph(12)])
def test_loops_stay_within_their_arrays(
    name: str, bound: int | None, graph: Graph, uncompiled: Callable[[Callable[[], Any]], Any]
) -> None:
    nodes = np.arange(graph.num_nodes)

    def rows() -> Any:
        return HEURISTICS[name](max_candidates=bound).fit(graph).rows(nodes).toarray()

    np.testing.assert_allclose(uncompiled(rows), rows(), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@given(graph=graphs(), bound=st.sampled_from([None, 1, 3, 100]))
@settings(deadline=None, max_examples=30)
def test_any_graph(name: str, graph: Graph, bound: int | None) -> None:
    heuristic = resolve(name, max_candidates=bound).fit(graph)
    nodes = np.arange(graph.num_nodes)
    rows = heuristic.rows(nodes)
    check_rows(rows, nodes, graph.num_nodes)
    assert np.diff(rows.indptr).max(initial=0) <= (bound or graph.num_nodes)
    assert rows.dtype == np.float32
    assert rows.has_sorted_indices
    assert (rows.data > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_on_demand_rows_equal_the_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_isolated=2)
    table = resolve(name).fit(graph).rows(np.arange(60)).toarray()
    monkeypatch.setattr("ansgt.heuristics.base.SMALL", 10)
    heuristic = resolve(name).fit(graph)
    assert heuristic.table_ is None
    np.testing.assert_allclose(heuristic.rows(np.arange(60)).toarray(), table, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_second_run_reads_the_cache(name: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph()
    first = resolve(name, cache=DiskCache(tmp_path)).fit(graph).rows(np.arange(60))
    monkeypatch.setattr(HEURISTICS[name], "_scores", lambda *_: pytest.fail("computed again"))
    second = resolve(name, cache=DiskCache(tmp_path)).fit(graph).rows(np.arange(60))
    np.testing.assert_array_equal(first.toarray(), second.toarray())


def test_cache_knows_graph_and_settings(tmp_path) -> None:
    cache = DiskCache(tmp_path)
    OneHop(cache=cache).fit(random_graph(seed=0))
    OneHop(cache=cache).fit(random_graph(seed=1))
    OneHop(max_candidates=2, cache=cache).fit(random_graph(seed=0))
    assert len(list(tmp_path.rglob("*.npz"))) == 3


def test_resolve_takes_a_name_or_an_object() -> None:
    own = OneHop()
    assert resolve(own) is own
    assert isinstance(own, HeuristicLike)
    assert resolve("knn", k=7).k == 7
    with pytest.raises(InputError, match=r"Unknown heuristic 'pagerank'; known: 1-hop, 2-hop, knn, ppr\."):
        resolve("pagerank")
    for wrong in (3, OneHop, None):
        with pytest.raises(InputError, match=r"A heuristic is a name .* or an object with fit and rows, not"):
            resolve(wrong)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Settings:
    """What `fit_heuristics` reads."""

    active_heuristics: Sequence[str | HeuristicLike]
    max_candidates: int | None = None
    restart_prob: float = 0.3
    num_neighbors: int | None = 64


def test_every_heuristic_reads_its_own_settings(tmp_path) -> None:
    cache = DiskCache(tmp_path)
    one, two, knn, ppr = fit_heuristics(Settings(NAMES, max_candidates=5), random_graph(), cache)
    assert [type(h) for h in (one, two, knn, ppr)] == list(HEURISTICS.values())
    assert (knn.k, ppr.restart_prob) == (59, 0.3)  # no more neighbours than there are other nodes
    for heuristic in (one, two, knn, ppr):
        assert (heuristic.max_candidates, heuristic.cache) == (5, cache)
        assert heuristic.graph_.num_nodes == 60
    assert KNN.from_settings(Settings([], num_neighbors=None), 60).k is None


def test_a_large_graph_bounds_the_candidates_unless_the_settings_do() -> None:
    for bound, num_nodes, limit in ((None, 6000, None), (None, 6001, 256), (9, 6001, 9), (300, 50, 300)):
        assert candidate_limit(Settings([], bound), num_nodes) == limit
        assert PPR.from_settings(Settings([], bound), num_nodes).max_candidates == limit


@pytest.mark.parametrize(("num_nodes", "bound", "held"), [(20, None, True), (21, None, False), (21, 5, True)])
def test_a_small_or_bounded_heuristic_holds_all_its_rows(
    num_nodes: int, bound: int | None, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ansgt.heuristics.base.SMALL", 20)
    fitted = OneHop(max_candidates=bound).fit(random_graph(num_nodes))
    assert (fitted.table_ is not None) == held


def test_an_object_keeps_its_own_settings_and_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, ready, fresh = random_graph(), PPR(restart_prob=0.7), KNN(k=3)
    ready.fit(graph)
    calls: list[Heuristic] = []
    fit = Heuristic.fit
    monkeypatch.setattr(Heuristic, "fit", lambda self, graph: calls.append(self) or fit(self, graph))
    assert fit_heuristics(Settings([ready, fresh]), graph) == [ready, fresh]
    assert fit_heuristics(Settings([ready, fresh]), random_graph()) == [
        ready,
        fresh,
    ]  # a graph of the same content
    assert calls == [fresh]
    fit_heuristics(Settings([ready]), random_graph(seed=1))
    assert calls == [fresh, ready]  # another graph
    assert (ready.restart_prob, fresh.k) == (0.7, 3)


class Nearby:
    """A heuristic of a user's own, without a base: node i proposes node i + 1."""

    def fit(self, graph: Graph) -> "Nearby":
        self.num_nodes = graph.num_nodes
        return self

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        return sp.csr_array(np.eye(self.num_nodes)[(nodes + 1) % self.num_nodes])


class Forgetful(Nearby):
    def fit(self, graph: Graph) -> None:  # type: ignore[override]
        super().fit(graph)


def test_a_heuristic_of_a_users_own() -> None:
    check_heuristic(Nearby)
    (own,) = fit_heuristics(Settings([Nearby()]), path_graph())
    assert own.rows(np.array([3])).toarray().tolist() == [[1, 0, 0, 0]]
    with pytest.raises(InputError, match="object with fit and rows, not None"):
        fit_heuristics(Settings([Forgetful()]), path_graph())


def test_records_call_a_heuristic_by_its_registered_name_or_its_class() -> None:
    assert heuristic_names([resolve(name) for name in NAMES]) == NAMES
    assert heuristic_names([Nearby(), PPR(), Nearby(), PPR(), PPR()]) == [
        "Nearby",
        "ppr",
        "Nearby 2",
        "ppr 2",
        "ppr 3",
    ]


@pytest.mark.parametrize(
    ("rows", "held"), [("held", [1, 1, 1, 1]), ("computed", [0, 0, 1, 0]), ("asked", [0, 0, 0, 0])]
)
def test_rows_are_held_or_computed_as_asked(rows: str, held: list[int]) -> None:
    """What rounds by the shape of a block is held, unless it too shall be computed for a few."""
    graph = random_graph()
    fitted: list[Any] = fit_heuristics(Settings(["1-hop", "2-hop", "knn", "ppr"], 5), graph, rows=rows)
    assert [one.table_ is not None for one in fitted] == [bool(one) for one in held]
    assert {one._few for one in fitted if one.table_ is None} <= {rows == "asked"}
    expected = fit_heuristics(Settings(["1-hop", "2-hop", "knn", "ppr"], 5), graph)
    for one, other in zip(fitted, expected, strict=True):
        one, other = (heuristic.rows(np.arange(60)).toarray() for heuristic in (one, other))
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_another_graph_takes_the_place_of_the_first() -> None:
    heuristic, other = OneHop().fit(path_graph(5)), star_graph(4)
    assert not heuristic.attach(other)._few
    assert heuristic.rows(np.array([0])).toarray().tolist() == [[0, 0.25, 0.25, 0.25, 0.25]]


def test_what_a_heuristic_says_of_itself() -> None:
    kinds = [OneHop, TwoHop, KNN, PPR]
    assert [kind.compares_features for kind in kinds] == [False, False, True, False]
    assert [kind.row_by_row for kind in kinds] == [True, True, False, True]
    assert OneHop().key() == [2, "OneHop", {"max_candidates": None}]  # 3 would compute all stored rows again
    fitted = [KNN(k=3).fit(random_graph()), Nearby(), OneHop().fit(random_graph())]
    assert measured(fitted) == {"knn": {"recall": 1.0, "index": "exact"}}


def test_error_is_measured_on_five_hundred_nodes() -> None:
    for num_nodes, number in ((40, 40), (700, 500)):
        nodes = OneHop().attach(path_graph(num_nodes)).checked_nodes()
        assert len(set(nodes.tolist())) == len(nodes) == number
        assert np.all(np.diff(nodes) > 0)


def test_a_forked_child_that_cannot_compute_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.turns._lost_threads", True)
    with pytest.raises(InputError, match="forked"):
        OneHop().fit(path_graph())


def test_settings_are_what_the_constructor_was_given() -> None:
    heuristic = KNN(k=3, max_candidates=2).fit(path_graph())
    assert heuristic.settings() == {"k": 3, "index": "auto", "wanted_recall": 0.95, "max_candidates": 2}


def test_bad_input() -> None:
    with pytest.raises(InputError, match="OneHop is not fitted"):
        OneHop().rows(np.arange(2))
    with pytest.raises(InputError, match="max_candidates must be at least 1, not 0"):
        OneHop(max_candidates=0).fit(path_graph())
    for node in (9, -1):
        with pytest.raises(InputError, match=f"names node {node}, but the graph has 6 nodes"):
            OneHop().fit(star_graph()).rows(np.array([0, node]))


def test_the_constructor_only_stores() -> None:
    for wrong in (
        KNN(k=0),
        KNN(index="hnsw"),
        PPR(restart_prob=0),
        PPR(method="inverse"),
        OneHop(max_candidates=0),
    ):
        with pytest.raises(InputError):
            wrong.fit(path_graph())
