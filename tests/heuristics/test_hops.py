import numpy as np
import pytest
from dense_reference import dense_rows

from ansgt.datasets import load_graph
from ansgt.heuristics import HEURISTICS, KNN, OneHop, TwoHop, resolve
from ansgt.testing import path_graph


def test_one_hop_on_a_path() -> None:
    # degrees with self-loops 2, 3, 3, 2: weights 1/sqrt(2*3) and 1/3 for node 1
    left, right = 1 / np.sqrt(6), 1 / 3
    expected = np.array([[0, 1, 0, 0], [left / (left + right), 0, right / (left + right), 0]])
    np.testing.assert_allclose(
        OneHop().fit(path_graph()).rows(np.array([0, 1])).toarray(), expected, atol=1e-7
    )


def test_two_hop_on_a_path() -> None:
    # Ã² [0, 1] = (1/2 + 1/3) / sqrt(6), Ã² [0, 2] = 1 / (3 sqrt(6))
    near, far = (1 / 2 + 1 / 3) / np.sqrt(6), 1 / np.sqrt(6) / 3
    expected = np.array([[0, near, far, 0]]) / (near + far)
    np.testing.assert_allclose(TwoHop().fit(path_graph()).rows(np.array([0])).toarray(), expected, atol=1e-7)


@pytest.mark.parametrize("data", ["cora", "chameleon", "texas"])
@pytest.mark.parametrize("name", list(HEURISTICS))
def test_rows_equal_the_dense_reference(data: str, name: str, root, cache_dir) -> None:
    graph = load_graph(data, root=root, cache_dir=cache_dir)
    heuristic = KNN(k=None) if name == "knn" else resolve(name)
    rows = heuristic.fit(graph).rows(np.arange(graph.num_nodes)).toarray()
    assert np.abs(rows - dense_rows(name, graph)).max() < 1e-6
