"""The frame of every picture: one style, no screen, and a file that is either whole or absent."""

from collections.abc import Iterator
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
