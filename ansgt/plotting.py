"""The frame of every picture: one style, no screen, and a file that is either whole or absent."""

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure  # not pyplot: it would choose a screen, and keeps every figure

from ansgt.errors import InputError
from ansgt.storage import atomic_path
from ansgt.turns import turn

COLORS = {"1-hop": "#3b6fb6", "2-hop": "#58a46b", "ppr": "#d98b2b", "knn": "#b5456b"}
"""One colour per heuristic, the same in every figure; others take matplotlib's cycle."""
DASHES: dict[str, Any] = {"2-hop": (0, (5, 1.2)), "ppr": (0, (6, 1.2, 1.2, 1.2)), "knn": (0, (1.6, 1))}
"""Beside the colour, so that curves differ in grey too; others are solid."""
GREY = "#8a8a8a"
DOTS = 150
"""Per inch."""
FORMATS = ("png", "pdf", "svg")
STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "legend.frameon": False,
    "text.parse_math": False,  # a name with $ is a name
    "text.usetex": False,
}


def printable(value: object) -> str:
    """Text that UTF-8 can hold: the name of a file need not be.

    >>> printable("a" + chr(0xDCFF))
    'a?'
    """
    return str(value).encode("utf-8", "replace").decode("utf-8")


class Picture(Figure):
    """A figure that a notebook draws inline by itself, whatever its backend: no screen, and nothing that keeps it."""

    def _repr_png_(self) -> bytes:
        return _bytes_of(self, "png")

    def _repr_html_(self) -> str:
        return f'<img src="data:image/png;base64,{base64.b64encode(self._repr_png_()).decode()}">'


@contextmanager
def canvas(width: float = 6.4, height: float = 3.8) -> Iterator[Picture]:
    """Yields an empty picture to draw into.

    Matplotlib's style is the process's: threads draw one after another.
    """
    with turn(), rc_context(STYLE):
        yield Picture(figsize=(width, height), layout="constrained")


def save(picture: Figure, path: Path | str) -> None:
    """Writes a picture, by the suffix of its file (.png, .pdf or .svg)."""
    form = Path(path).suffix.lstrip(".") or "png"
    if form not in FORMATS:
        raise InputError(f"A picture goes to one of .{', .'.join(FORMATS)}, not to {Path(path).name!r}.")
    with atomic_path(path) as temporary:
        temporary.write_bytes(_bytes_of(picture, form))


@contextmanager
def figure(path: Path | str, width: float = 6.4, height: float = 3.8, columns: int = 1) -> Iterator[Any]:
    """Yields axes (an array of them for several columns) and writes the picture when the block ends."""
    with canvas(width, height) as picture:
        yield picture.subplots(1, columns)
        save(picture, path)


def _bytes_of(picture: Figure, form: str) -> bytes:
    out = io.BytesIO()
    with turn(), rc_context(STYLE):
        picture.savefig(out, dpi=DOTS, format=form)
    return out.getvalue()


def direct_labels(axes: Any, x: float, ends: Mapping[str, tuple[float, str]], size: float = 8.5) -> None:
    """Names of lines beside their right ends, in their colours, moved apart where they would overlap.

    Args:
        axes: with their final limits.
        x: where the lines end.
        ends: name -> (y of the end, colour).
        size: of the letters, in points.
    """
    low, high = axes.get_ylim()
    points = 72 * axes.figure.get_figheight() * 0.72
    gap = (high - low) * 1.25 * size / points
    order = list(ends)[::-1]  # of equal ones the first is on top
    order.sort(key=lambda name: ends[name][0])
    for name, y in zip(order, apart([ends[name][0] for name in order], gap, high - gap / 2), strict=True):
        style = {"color": ends[name][1], "fontsize": size, "va": "center", "annotation_clip": False}
        axes.annotate(name, (x, y), (3, 0), textcoords="offset points", **style)


def apart(places: Sequence[float], gap: float, highest: float) -> list[float]:
    """Rising places moved up until they are a gap apart, and down again where they pass the highest.

    >>> apart([0.0, 9.9, 10.0], gap=1.0, highest=10.0)
    [0.0, 9.0, 10.0]
    >>> apart([5.0, 5.0], gap=1.0, highest=10.0)
    [5.0, 6.0]
    """
    placed: list[float] = []
    for y in places:
        placed.append(max(y, placed[-1] + gap) if placed else y)
    for at in reversed(range(len(placed))):
        placed[at] = min(placed[at], placed[at + 1] - gap if at + 1 < len(placed) else highest)
    return placed
