"""`ansgt bench heuristics` at toy size: what a row says, what recall means, and whose seconds a ratio divides."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.bench import heuristics
from ansgt.bench.graphs import power_law_graph
from ansgt.bench.heuristics import Case, build, measure_fit, recall_on

CASE = Case(mean_degree=6.0, num_features=8, max_candidates=16, num_checked=50)


@pytest.mark.parametrize("name", heuristics.NAMES)
def test_a_row_describes_the_graph_and_the_fit(name: str) -> None:
    row = measure_fit(name, 300, CASE)
    graph = power_law_graph(300, 6.0, 8 if name == "knn" else 1)
    assert (row["heuristic"], row["num_nodes"], row["num_edges"]) == (name, 300, graph.num_edges)
    assert row["seconds"] > 0
    assert ("recall" in row) == (name in ("knn", "ppr")), "only approximate heuristics are checked"


def test_exact_neighbours_have_recall_one_and_pushed_ppr_nearly() -> None:
    assert measure_fit("knn", 300, CASE)["recall"] == 1.0
    assert 0.9 <= measure_fit("ppr", 300, CASE)["recall"] < 1.0


class Half:
    """A heuristic that finds every second one of the true neighbours."""

    def __init__(self, heuristic: Any) -> None:
        self.heuristic = heuristic

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        rows = self.heuristic.rows(nodes).tolil()
        for row in range(len(nodes)):
            rows[row, rows.rows[row][::2]] = 0
        return sp.csr_array(rows)


def test_a_heuristic_that_misses_half_has_half_the_recall() -> None:
    graph = power_law_graph(300, 6.0, 8)
    found = build("knn", CASE.max_candidates).fit(graph)
    assert recall_on(graph, "knn", Half(found), CASE) == pytest.approx(0.5)


def test_a_ratio_is_the_peers_seconds_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = power_law_graph(200, 6.0, 8)
    ticks = iter([0.0, 2.0, 10.0, 16.0])  # ours takes 2 s, the peer 6 s
    monkeypatch.setattr(heuristics, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    found = heuristics.against_sklearn(graph, 16)
    assert found == {"scikit-learn brute / ansgt KNN, seconds": 3.0, "ansgt KNN, seconds": 2.0}
