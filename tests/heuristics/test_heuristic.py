"""What every heuristic must do: conformance, the contract of `rows`, the cache."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, HeuristicLike, OneHop, base, resolve
from ansgt.heuristics.base import normalized_rows
from ansgt.storage import DiskCache
from ansgt.testing import path_graph, random_graph, star_graph

NAMES = list(HEURISTICS)


def check_rows(rows: sp.csr_array, nodes: np.ndarray, num_nodes: int) -> None:
    """The contract of DESIGN.md section 5."""
    assert rows.shape == (len(nodes), num_nodes)
    assert (rows.data > 0).all()
    dense = rows.toarray()
    assert np.all(dense[np.arange(len(nodes)), nodes] == 0)
    sums = dense.sum(axis=1)
    np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-5)
    assert rows.has_sorted_indices


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
@given(graph=graphs(), bound=st.sampled_from([None, 1, 3, 100]))
@settings(deadline=None, max_examples=30)
def test_any_graph(name: str, graph: Graph, bound: int | None) -> None:
    heuristic = resolve(name, max_candidates=bound).fit(graph)
    nodes = np.arange(graph.num_nodes)
    rows = heuristic.rows(nodes)
    check_rows(rows, nodes, graph.num_nodes)
    assert np.diff(rows.indptr).max(initial=0) <= (bound or graph.num_nodes)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_some_nodes(name: str) -> None:
    graph = random_graph(num_isolated=2)
    heuristic = resolve(name).fit(graph)
    nodes = np.array([59, 3, 3, 0])
    np.testing.assert_array_equal(
        heuristic.rows(nodes).toarray(), heuristic.rows(np.arange(60)).toarray()[nodes]
    )
    assert heuristic.rows(np.array([], dtype=np.int64)).shape == (0, 60)


@pytest.mark.parametrize("name", NAMES)
def test_on_demand_rows_equal_the_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_isolated=2)
    table = resolve(name).fit(graph).rows(np.arange(60)).toarray()
    monkeypatch.setattr("ansgt.heuristics.base.SMALL", 10)
    heuristic = resolve(name).fit(graph)
    assert heuristic.table_ is None
    np.testing.assert_allclose(heuristic.rows(np.arange(60)).toarray(), table, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_bound_keeps_the_largest(name: str) -> None:
    graph = random_graph()
    full = resolve(name).fit(graph).rows(np.arange(60)).toarray()
    cut = resolve(name, max_candidates=3).fit(graph).rows(np.arange(60)).toarray()
    for row, kept in zip(full, cut, strict=True):
        best = np.sort(row)[-3:]
        np.testing.assert_allclose(np.sort(kept)[-3:], best / best.sum(), atol=1e-5)


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


def test_normalized_rows_exact() -> None:
    scores = sp.csr_array([[9.0, 3.0, 1.0, -4.0], [0.0, 7.0, 0.0, 0.0]])
    expected = [[0, 0.75, 0.25, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(normalized_rows(scores, np.array([0, 1])).toarray(), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("k", [None, 3])
def test_normalized_rows_equal_a_plain_loop(dtype: type, k: int | None) -> None:
    rng = np.random.default_rng(2)
    nodes = np.array([4, 0, 4, 11, 7])
    dense = (rng.normal(scale=9, size=(5, 12)) * (rng.random((5, 12)) < 0.8)).astype(dtype)
    dense[3] = -1
    scores = sp.csr_array(dense)
    out = normalized_rows(sp.csr_array((scores.data, scores.indices, scores.indptr), shape=(5, 12)), nodes, k)
    check_rows(out, nodes, 12)
    for row, node in enumerate(nodes):
        kept = {c: float(v) for c, v in enumerate(dense[row]) if c != node and v > 0}
        best = sorted(kept, key=lambda c: (-kept[c], c))[:k]
        expected = np.zeros(12, dtype=np.float32)
        for c in best:
            expected[c] = kept[c] / sum(kept[b] for b in sorted(best))
        np.testing.assert_allclose(out[[row]].toarray()[0], expected, rtol=2e-7)
    assert out.dtype == np.float32


def test_many_entries_stay_in_single_precision_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(30, 30)).astype(np.float32) * (rng.random((30, 30)) < 0.5)
    copied = normalized_rows(sp.csr_array(dense), np.arange(30), 7)
    monkeypatch.setattr(base, "LARGE", 0)
    kept = base._without_self(sp.csr_array(dense), np.arange(30))
    assert kept.dtype == np.float32
    plain = normalized_rows(sp.csr_array(dense), np.arange(30), 7)
    np.testing.assert_array_equal(plain.toarray(), copied.toarray())


def test_normalized_rows_sort_and_check() -> None:
    unsorted = sp.csr_array((np.array([1.0, 3.0, 9.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    out = normalized_rows(unsorted, np.array([1]))
    assert (out.indices.tolist(), out.data.tolist()) == ([0, 2], [0.75, 0.25])
    with pytest.raises(InputError, match="1 rows of scores for 2 nodes"):
        normalized_rows(unsorted, np.array([0, 1]))


def test_resolve() -> None:
    own = OneHop()
    assert resolve(own) is own
    assert isinstance(own, HeuristicLike)
    with pytest.raises(InputError, match=r"Unknown heuristic 'pagerank'; known: 1-hop, 2-hop, knn, ppr\."):
        resolve("pagerank")


def test_bad_input() -> None:
    with pytest.raises(InputError, match="not fitted"):
        OneHop().rows(np.arange(2))
    with pytest.raises(InputError, match="max_candidates must be at least 1, not 0"):
        OneHop(max_candidates=0).fit(path_graph())
    with pytest.raises(InputError, match="names node 9"):
        OneHop().fit(star_graph()).rows(np.array([9]))
