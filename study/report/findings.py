"""What the results page says in sentences: which comparisons ANS-GT wins and loses, computed from the records."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from ansgt.reproduce.paper import ACCURACY, NINE
from ansgt.reproduce.records import VARIANTS, ablation_cells, gap, read_cells
from ansgt.runs.statistics import Cell


def findings(runs: Path, kind: str) -> str:
    """One bullet per question; a data set that lacks a record is left out of that question's count."""
    cells = read_cells(runs, kind)
    ours = {cell.dataset: cell.mean for cell in cells if cell.model == "ansgt" and cell.mean is not None}
    alone = {c.dataset: fmean(c.one_model) for c in cells if c.model == "ansgt" and c.one_model}
    bullets = [_against_paper(ours), _against_baselines(ours, cells)]
    if alone:
        bullets.append("With one model a split. " + _against_baselines(alone, cells))
    rows = {name: found for name in NINE if (found := ablation_cells(runs, name, kind))}
    bullets += [_against_fixed(rows), _against_singles(rows)]
    return "\n".join(f"- {bullet}" for bullet in bullets if bullet) + "\n"


def _against_paper(ours: dict[str, float]) -> str:
    printed = ACCURACY["ansgt"]
    above = [name for name in NINE if name in ours and 100 * ours[name] >= printed[name]]
    below = [
        f"{name} ({100 * ours[name] - printed[name]:+.2f})"
        for name in NINE
        if name in ours and name not in above
    ]
    return f"At or above the paper's figure: {_listed(above)}. Below: {_listed(below)}."


def _against_baselines(ours: dict[str, float], cells: Sequence[Cell]) -> str:
    parts = []
    for name in (name for name in NINE if name in ours):
        others = [
            c for c in cells if c.dataset == name and c.mean is not None and not c.model.startswith("ansgt")
        ]
        better = [c for c in others if c.mean > ours[name]]  # type: ignore[operator]
        parts.append(f"{name} {len(better)} of {len(others)}")
    return f"Baselines with a higher mean than ANS-GT: {', '.join(parts)}."


def _against_fixed(rows: dict[str, dict[str, Cell]]) -> str:
    gaps = {name: points for name, row in rows.items() if (points := gap(row, VARIANTS[:1])) is not None}
    if not gaps:
        return ""
    words = (
        f"Adaptive against the fixed mixture, {len(gaps)} data sets: "
        f"{sum(round(points, 2) > 0 for points in gaps.values())} above, {_lowest(gaps)}."
    )
    alone = {name: points for name in gaps if (points := gap(rows[name], VARIANTS[:1], True)) is not None}
    return words if alone == gaps else f"{words} Single models, on average: {_lowest(alone)}."


def _lowest(gaps: dict[str, float]) -> str:
    worst = min(gaps, key=lambda name: gaps[name])
    lost = [name for name, points in gaps.items() if points < -0.5]
    return f"at worst {gaps[worst]:+.2f} ({worst}); more than half a point below on {_listed(lost)}"


def _against_singles(rows: dict[str, dict[str, Cell]]) -> str:
    gaps, alone = (
        {name: points for name, row in rows.items() if (points := gap(row, VARIANTS[1:], one)) is not None}
        for one in (False, True)
    )
    if not gaps:
        return ""
    words = f"Adaptive against the best single heuristic (chosen on test, so in the single one's favour): {_near(gaps)}."
    return words if alone == gaps else f"{words} Single models, on average: {_near(alone)}."


def _near(gaps: dict[str, float]) -> str:
    far = [f"{name} ({points:+.2f})" for name, points in gaps.items() if points < -1.0]
    return (
        f"within a point or above on {len(gaps) - len(far)} of {len(gaps)}; further below on {_listed(far)}"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
