import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.errors import InputError
from ansgt.heuristics import rows
from ansgt.heuristics.rows import Table, TopRows, csr_top_k, dense_top_k, keep_largest, normalized_rows
from ansgt.testing import check_rows


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


@pytest.mark.parametrize("kind", ["wide", "narrow", "ties", "negative", "equal", "double"])
def test_keep_largest_of_many(kind: str) -> None:
    rng = np.random.default_rng(0)
    count = 5000
    scores = {
        "wide": np.exp(20 * rng.normal(size=count)),
        "narrow": 1 + 1e-6 * rng.random(count),
        "ties": rng.integers(0, 3, count) / 7,
        "negative": rng.normal(size=count),
        "equal": np.ones(count),
        "double": 1 + 1e-12 * rng.random(count),  # equal in single precision
    }[kind]
    scores = scores if kind == "double" else scores.astype(np.float32)
    columns = rng.permutation(1_000_000)[:count].astype(np.int32)
    for k in (1, 100, 4999):
        out_values, out_columns = np.empty(k, dtype=scores.dtype), np.empty(k, dtype=np.int32)
        assert keep_largest(scores, columns, out_values, out_columns) == k
        best = np.lexsort((columns, -scores))[:k]
        np.testing.assert_array_equal(out_columns, np.sort(columns[best]))
        np.testing.assert_array_equal(out_values, scores[best][np.argsort(columns[best])])


@pytest.mark.parametrize("compiled", [False, True])
def test_dense(compiled: bool) -> None:
    scores = np.array([[1, 3, 3, 2], [0, 0, 0, 0]], dtype=np.float32)
    values, columns = dense_top_k(scores, np.array([10, 20, 30, 40]), 2, compiled)
    np.testing.assert_array_equal(columns, [[20, 30], [10, 20]])
    np.testing.assert_array_equal(values, [[3, 3], [0, 0]])


def test_csr_kernel_equals_scipy_version(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sp.random_array((50, 80), density=0.3, format="csr", rng=np.random.default_rng(0))
    expected = csr_top_k(matrix, 5)
    monkeypatch.setattr("ansgt.heuristics.rows._JIT_PAYS", 0)
    np.testing.assert_array_equal(csr_top_k(matrix, 5).toarray(), expected.toarray())


@pytest.mark.parametrize("k", [1, 2, 5])
def test_columns_come_in_order(k: int) -> None:
    matrix = sp.csr_array(([3.0, 1.0, 2.0], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    found = csr_top_k(matrix, k)
    assert found.indices.tolist() == ([2, 1] if k == 1 else [0, 2, 1])
    assert csr_top_k(sp.csr_array((2, 3)), k).nnz == 0


def test_rows_filled_in_part() -> None:
    top = TopRows.empty(3, 2)
    top.values[:], top.columns[:] = [[5, 6], [7, 8], [9, 9]], [[1, 3], [0, 2], [0, 0]]
    for last, row in ((0, [0, 0, 0, 0]), (1, [9, 0, 0, 0])):
        top.lengths[:] = [2, 1, last]
        assert top.to_csr(4).toarray().tolist() == [[0, 5, 0, 6], [7, 0, 0, 0], row]


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
    monkeypatch.setattr(rows, "LARGE", 0)
    kept = rows._without_self(sp.csr_array(dense), np.arange(30))
    assert kept.dtype == np.float32
    plain = normalized_rows(sp.csr_array(dense), np.arange(30), 7)
    np.testing.assert_array_equal(plain.toarray(), copied.toarray())


def test_normalized_rows_sort_and_check() -> None:
    unsorted = sp.csr_array((np.array([1.0, 3.0, 9.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    out = normalized_rows(unsorted, np.array([1]))
    assert (out.indices.tolist(), out.data.tolist()) == ([0, 2], [0.75, 0.25])
    with pytest.raises(InputError, match="1 rows of scores for 2 nodes"):
        normalized_rows(unsorted, np.array([0, 1]))


def test_a_table_of_blocks_is_their_stack_with_narrow_columns() -> None:
    blocks = [sp.random_array((4, 9), density=density, rng=1, format="csr") for density in (0.1, 0.9, 0.0)]
    table = Table(12)
    for block in blocks:
        table.append(sp.csr_array(block.astype(np.float32)))
    arrays = table.arrays()
    stacked = sp.csr_array(sp.vstack(blocks)).astype(np.float32)
    assert [arrays[name].tolist() for name in ("data", "indices", "indptr")] == [
        stacked.data.tolist(),
        stacked.indices.tolist(),
        stacked.indptr.tolist(),
    ]
    assert arrays["indices"].dtype == np.int32
