"""Line charts and intervals as geometry that a template draws as SVG; text stays text, colours stay classes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ansgt.arrays import brief_repr

WIDTH, HEIGHT = 460, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 38
"""Room around the plot for ticks and labels."""
MOST_POINTS = 240
"""Of a line; more are not seen at this width."""


@dataclass(frozen=True, eq=False)
class Line:
    """A curve to draw.

    Args:
        points: x and y [k, 2]; ascending x.
        color: number of a colour, or the class of a style sheet.
        name: in the legend; lines of one name share an entry.
        kind: further class: "thin", "dashed", "mean".
        low, high: of a band around the curve [k].
    """

    points: np.ndarray
    color: int | str = 0
    name: str = ""
    kind: str = ""
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    __repr__ = brief_repr


@dataclass(frozen=True)
class Mark:
    """A dot, with the words that a browser shows when the pointer rests on it."""

    x: float
    y: float
    color: int | str
    words: str
    radius: float = 3.5


@dataclass(frozen=True)
class Tick:
    """A place on an axis, in pixels, and its number."""

    at: float
    text: str


@dataclass(frozen=True)
class Path:
    """What `<path>` draws."""

    d: str
    css: str


@dataclass(frozen=True)
class Chart:
    """A drawn chart, in pixels of its own.

    Args:
        title, x_label, y_label: texts.
        x_ticks, y_ticks: of the axes.
        bands, paths, marks: what is drawn, in this order.
        legend: CSS class and name of every named line.
        left, right, top, bottom: edges of the plot.
    """

    title: str
    x_label: str
    y_label: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    bands: list[Path]
    paths: list[Path]
    marks: list[Mark]
    legend: list[tuple[str, str]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclass(frozen=True)
class Axes:
    """Labels of a chart, the range of an axis where it does not follow the data, and which axes ("xy") show percent."""

    title: str
    x_label: str
    y_label: str
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    percent: str = ""


def line_chart(lines: Sequence[Line], axes: Axes, marks: Sequence[Mark] = ()) -> Chart:
    """Lines, bands and marks on common axes."""
    lines = [line for line in lines if len(line.points)]
    x_low, x_high = axes.x_range or _range([line.points[:, 0] for line in lines])
    y_low, y_high = axes.y_range or _range([*map(_heights, lines), np.array([m.y for m in marks])])

    def across(x: np.ndarray | float) -> np.ndarray:
        return LEFT + (np.asarray(x, dtype=np.float64) - x_low) / (x_high - x_low) * (WIDTH - RIGHT - LEFT)

    def up(y: np.ndarray | float) -> np.ndarray:
        share = (np.asarray(y, dtype=np.float64) - y_low) / (y_high - y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)

    bands, paths, legend = [], [], []
    for line in lines:
        kept = _thinned(len(line.points))
        x, y = across(line.points[kept, 0]), up(line.points[kept, 1])
        if line.low is not None and line.high is not None:
            around = _path(
                np.concatenate([x, x[::-1]]), np.concatenate([up(line.high[kept]), up(line.low[kept])[::-1]])
            )
            bands.append(Path(around + "Z", f"band {_css(line.color)}"))
        paths.append(Path(_path(x, y), f"line {_css(line.color)} {line.kind}".strip()))
        if line.name and (_css(line.color), line.name) not in legend:
            legend.append((_css(line.color), line.name))
    return Chart(
        title=axes.title,
        x_label=axes.x_label,
        y_label=axes.y_label,
        x_ticks=[Tick(float(across(t)), _number(t, "x" in axes.percent)) for t in nice_ticks(x_low, x_high)],
        y_ticks=[Tick(float(up(t)), _number(t, "y" in axes.percent)) for t in nice_ticks(y_low, y_high, 5)],
        bands=bands,
        paths=paths,
        marks=[
            Mark(round(float(across(m.x)), 1), round(float(up(m.y)), 1), _css(m.color), m.words, m.radius)
            for m in marks
        ],
        legend=legend,
    )


def interval(values: Sequence[float | None], most: float, width: int = 180) -> list[float | None]:
    """Places of numbers on a bar [0, width] whose middle is 0 and whose ends are -most and most."""
    scale = (width / 2 - 6) / max(most, 1e-12)
    return [None if value is None else round(width / 2 + value * scale, 1) for value in values]


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most `most` round numbers in [low, high], 1, 2 or 5 times a power of ten apart.

    >>> nice_ticks(0, 100), nice_ticks(0.32, 0.97)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.4, 0.6, 0.8])
    """
    raw = (high - low) / max(most - 1, 1)
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(base * m for m in (1, 2, 5, 10) if base * m >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _range(parts: Sequence[np.ndarray]) -> tuple[float, float]:
    """Of all finite numbers, with a little room; never empty."""
    values = np.concatenate([np.zeros(0), *parts])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = 0.04 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - (room if low else 0.0), high + room


def _heights(line: Line) -> np.ndarray:
    parts = [line.points[:, 1], *(part for part in (line.low, line.high) if part is not None)]
    return np.concatenate(parts)


def _thinned(number: int) -> np.ndarray:
    """Which of `number` points are drawn; the ends always."""
    return np.unique(np.linspace(0, number - 1, min(number, MOST_POINTS)).round().astype(np.int64))


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """SVG's words for a line through points; one that is not a number breaks it."""
    words, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen = "M"
            continue
        words.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(words)


def _css(color: int | str) -> str:
    return f"c{color % 10}" if isinstance(color, int) else color


def _number(value: float, percent: bool = False) -> str:
    return f"{100 * value:.4g}" if percent else f"{value:.4g}"
