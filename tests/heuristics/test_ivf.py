import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.graph import Graph
from ansgt.heuristics import KNN
from ansgt.testing import power_law_graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return power_law_graph(3000, num_features=32)


def recall(graph: Graph, **settings: object) -> float:
    exact = KNN(k=16, index="exact").fit(graph).rows(np.arange(graph.num_nodes))
    found = KNN(k=16, **settings).fit(graph).rows(np.arange(graph.num_nodes))  # type: ignore[arg-type]
    return float((exact.astype(bool).multiply(found.astype(bool))).sum() / exact.nnz)


def test_recall_and_its_limit(graph: Graph) -> None:
    assert recall(graph, index="ivf", num_probes=16) >= 0.95
    assert recall(graph, index="ivf", num_probes=10_000) >= 0.9999  # every cell: exact but for ties


def test_sparse_and_wide_features(graph: Graph) -> None:
    wide = np.zeros((graph.num_nodes, 600), dtype=np.float32)
    wide[:, :32] = graph.x.numpy()
    assert recall(Graph.from_arrays(sp.csr_array(wide), graph.adj), index="ivf", num_probes=32) >= 0.9


def test_self_is_never_found_and_k_are(graph: Graph) -> None:
    x = np.repeat(graph.x.numpy()[:30], 20, axis=0)  # duplicates, ties everywhere
    small = Graph.from_arrays(x, np.array([[0], [1]]))
    rows = KNN(k=16, index="ivf").fit(small).rows(np.arange(600))
    assert rows.diagonal().max() == 0
    assert np.all(np.diff(rows.indptr) == 16)


def test_same_result_twice(graph: Graph) -> None:
    one, two = (KNN(k=8, index="ivf").fit(graph).rows(np.arange(50)).toarray() for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_faiss(graph: Graph) -> None:
    pytest.importorskip("faiss")
    assert recall(graph, index="faiss", num_probes=16) >= 0.95
