"""The plans of the searches, one YAML file each in `study/plans/`: which settings are tried on which data sets.

A file has one of three forms:

- `trials`: groups of `changes`, each a trial's settings over the group's `base`, the same for every data set.
- `cells`: such groups per data set, or per data set and kind of split (`cora@uniform-60-20-20`).
- `draw` with a `space`: trials drawn at random from the values of every setting, over `base`. "independent" draws every
  setting of every trial by itself; "balanced" shuffles each setting's values so that all are equally frequent. `first`
  puts a trial before the draws: the `base` alone, or what is `shipped` (no change at all). `base_of` adds to the base for
  single data sets, and `cells` lists the cells that the plan is for.

A change is over the settings that were shipped at the time. A plan is kept as long as its log is.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "plans"

Settings = dict[str, Any]
Cell = tuple[str, str]
"""Data set and kind of split."""


def plan_names() -> list[str]:
    """The names of all stored plans."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_plan(name: str) -> "Plan":
    """The plan of that name."""
    return Plan(name, yaml.safe_load((FOLDER / f"{name}.yaml").read_text()))


@dataclass(frozen=True)
class Plan:
    """A plan as its file has it."""

    name: str
    content: dict[str, Any]

    def cells(self, datasets: list[str], kinds: list[str], count: int) -> dict[Cell, list[Settings]]:
        """The trials of every cell that the plan has and that is asked for.

        Args:
            count: how many trials a plan has that draws them and does not say itself.
        """
        named = self.content.get("cells")
        if named is None:
            asked = [(dataset, kind) for dataset in datasets for kind in kinds]
        else:
            places = [place.split("@") for place in named]
            found = [(dataset, kind) for dataset, *own in places for kind in own or kinds]
            asked = [(dataset, kind) for dataset, kind in found if dataset in datasets and kind in kinds]
        return {(dataset, kind): self._trials(dataset, kind, count) for dataset, kind in asked}

    def _trials(self, dataset: str, kind: str, count: int) -> list[Settings]:
        if "space" in self.content:
            return self._drawn(dataset, self.content.get("count", count))
        if "trials" in self.content:
            groups = self.content["trials"]
        else:
            cells = self.content["cells"]
            groups = cells.get(f"{dataset}@{kind}", cells.get(dataset))
        return [group.get("base", {}) | change for group in groups for change in group["changes"]]

    def _drawn(self, dataset: str, count: int) -> list[Settings]:
        base = self.content.get("base", {}) | self.content.get("base_of", {}).get(dataset, {})
        firsts: dict[str | None, list[Settings]] = {None: [], "base": [base], "shipped": [{}]}
        first = firsts[self.content.get("first")]
        draw = {"independent": independent, "balanced": balanced}[self.content["draw"]]
        drawn = draw(self.content["space"], count - len(first), self.content["seed"])
        return [*first, *(base | settings for settings in drawn)]


def independent(space: dict[str, list[Any]], count: int, seed: int) -> list[Settings]:
    """`count` points, every setting of every point drawn by itself."""
    rng = random.Random(seed)
    return [{name: rng.choice(values) for name, values in space.items()} for _ in range(count)]


def balanced(space: dict[str, list[Any]], count: int, seed: int = 0) -> list[Settings]:
    """`count` points in which every value of a setting is equally frequent."""
    rng = random.Random(seed)
    columns = {}
    for name, values in space.items():
        column = [values[i % len(values)] for i in range(count)]
        rng.shuffle(column)
        columns[name] = column
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]
