"""The growth benchmarks at toy size: they run, and report what they promise."""

import pytest

from ansgt.benchmarks import heuristics, proximity, sampling
from ansgt.benchmarks.measure import growth_exponent, isolated, sizes_of
from ansgt.errors import InputError


@pytest.mark.parametrize("name", heuristics.NAMES)
def test_heuristics(name: str) -> None:
    row = heuristics.measure_fit(name, 300, 6.0, 8, 16, 50, 0)
    assert row["num_nodes"] == 300
    assert row["seconds"] > 0
    if name in ("knn", "ppr"):
        assert 0.9 <= row["recall"] <= 1


def test_heuristics_against_scikit_learn() -> None:
    graph = heuristics.make_graph(300, 6.0, 8, 0)
    assert heuristics._against_sklearn(graph, 16)["scikit-learn brute / ansgt KNN, seconds"] > 0


@pytest.mark.parametrize("mode", sampling.MODES)
def test_sampling(mode: str) -> None:
    assert sampling.measure_draw(mode, 50, 16, 4, 2, "cpu")["seconds"] > 0
    assert sampling.compare(mode, 50, 16, 4, 2, "cpu")["ratio"] > 0


def test_proximity() -> None:
    rows = proximity.measure(300, 10, 4, [0.01, 0.001], 1000)["rows"]
    assert [row["mode"] for row in rows] == ["blocked", "approximate 0.01", "approximate 0.001"]
    assert rows[1]["relative_error"] >= rows[2]["relative_error"]
    assert "scipy powers / ansgt dense" in proximity.compare(200, 5, 3)["ratios"]


def test_measure() -> None:
    assert growth_exponent([1, 10], [1.0, 100.0]) == pytest.approx(2)
    assert isolated(growth, 3)["peak_gb"] > 0
    with pytest.raises(InputError, match="whole numbers"):
        sizes_of("5k")


def growth(size: int) -> dict[str, int]:
    return {"size": size}
