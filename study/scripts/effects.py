"""What each setting does on average, from a search whose trials changed many at once; and what to train again.

    python -m study.scripts.effects ansgt-drawn-webkb.jsonl

With settings drawn independently, a setting's effect is the difference between the means of its levels, and every run
tells something about every setting: n runs weigh each effect as n runs would that changed nothing else. Validation
only.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from study.records import Row, read_log

SCORE = "crossed_accuracy"


@dataclass(frozen=True)
class Effect:
    """A setting's level: points of accuracy over the setting's first level, their standard error, runs."""

    setting: str
    level: Any
    points: float
    error: float
    runs: int


def varied(rows: list[Row]) -> dict[str, list[Any]]:
    """Setting -> its levels in the order of their size, for settings with more than one level in the drawn trials."""
    levels: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name, value in row["settings"].items():
            if value not in levels[name]:
                levels[name].append(value)
    return {name: sorted(values) for name, values in levels.items() if len(values) > 1}


def main_effects(rows: list[Row]) -> list[Effect]:
    """Every level's effect; rows without settings (the shipped trial) take no part.

    Least squares on the means of trials, after the mean of every data set and split is taken away: a trial, not a run,
    is what was drawn, so the errors also hold what settings do together. [] where there are too few trials.
    """
    rows = [row for row in rows if row["settings"]]
    levels = varied(rows)
    columns = [(name, value) for name, values in levels.items() for value in values[1:]]
    by_block: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        by_block[row["dataset"], row["split"]].append(100 * row[SCORE])
    deviations: dict[str, list[float]] = defaultdict(list)
    settings_of = {}
    for row in rows:
        key = json.dumps(row["settings"], sort_keys=True)
        settings_of[key] = row["settings"]
        deviations[key].append(100 * row[SCORE] - float(np.mean(by_block[row["dataset"], row["split"]])))
    design = np.array(
        [[1.0, *(float(s[name] == value) for name, value in columns)] for s in settings_of.values()]
    )
    scores = np.array([np.mean(deviations[key]) for key in settings_of])
    freedom = len(scores) - design.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return []
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ scores
    errors = np.sqrt(np.diag(inverse) * float(((scores - design @ found) ** 2).sum()) / freedom)
    place_of = {column: place for place, column in enumerate(columns, start=1)}
    effects = []
    for name, values in levels.items():
        for value in values:
            at = place_of.get((name, value))
            runs = sum(row["settings"][name] == value for row in rows)
            points, error = (0.0, 0.0) if at is None else (found[at], errors[at])
            effects.append(Effect(name, value, float(points), float(error), runs))
    return effects


def best_levels(rows: list[Row]) -> dict[str, Any]:
    """The setting made of every setting's best level, with what all drawn trials share; {} where effects are unknown."""
    best: dict[str, Effect] = {}
    for effect in main_effects(rows):
        if effect.setting not in best or effect.points > best[effect.setting].points:
            best[effect.setting] = effect
    if not best:
        return {}
    shared = next(row["settings"] for row in rows if row["settings"])
    return shared | {name: effect.level for name, effect in best.items()}


def ranked(rows: list[Row]) -> list[tuple[float, dict[str, Any], int]]:
    """Mean score, settings and runs of every trial, the best first; only trials that have all the splits others have."""
    trials: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        trials[json.dumps(row["settings"], sort_keys=True)].append(row)
    complete = max(map(len, trials.values()))
    means = [
        (float(np.mean([100 * row[SCORE] for row in of])), of[0]["settings"], len(of))
        for of in trials.values()
        if len(of) == complete
    ]
    return sorted(means, key=lambda mean: -mean[0])


def second_round(rows: list[Row], top: int = 3) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(data set, kind) -> what to train again with other seeds.

    The shipped setting, the `top` trials of that data set, the `top` of all data sets together, and the two settings of
    best levels, each setting once.
    """
    cells = sorted({(row["dataset"], row["kind"]) for row in rows})
    plans = {}
    for dataset, kind in cells:
        own = [row for row in rows if (row["dataset"], row["kind"]) == (dataset, kind)]
        several = (own, rows) if len(cells) > 1 else (own,)
        chosen: list[dict[str, Any]] = [{}]
        for part in several:
            chosen += [best_levels(part), *(settings for _, settings, _ in ranked(part)[:top])]
        plans[dataset, kind] = [s for i, s in enumerate(chosen) if s not in chosen[:i]]
    return plans


def finished(rows: list[Row]) -> list[Row]:
    """The rows of a search's log that are not errors."""
    return [row for row in rows if "error" not in row]


def lines(rows: list[Row]) -> Iterable[str]:
    names = sorted({row["dataset"] for row in rows})
    for part in ([[name] for name in names] if len(names) > 1 else []) + [names]:
        own = [row for row in rows if row["dataset"] in part]
        yield f"# {' '.join(part)}: {len(own)} runs"
        shipped = [100 * row[SCORE] for row in own if not row["settings"]]
        if shipped:
            yield f"shipped {np.mean(shipped):.2f}"
        for mean, settings, runs in ranked(own)[:5]:
            yield f"{mean:.2f} ({runs} runs) {json.dumps(settings)}"
        effects = main_effects(own)
        if not effects:
            yield "too few trials to tell the settings' effects apart"
        for effect in effects:
            yield f"{effect.setting:20} {effect.level!s:8} {effect.points:+.2f} ± {effect.error:.2f} ({effect.runs})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path, help="a file, or the name of one in the archive")
    for line in lines(finished(read_log(parser.parse_args().log))):
        print(line)


if __name__ == "__main__":
    main()
