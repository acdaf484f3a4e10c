"""Nearest neighbours by an index: effort rises until the measured recall suffices, and a warning says where it does not."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.graph import Graph
from ansgt.heuristics import KNN, measured
from ansgt.heuristics import knn as knn_module
from ansgt.heuristics import neighbors as neighbors_module
from ansgt.heuristics.knn import unit_rows
from ansgt.heuristics.neighbors import Effort, Neighbors, _cost, _efforts, share_found, truth
from ansgt.heuristics.store import StoredHeuristic
from ansgt.storage import DiskCache

EDGE = np.array([[0], [1]])
CHECKED = np.arange(0, 6500, 13)


def clustered(n: int = 7000, width: int = 16, noise: float = 0.3) -> np.ndarray:
    """Rows around 70 centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(70, width))
    return (centres[rng.integers(0, 70, n)] + noise * rng.normal(size=(n, width))).astype(np.float32)


def nearest_by_hand(unit: np.ndarray, nodes: np.ndarray, k: int) -> np.ndarray:
    cosines = unit[nodes].astype(np.float64) @ unit.T.astype(np.float64)
    cosines[np.arange(len(nodes)), nodes] = -2
    return np.sort(np.argsort(-cosines, axis=1, kind="stable")[:, :k], axis=1)


def test_an_odd_number_of_columns_becomes_even_and_nothing_else() -> None:
    unit = unit_rows(clustered(50, width=5))
    points = neighbors_module._dense_points(unit)
    assert points.shape == (50, 6)
    np.testing.assert_array_equal(points @ points.T, unit @ unit.T)
    assert neighbors_module._dense_points(unit[:, :4]).shape == (50, 4)


@pytest.mark.parametrize("kind", ["bytes", "PQ32x4fs"])
def test_clusters_take_few_probes_and_noise_takes_a_scan(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors_module, "multiplies_bytes_fast", lambda: False)
    assert Neighbors(unit_rows(clustered()), 10, CHECKED).effort.kind.startswith("IVF")
    noise = unit_rows(np.random.default_rng(0).normal(size=(7000, 64)).astype(np.float32))
    if kind == "bytes":  # which pays on larger graphs
        monkeypatch.setattr(neighbors_module, "_efforts", lambda *_: [Effort("bytes", 0, 2)])
    found = Neighbors(noise, 10, CHECKED)
    assert found.effort.kind == kind
    assert found.recall >= 0.95
    nodes = np.arange(300)
    shared = [
        len(set(a) & set(b))
        for a, b in zip(found.search(nodes)[1], nearest_by_hand(noise, nodes, 10), strict=True)
    ]
    assert np.mean(shared) / 10 == pytest.approx(found.recall, abs=0.03)


def test_efforts_rise_in_cost_and_end_with_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors_module, "multiplies_bytes_fast", lambda: True)
    assert [effort.kind for effort in _efforts((170_000, 128), 20, False, 0.95)][:2] == ["bytes"] * 2
    assert _efforts((1_000_000, 128), 20, False, 0.95)[0] == Effort("IVF2000,Flat", 8, 1)
    monkeypatch.setattr(neighbors_module, "multiplies_bytes_fast", lambda: False)
    wide, narrow = (_efforts((170_000, width), 20, False, 0.95) for width in (128, 16))
    assert [effort.kind[:2] for effort in wide][:2] == ["IV", "IV"]
    assert wide[-1] == narrow[-1] == Effort("Flat", 0, 1)
    assert max(effort.probes for effort in wide) < max(effort.probes for effort in narrow)
    assert _efforts((10_000_000, 128), 20, False, 0.95)[-1].kind != "Flat"
    assert _efforts((10_000_000, 128), 20, False, 1.0) == [Effort("Flat", 0, 1)]


@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        (Effort("Flat", 0, 1), 10_000 * (2.3 + 0.004 * 30) + 130 * 6),
        (Effort("Flat", 0, 8), 10_000 * (2.3 + 0.004 * 30) + 130 * 8 * 6),
        (Effort("bytes", 0, 2), 10_000 * (0.03 + 0.0023 * 30) + 20_000 + 130 * 2 * 6),
        (Effort("PQ15x4fs", 0, 16), 10_000 * (0.45 + 0.0027 * 30) + 130 * 16 * 6),
        (
            Effort("IVF200,Flat", 8, 1),
            10_000 * 8 / 200 * (4 + 0.18 * 30) + 130 * 6 + 4 * 200 * 30 * (800 * 200 / 10_000 + 2) / 60,
        ),
    ],
)
def test_cost_of_a_search_by_hand(effort: Effort, expected: float) -> None:
    assert _cost(effort, 200, (10_000, 30), 5) == pytest.approx(expected)


@pytest.mark.parametrize("is_sketch", [False, True])
@pytest.mark.parametrize("fast", [False, True])
def test_what_is_tried_in_which_order(fast: bool, is_sketch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every index that costs less than all pairs, and all pairs, where that is not too much."""
    monkeypatch.setattr(neighbors_module, "multiplies_bytes_fast", lambda: fast)
    shape, blur = (40_000, 64), 8 if is_sketch else 1
    probed = [Effort("IVF400,Flat", 2**power, blur) for power in range(3, 9)]
    scans = [Effort("bytes", 0, depth * blur) for depth in (2, 4, 8)]
    if not fast:
        scans = [Effort("PQ32x4fs", 0, depth * (1 + is_sketch)) for depth in (8, 16, 32)]
    costs = {effort: _cost(effort, 400, shape, 20) for effort in (*probed, *scans, Effort("Flat", 0, blur))}
    most = costs.pop(Effort("Flat", 0, blur))
    expected = [effort for effort in sorted(costs, key=costs.__getitem__) if costs[effort] < most]
    assert _efforts(shape, 20, is_sketch, 0.95) == [*expected, Effort("Flat", 0, blur)]
    assert [_efforts((n, 64), 20, is_sketch, 0.95)[-1].kind == "Flat" for n in (480_000, 490_000)] == [
        True,
        False,
    ]


def test_all_pairs_are_exact_and_values_are_cosines() -> None:
    unit = unit_rows(clustered(6500, width=7))  # an odd width
    values, columns = Neighbors(unit, 5, CHECKED, wanted=1.0).search(np.array([3, 17, 6000]))
    np.testing.assert_array_equal(columns, nearest_by_hand(unit, np.array([3, 17, 6000]), 5))
    np.testing.assert_allclose(values[1], unit[columns[1]] @ unit[17], atol=1e-6)


def test_sparse_rows_are_searched_by_a_sketch_and_ranked_exactly() -> None:
    x = np.maximum(clustered(6500, width=400, noise=0.8), 0.8) - 0.8
    unit = unit_rows(sp.csr_array(x))
    found = Neighbors(unit, 5, CHECKED)
    assert found.recall >= 0.95
    values, columns = found.search(np.array([11]))
    np.testing.assert_allclose(values[0], (unit[columns[0]] @ unit[[11]].T.toarray()).ravel(), atol=1e-6)


def test_ties_and_zeros_count_as_found() -> None:
    unit = unit_rows(np.array([[1.0, 0], [1, 0], [1, 0], [0, 1], [0, 0]], dtype=np.float32))
    known = truth(unit, 2, np.arange(5))
    assert known.available.tolist() == [2, 2, 2, 0, 0]
    assert share_found(np.array([[1, 1], [1, 1], [1, 0], [0, 0], [0, 0]], dtype=np.float32), known) == 5 / 6
    near = np.array([[1, 1], [1, 1], [1 - 5e-6, 1 - 1.5e-5], [0, 0], [0, 0]])
    assert share_found(near, known) == 5 / 6
    assert share_found(np.ones((5, 2)), known) == 1


def test_self_is_never_found_among_duplicates() -> None:
    unit = unit_rows(np.repeat(clustered(70), 100, axis=0))
    for wanted in (0.95, 1.0):
        columns = Neighbors(unit, 16, CHECKED, wanted).search(np.arange(200))[1]
        assert not (columns == np.arange(200)[:, None]).any()


def test_knn_of_a_large_graph(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(knn_module, "EXACT_LIMIT", 6000)
    graph = Graph.from_arrays(clustered(), EDGE)
    exact = KNN(k=8, index="exact").fit(graph)
    knn = KNN(k=8).fit(graph)
    hits = exact.rows(np.arange(7000)).astype(bool).multiply(knn.rows(np.arange(7000)).astype(bool)).sum()
    facts = measured([exact, knn])
    assert facts["knn"]["recall"] == 1
    assert facts["knn 2"] == {
        "recall": pytest.approx(hits / 56_000, abs=0.01),
        "wanted": 0.95,
        "nodes": 500,
    } | (Effort("IVF167,Flat", 8, 1)._asdict())
    again = (KNN(k=8, max_candidates=8).fit(graph).rows(np.arange(7000)) for _ in range(2))
    assert len({part.indices.tobytes() for part in again}) == 1
    stored = StoredHeuristic(KNN(k=8, max_candidates=8), DiskCache(tmp_path)).fit(graph)
    assert stored.measured()["recall"] == pytest.approx(facts["knn 2"]["recall"], abs=1e-6)


def test_sparse_words_are_exact() -> None:
    x = (np.random.default_rng(0).random((6100, 300)) < 0.02).astype(np.float32)
    sparse, dense = (Graph.from_arrays(part, EDGE) for part in (sp.csr_array(x), x))
    knn = KNN(k=8).fit(sparse)
    nodes = np.arange(0, 6100, 60)
    found = knn.rows(nodes)
    assert knn._product is not None
    assert knn.measured()["recall"] == 1
    cosines = unit_rows(dense.x.numpy()).toarray() if sp.issparse(unit_rows(dense.x.numpy())) else None
    assert cosines is not None
    expected = cosines[nodes] @ cosines.T
    expected[np.arange(len(nodes)), nodes] = -1
    best = -np.sort(-expected, axis=1)[:, :8]
    got = np.stack([np.sort(expected[row, found[[row]].indices])[::-1] for row in range(len(nodes))])
    np.testing.assert_allclose(got, best, atol=1e-6)


def test_too_little_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn_module, "EXACT_LIMIT", 6000)
    monkeypatch.setattr(neighbors_module, "MOST_PAIRS", 0)
    monkeypatch.setattr(
        neighbors_module, "_efforts", lambda shape, k, is_sketch, wanted: [Effort("IVF167,Flat", 1, 1)]
    )
    noise = np.random.default_rng(0).normal(size=(7000, 32)).astype(np.float32)
    knn = KNN(k=8).fit(Graph.from_arrays(noise, EDGE))
    with pytest.warns(UserWarning, match=r"KNN finds \d+% of the nearest neighbours, measured on 500 nodes"):
        assert knn.rows(np.arange(5)).shape == (5, 7000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert knn.measured()["recall"] < 0.5


@pytest.mark.parametrize("kind", ["dense", "words", "one row", "zeros"])
def test_many_copies_of_few_rows_are_searched_once_each(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn_module, "SMALL", 100)
    rng = np.random.default_rng(0)
    distinct = rng.standard_normal((30, 8)).astype(np.float32)
    if kind == "words":
        distinct = (rng.random((30, 200)) < 0.02).astype(np.float32)
    x = distinct[rng.integers(0, 1 if kind == "one row" else 30, 400)] * (kind != "zeros")
    graph = Graph.from_arrays(x.astype(np.float32), EDGE, np.zeros(400, dtype=np.int64))
    fitted = KNN(k=25).attach(graph)
    rows = fitted.rows(np.arange(400)).toarray()
    assert fitted._copies is not None
    assert len(fitted._copies.length) <= 30
    cosine = unit_rows(x)
    cosine = cosine.toarray() if hasattr(cosine, "toarray") else cosine
    cosine = np.maximum(cosine @ cosine.T, 0)
    np.fill_diagonal(cosine, 0)
    nearest = -np.sort(-cosine, axis=1)[:, :25]
    np.testing.assert_allclose(
        -np.sort(-rows, axis=1)[:, :25],
        nearest / np.maximum(nearest.sum(axis=1, keepdims=True), 1e-9),
        atol=1e-6,
    )
    assert (rows.diagonal() == 0).all()
