import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import dense_cosine

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import KNN, Heuristic, TwoHop
from ansgt.heuristics.knn import EXACT_LIMIT, _shares_little, unit_rows
from ansgt.sequences import SequenceSettings
from ansgt.testing import power_law_graph, random_graph

EDGE = np.array([[0], [1]])


def test_by_hand() -> None:
    x = np.array([[1.0, 0.0], [1.0, 1.0], [3.0, 0.0], [-1.0, 0.0]])
    rows = KNN(k=2).fit(Graph.from_arrays(x, EDGE)).rows(np.arange(4)).toarray()
    half = np.sqrt(0.5)
    np.testing.assert_allclose(rows[0], [0, half / (1 + half), 1 / (1 + half), 0], atol=1e-6)
    np.testing.assert_allclose(rows[3], [0, 0, 0, 0])  # nothing is similar to it


def test_how_many_neighbours() -> None:
    assert KNN().k == 20
    assert KNN.from_settings(SequenceSettings(num_neighbors=7), 1000).k == 7
    assert KNN.from_settings(SequenceSettings(num_neighbors=7), 5).k == 4


def test_default_takes_the_nearest() -> None:
    graph = random_graph(num_nodes=200)
    cosine = dense_cosine(graph)
    np.fill_diagonal(cosine, -2)
    rows = KNN(k=10).fit(graph).rows(np.arange(200))
    for i in range(200):
        found = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        assert set(found) == set(np.argsort(-cosine[i])[:10])


def test_sparse_features_give_the_same() -> None:
    dense = random_graph(num_nodes=80)
    x = np.maximum(dense.x.numpy(), 0)
    one, two = (Graph.from_arrays(v, dense.adj) for v in (x, sp.csr_array(x)))
    rows = [KNN(k=5).fit(graph).rows(np.arange(80)).toarray() for graph in (one, two)]
    np.testing.assert_allclose(*rows, atol=1e-6)


def test_zero_features_have_no_neighbours() -> None:
    x = np.array([[1.0], [2.0], [0.0]])
    rows = KNN().fit(Graph.from_arrays(x, EDGE)).rows(np.arange(3)).toarray()
    np.testing.assert_array_equal(rows, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_words_are_few_entries_of_which_few_pairs_share_one() -> None:
    for count, is_sparse in ((4, True), (5, False)):  # of 100
        x = np.zeros((10, 10), dtype=np.float32)
        x.ravel()[:count] = 2.0
        unit = unit_rows(x)
        assert sp.issparse(unit) == is_sparse
        dense = unit.toarray() if is_sparse else unit
        np.testing.assert_allclose(dense, x / max(np.linalg.norm(x[0]), 1))
    for number, shares_little in ((447_213, True), (447_214, False)):  # the square root of 2e11
        column = sp.csr_array((np.ones(number), np.zeros(number, dtype=int), np.arange(number + 1)))
        assert _shares_little(column) == shares_little
    assert not _shares_little(np.ones((3, 2)))
    assert not _shares_little(sp.csr_array([[1.0, -1.0]]))
    assert _shares_little(sp.csr_array((3, 2)))
    assert f"exact up to {EXACT_LIMIT:,} nodes" in str(KNN.__doc__)


def test_bad_settings() -> None:
    graph = random_graph()
    with pytest.raises(InputError, match="k must be at least 1 or None, not 0"):
        KNN(k=0).fit(graph)
    with pytest.raises(InputError, match="Unknown KNN index 'hnsw'"):
        KNN(index="hnsw").fit(graph)
    with pytest.raises(InputError, match=r"wanted_recall must be in \(0, 1\], not 1.5"):
        KNN(wanted_recall=1.5).fit(graph)


@pytest.mark.parametrize("kind", [KNN, TwoHop])
def test_few_rows_alone_are_those_of_all(kind: type[Heuristic], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("base", "knn", "hops"):
        monkeypatch.setattr(f"ansgt.heuristics.{module}.SMALL", 50)
    graph, nodes = power_law_graph(700, 8), np.array([0, 3, 699])
    graph = graph.with_features(
        torch.from_numpy(np.random.default_rng(0).normal(size=(700, 8)).astype(np.float32))
    )
    few = kind(max_candidates=20).attach(graph, few=True).rows(nodes)
    whole = kind(max_candidates=20).fit(graph).rows(nodes)
    assert np.array_equal(few.indices, whole.indices)
    assert few.data == pytest.approx(whole.data, rel=1e-6)
