import numpy as np
import pytest

from ansgt.heuristics import TwoHop
from ansgt.heuristics.square import square_top_k
from ansgt.linalg import gcn_norm
from ansgt.testing import random_graph


def test_equals_the_square() -> None:
    graph = random_graph(num_nodes=80, num_isolated=2)
    matrix = gcn_norm(graph)
    full = (matrix @ matrix).toarray()
    np.fill_diagonal(full, 0)
    everything = square_top_k(matrix, np.arange(80), 80).toarray()
    np.testing.assert_allclose(everything, full, atol=1e-7)
    for row, kept in zip(full, square_top_k(matrix, np.arange(80), 5).toarray(), strict=True):
        np.testing.assert_allclose(np.sort(kept)[-5:], np.sort(row)[-5:], atol=1e-7)


def test_two_hop_uses_it_on_large_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(num_nodes=300)
    small = TwoHop(max_candidates=7).fit(graph).rows(np.arange(300))
    for module in ("base", "hops"):
        monkeypatch.setattr(f"ansgt.heuristics.{module}.SMALL", 10)
    large = TwoHop(max_candidates=7).fit(graph).rows(np.arange(300))
    sums = [np.sort(r.toarray(), axis=1) for r in (small, large)]  # ties may fall differently
    np.testing.assert_allclose(*sums, atol=1e-6)
