"""The frame of every picture: one style, no screen, and a file that is either whole or absent."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansgt.storage import atomic_path
from ansgt.turns import turn

COLORS = {"1-hop": "#3b6fb6", "2-hop": "#58a46b", "ppr": "#d98b2b", "knn": "#b5456b"}
"""One colour per heuristic, the same in every figure; others take matplotlib's cycle."""
GREY = "#8a8a8a"
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


@contextmanager
def figure(path: Path | str, width: float = 6.4, height: float = 3.8, columns: int = 1) -> Iterator[Any]:
    """Yields axes (an array of them for several columns) and writes the picture when the block ends.

    Matplotlib's style is the process's: threads draw one after another.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # not pyplot: it would choose a screen, and keeps every figure

    with turn(), rc_context(STYLE):
        fig = Figure(figsize=(width, height), layout="constrained")
        yield fig.subplots(1, columns)
        with atomic_path(path) as temporary:
            fig.savefig(temporary, dpi=150, format=Path(path).suffix.lstrip(".") or "png")


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
    placed: list[float] = []
    for name, (y, color) in sorted(ends.items(), key=lambda item: item[1][0]):
        placed.append(max(y, placed[-1] + gap) if placed else y)
        ends = {**ends, name: (placed[-1], color)}
    over = max(0.0, max(placed, default=low) - high + gap / 2)
    for name, (y, color) in ends.items():
        style = {"color": color, "fontsize": size, "va": "center", "annotation_clip": False}
        axes.annotate(name, (x, y - over), (3, 0), textcoords="offset points", **style)
