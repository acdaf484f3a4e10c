"""The largest entries of a product of sparse matrices, against the dense product."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.heuristics.hops import square
from ansgt.heuristics.product import Product
from ansgt.linalg import CSR, gcn_norm
from ansgt.testing import power_law_graph


def expected_rows(dense: np.ndarray, nodes: np.ndarray, k: int) -> np.ndarray:
    """The k largest positive entries of some rows of a square matrix, without the diagonal; ties: the smaller column."""
    out = np.zeros((len(nodes), dense.shape[1]), dtype=np.float32)
    for row, node in enumerate(nodes):
        scores = dense[node].astype(np.float32)
        scores[node] = 0
        kept = np.lexsort((np.arange(len(scores)), -scores))[:k]
        out[row, kept] = scores[kept]
    return out


@pytest.mark.parametrize("nodes", [[7], [0, 3, 3, 59], list(range(60))])
@pytest.mark.parametrize("k", [1, 4, 99])
def test_rows_are_those_of_the_dense_product(nodes: list[int], k: int) -> None:
    rng = np.random.default_rng(0)
    factors = [np.abs(rng.normal(size=(60, 60))) * (rng.random((60, 60)) < 0.1) for _ in range(2)]
    places = np.arange(60)
    product = Product(*(CSR.of(sp.csr_array(one)) for one in factors), places.astype(np.int32), places)
    found = product.top_rows(np.array(nodes), k)
    assert found.has_sorted_indices
    assert np.diff(found.indptr).max() <= k
    np.testing.assert_allclose(
        found.toarray(), expected_rows(factors[0] @ factors[1], np.array(nodes), k), rtol=1e-6
    )


def test_the_numbering_changes_nothing(uncompiled: Callable[[Callable[[], Any]], Any]) -> None:
    walk = gcn_norm(power_law_graph(70))
    nodes = np.arange(70)
    expected = expected_rows((walk @ walk).toarray(), nodes, 5)
    for run in (lambda work: work(), uncompiled):
        found = run(lambda: square(walk).top_rows(nodes, 5)).toarray()
        np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-5)
