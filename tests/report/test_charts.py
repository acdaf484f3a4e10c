"""Charts: numbers land where the ticks say, whatever the numbers are."""

import re

import numpy as np
import pytest

from ansgt.report.charts import MOST_POINTS, Axes, Chart, Line, Mark, interval, line_chart, nice_ticks

AXES = Axes("t", "x", "y")


def points(d: str) -> np.ndarray:
    return np.array([[float(v) for v in pair] for pair in re.findall(r"[ML](\S+?) ([^ML Z]+)", d)])


def value_at(chart: Chart, pixel: float, axis: str) -> float:
    """The number at a place, by the first and the last tick."""
    ticks = getattr(chart, f"{axis}_ticks")
    first, last = ticks[0], ticks[-1]
    share = (pixel - first.at) / (last.at - first.at)
    return float(first.text) + share * (float(last.text) - float(first.text))


def test_points_lie_where_the_ticks_say() -> None:
    line = Line(np.array([[0, 0.2], [10, 0.9], [20, 0.4]]), 0, "a", low=np.full(3, 0.1), high=np.full(3, 1.0))
    chart = line_chart([line], AXES, [Mark(10, 0.9, 1, "kept")])
    for (x, y), drawn in zip(line.points, points(chart.paths[0].d), strict=True):
        assert value_at(chart, drawn[0], "x") == pytest.approx(x, abs=0.05)
        assert value_at(chart, drawn[1], "y") == pytest.approx(y, abs=0.005)
    assert (chart.marks[0].x, chart.marks[0].y) == pytest.approx(tuple(points(chart.paths[0].d)[1]), abs=0.1)
    assert chart.bands[0].d.endswith("Z")
    assert len(points(chart.bands[0].d)) == 6
    assert chart.legend == [("c0", "a")]
    inside = points(chart.bands[0].d)
    assert (inside[:, 1] >= chart.top).all()
    assert (inside[:, 1] <= chart.bottom).all()


def test_long_lines_are_thinned_and_gaps_stay_gaps() -> None:
    long = np.stack([np.arange(5000), np.sin(np.arange(5000))], axis=1)
    assert len(points(line_chart([Line(long)], AXES).paths[0].d)) == MOST_POINTS
    gap = np.array([[0, 1], [1, np.nan], [2, 3]])
    assert line_chart([Line(gap)], AXES).paths[0].d.count("M") == 2


@pytest.mark.parametrize(
    "values", [[], [[3, 7]], [[0, 0], [1, 0]], [[0, np.inf], [1, np.nan]], [[0, 1e9], [1, -1e9]]]
)
def test_odd_numbers_give_a_chart(values: list[list[float]]) -> None:
    chart = line_chart([Line(np.array(values, dtype=float).reshape(-1, 2))], AXES)
    assert all(np.isfinite(tick.at) for tick in chart.x_ticks + chart.y_ticks)
    assert "nan" not in "".join(path.d for path in chart.paths)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.003, 0.017), (0, 1000), (97.2, 98.9), (1e-9, 3e-9)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)


def test_intervals_around_zero() -> None:
    assert interval([-0.1, 0.0, 0.1, None], 0.1) == [6, 90, 174, None]
