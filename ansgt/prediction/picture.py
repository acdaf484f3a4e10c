"""An explanation as a picture: the attended nodes as bars, and beside them the node's surroundings.

In the surroundings a coloured line is attention: its width is the share, its colour the heuristic that brought the node.
Grey lines are edges of the graph. Rings hold the nodes by their hops from the centre.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.plotting import COLORS, GREY, Picture, canvas, printable, save
from ansgt.prediction.explanation import Attended, Explanation
from ansgt.table import short

INK, PALE, ACCENT = "#333333", "#d0d0d0", "#3b6fb6"
CYCLE = ("#7a68a6", "#467821", "#a60628", "#188487")
"""Colours of heuristics that have none of their own."""
WIDEST, THINNEST = 9.0, 0.8
"""Points of a line of attention."""
CROWDED = 16
"""Nodes on the innermost ring up to which neighbours that were not attended to are drawn."""
TURNS = 24
"""Ways in which a ring may be turned, of which that with the fewest lines over nodes is taken."""
MOST_NAMED = 12
"""Attended nodes with their names written beside them."""
FAR = 4
"""Ring of the nodes that are farther than three hops, or that no path leads to."""


def draw_explanation(explanation: Explanation, path: Path | str | None = None) -> Picture:
    """Bars on the left, surroundings on the right, one legend for both."""
    colors = colors_of(explanation)
    height = max(4.6, 1.7 + 0.3 * len(explanation.attended))
    with canvas(width=11.6, height=height) as picture:
        bars, around = picture.subplots(1, 2, width_ratios=[1.05, 1])
        _draw_bars(bars, explanation, colors)
        _draw_surroundings(around, explanation, colors)
        confidence = 100 * max(explanation.probabilities)
        name, predicted = short(explanation.node), short(explanation.prediction)
        picture.suptitle(printable(f"node {name}: class {predicted} ({confidence:.0f} %)"))
        handles = _legend(explanation, colors)
        picture.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4), fontsize=8.5)
        if path is not None:
            save(picture, path)
    return picture


def colors_of(explanation: Explanation) -> dict[str | None, str]:
    """A colour per heuristic; None stands for what no heuristic brought."""
    own = {name: COLORS.get(name) for name in explanation.heuristics}
    spare = iter(CYCLE * len(own)) if own else iter(CYCLE)
    return {None: ACCENT, **{name: color or next(spare) for name, color in own.items()}}


def _draw_bars(axes: Any, explanation: Explanation, colors: dict[str | None, str]) -> None:
    """The share of every attended node, split by heuristic; hops and label beside it."""
    rows = explanation.attended
    place, left = np.arange(len(rows))[::-1], np.zeros(len(rows))
    for name in explanation.heuristics or [None]:
        part = np.array([100 * row.significance * _part(row, name) for row in rows])
        axes.barh(place, part, left=left, color=colors[name], height=0.72)
        left += part
    for y, end, row in zip(place, left, rows, strict=True):
        agrees = row.label is None or row.label == explanation.prediction
        words = printable(f"  {_remark(row)}")
        axes.text(end, y, words, va="center", fontsize=8, color=INK if agrees else GREY)
    axes.set_yticks(place, [printable(short(row.node)) for row in rows])
    axes.set(xlabel=f"share of {explanation.measured} (%)", xlim=(0, 1.6 * max(left.max(initial=0.0), 1e-9)))


def _part(row: Attended, name: str | None) -> float:
    """A heuristic's part in bringing a node; all of it where there are none."""
    return 1.0 if name is None else row.heuristics[name]


def _remark(row: Attended) -> str:
    hops = "no path" if row.distance is None else f"{row.distance} hop{'s' * (row.distance != 1)}"
    label = "label unknown" if row.label is None else f"label {short(row.label)}"
    return f"{hops}, {label}{', trained on' if row.trained else ''}"


def _draw_surroundings(axes: Any, explanation: Explanation, colors: dict[str | None, str]) -> None:
    places = positions(explanation)
    for one, other in explanation.edges:
        if one in places and other in places:
            axes.plot(*zip(places[one], places[other], strict=True), color=PALE, linewidth=0.7, zorder=1)
    most = max((row.significance for row in explanation.attended), default=1.0)
    for row in explanation.attended:
        width = max(THINNEST, WIDEST * row.significance / max(most, 1e-12))
        line = zip((0.0, 0.0), places[row.node], strict=True)
        color = colors[row.brought_by]
        axes.plot(*line, color=color, linewidth=width, alpha=0.75, solid_capstyle="round", zorder=2)
    labels = {one.node: one.label for one in explanation.neighbours}
    labels |= {row.node: row.label for row in explanation.attended}
    trained = {one.node for one in explanation.neighbours if one.trained}
    trained |= {row.node for row in explanation.attended if row.trained}
    for name, (x, y) in places.items():
        if name == explanation.node:
            axes.plot(x, y, "o", markersize=15, color=INK, zorder=4)
            continue
        same = labels.get(name) == explanation.prediction
        face = "white" if labels.get(name) is None else INK if same else GREY
        edge = "black" if name in trained else GREY
        axes.plot(x, y, "o", markersize=7, markerfacecolor=face, markeredgecolor=edge, zorder=3)
        if name in trained:
            axes.plot(x, y, "o", markersize=11, markerfacecolor="none", markeredgecolor="black", zorder=3)
    for row in explanation.attended[:MOST_NAMED]:
        _name(axes, printable(short(row.node, 14)), places[row.node])
    axes.set_aspect("equal")
    axes.margins(0.16)
    axes.axis("off")


def _name(axes: Any, name: str, place: tuple[float, float]) -> None:
    """Written beside a node, on the side away from the centre."""
    x, y = place
    far = math.hypot(x, y) or 1.0
    horizontal = "left" if x / far > 0.3 else "right" if x / far < -0.3 else "center"
    vertical = "bottom" if y / far > 0.5 else "top" if y / far < -0.5 else "center"
    offset = (9 * x / far, 9 * y / far)
    style = {"fontsize": 8, "ha": horizontal, "va": vertical, "color": INK, "zorder": 5}
    axes.annotate(name, place, offset, textcoords="offset points", **style)


def positions(explanation: Explanation) -> dict[Any, tuple[float, float]]:
    """Where nodes are drawn: the centre in the middle, all others on rings by their hops, near those they are joined to."""
    rings: dict[Any, int] = {row.node: min(row.distance or FAR, FAR) for row in explanation.attended}
    room = CROWDED - sum(ring == 1 for ring in rings.values())
    others = [one.node for one in explanation.neighbours if one.node not in rings]
    rings |= dict.fromkeys(others[: max(room, 0)], 1)
    used = sorted(set(rings.values()))
    radius = {ring: 1.0 + 0.85 * place for place, ring in enumerate(used)}
    joined: dict[Any, list[Any]] = {name: [] for name in rings}
    for one, other in explanation.edges:
        if one in rings and other in rings:
            joined[one].append(other)
            joined[other].append(one)
    angles: dict[Any, float] = {}
    for ring in used:
        members = [name for name in rings if rings[name] == ring]
        angles |= _spread(members, joined, angles)
    found = {explanation.node: (0.0, 0.0)}
    for name, angle in angles.items():
        r = radius[rings[name]]
        found[name] = (r * math.cos(angle), r * math.sin(angle))
    return found


def _spread(members: list[Any], joined: dict[Any, list[Any]], placed: dict[Any, float]) -> dict[Any, float]:
    """Angles of a ring's nodes, evenly apart, in the order of the angles of those they are joined to further inside."""

    def towards(name: Any) -> float:
        inner = [placed[other] for other in joined[name] if other in placed]
        if not inner:
            return math.inf
        middle = math.atan2(sum(map(math.sin, inner)), sum(map(math.cos, inner)))
        return middle % (2 * math.pi)

    order = sorted(members, key=towards)
    step = 2 * math.pi / len(order)
    aims = [(place, towards(name)) for place, name in enumerate(order)]
    shifts = [aim - place * step for place, aim in aims if math.isfinite(aim)]
    start = math.pi / 2
    if shifts:  # turned as a whole, so that nodes come to lie as near as can be to where they want to be
        start = math.atan2(sum(map(math.sin, shifts)), sum(map(math.cos, shifts)))
    start = _free(start, step, len(order), list(placed.values()))
    return {name: start + place * step for place, name in enumerate(order)}


def _free(start: float, step: float, number: int, taken: list[float]) -> float:
    """The start nearest to the given one at which a ring's lines from the centre keep away from the nodes inside it."""
    if not taken:
        return start
    inside = np.array(taken)

    def nearest(turn: float) -> float:
        apart = (start + turn + step * np.arange(number))[:, None] - inside[None, :]
        return float(np.abs(np.arctan2(np.sin(apart), np.cos(apart))).min())

    turns = sorted(((k - TURNS // 2) * step / TURNS for k in range(TURNS + 1)), key=abs)
    return start + max(turns, key=lambda turn: round(nearest(turn), 2))


def _legend(explanation: Explanation, colors: dict[str | None, str]) -> list[Any]:
    """What colours, widths and marks mean."""
    from matplotlib.lines import Line2D

    def line(color: str, width: float, words: str) -> Any:
        return Line2D([], [], color=color, linewidth=width, label=words)

    def mark(face: str, edge: str, words: str, size: float = 7) -> Any:
        style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markersize": size}
        return Line2D([], [], linestyle="", marker="o", label=words, **style)

    brought = [line(colors[name], 5, f"brought by {name}") for name in explanation.heuristics]
    if not brought:
        brought = [line(ACCENT, 5, explanation.measured)]
    most = max((row.significance for row in explanation.attended), default=0.0)
    widths = [
        line(GREY, WIDEST, f"width: share, here {100 * most:.1f} %"),
        line(PALE, 0.8, "edge of the graph"),
    ]
    same = printable(f"label {short(explanation.prediction)}, as predicted here")
    marks = [mark(INK, GREY, same), mark(GREY, GREY, "another label"), mark("white", GREY, "label unknown")]
    if explanation.num_trained is not None:
        marks.append(mark("none", "black", "trained on", 11))
    return [*brought, *widths, *marks]
