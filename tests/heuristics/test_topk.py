import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.heuristics.topk import csr_top_k, dense_top_k, keep_largest


@given(values=st.lists(st.integers(0, 5), max_size=40), k=st.integers(1, 10), seed=st.integers(0, 3))
@settings(deadline=None, max_examples=50)
def test_keep_largest(values: list[int], k: int, seed: int) -> None:
    columns = np.random.default_rng(seed).permutation(len(values)).astype(np.int32)
    scores = np.array(values, dtype=np.float32)
    out_values, out_columns = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int32)
    size = keep_largest(scores, columns, out_values, out_columns)
    best = np.lexsort((columns, -scores))[:k]  # ties: the smaller column
    np.testing.assert_array_equal(out_columns[:size], np.sort(columns[best]))
    np.testing.assert_array_equal(out_values[:size], scores[best][np.argsort(columns[best])])


@pytest.mark.parametrize("compiled", [False, True])
def test_dense(compiled: bool) -> None:
    scores = np.array([[1, 3, 3, 2], [0, 0, 0, 0]], dtype=np.float32)
    values, columns = dense_top_k(scores, np.array([10, 20, 30, 40]), 2, compiled)
    np.testing.assert_array_equal(columns, [[20, 30], [10, 20]])
    np.testing.assert_array_equal(values, [[3, 3], [0, 0]])


def test_csr_kernel_equals_scipy_version(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sp.random_array((50, 80), density=0.3, format="csr", rng=np.random.default_rng(0))
    expected = csr_top_k(matrix, 5)
    monkeypatch.setattr("ansgt.heuristics.topk._JIT_PAYS", 0)
    np.testing.assert_array_equal(csr_top_k(matrix, 5).toarray(), expected.toarray())
