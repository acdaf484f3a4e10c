"""Figures 6, 7 and 8: accuracy over the number of layers, super-nodes, global nodes and sequences, one changed at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ansgt.config import shipped_file
from ansgt.plotting import COLORS, GREY
from ansgt.reproduce.item import Item, Picture, Shown, accuracy
from ansgt.reproduce.paper import RECOMMENDED
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_coarsening import HIERARCHY, hierarchy_task
from ansgt.reproduce.tables import Number, Table
from ansgt.reproduce.task import PAPER_FILE, Setup, TrainedTask
from ansgt.runs.prepare import Request, build_config
from ansgt.runs.statistics import Cell

BASE = "base"
REMARK = (
    "One setting is changed at a time; the others stay at the base: {base} (the black point). All points are means over "
    "the same splits, of which there are {splits} here; the band is one standard deviation. The paper's figures have no "
    "numbers in its source; its text puts the best layers, super-nodes, global nodes and sequences for Cora at "
    "{recommended}."
)


class Knob(NamedTuple):
    """A setting that is varied: its symbol, what it is, and its values; the quick ones are every second."""

    symbol: str
    words: str
    values: tuple[int, ...]


KNOBS = {
    "num_layers": Knob("L", "layers", (1, 2, 3, 4, 5, 6, 8)),
    "num_supernodes": Knob("n_s", "super-nodes", (0, 1, 3, 5, 7, 9)),
    "num_global": Knob("n_g", "global nodes", (0, 1, 2, 3, 4)),
    "num_augmentations": Knob("S", "sequences per node", (1, 2, 4, 8, 16)),
}


class FigSensitivity(Item):
    """One data set: four curves."""

    dataset: ClassVar[str]

    def tasks(self, setup: Setup) -> Sequence[TrainedTask]:
        found = {
            task.path: task for curve in self.curves(setup).values() for task in curve.values()
        }  # the base is on all four curves
        return list(found.values())

    def curves(self, setup: Setup) -> Mapping[str, Mapping[int, TrainedTask]]:
        """Setting -> value -> what trains it."""
        base = self.base(setup)
        found: dict[str, dict[int, TrainedTask]] = {}
        for key, knob in KNOBS.items():
            values = knob.values[::3] if setup.quick else knob.values
            found[key] = {
                value: self._task(setup, base, key, value) for value in sorted({*values, base[key]})
            }
        return found

    def base(self, setup: Setup) -> dict[str, int]:
        """The four settings where none is changed."""
        request = Request(self.dataset, "ansgt", setup.split)
        paper = setup.preset == "paper"
        config = build_config(
            request, shipped_file(PAPER_FILE) if paper else None, {} if paper else HIERARCHY
        )
        return {key: config.settings[key] for key in KNOBS}

    def _task(self, setup: Setup, base: dict[str, int], key: str, value: int) -> TrainedTask:
        if value == base[key]:
            return hierarchy_task(self, setup, self.dataset, BASE)
        return hierarchy_task(self, setup, self.dataset, f"{key}-{value}", **{key: value})

    def numbers(self, records: Records, setup: Setup) -> dict[str, dict[int, Number]]:
        """Setting -> its value -> accuracy over the splits that all points have."""
        found = {
            key: {value: accuracy(records, task) for value, task in curve.items()}
            for key, curve in self.curves(setup).items()
        }
        known = [number for curve in found.values() for number in curve.values() if number.source]
        splits = common_splits([number.source.cell for number in known if number.source])
        return {
            key: {value: over_splits(number, splits) for value, number in curve.items()}
            for key, curve in found.items()
        }

    def show(self, records: Records, setup: Setup) -> Shown:
        curves = self.numbers(records, setup)
        tables = [
            Table(
                f"Accuracy (mean ± std, %) over {KNOBS[key].symbol}, {KNOBS[key].words}. Split: {setup.split}.",
                [KNOBS[key].symbol, *map(str, curve)],
                [[self.dataset, *curve.values()]],
            )
            for key, curve in curves.items()
        ]
        base = self.base(setup)
        words = ", ".join(f"{KNOBS[key].symbol} = {value}" for key, value in base.items())
        recommended = ", ".join(f"{KNOBS[key].symbol} = {value}" for key, value in RECOMMENDED.items())
        counts = {number.count for curve in curves.values() for number in curve.values() if number.count}
        remark = REMARK.format(base=words, recommended=recommended, splits=max(counts, default=0))
        paper = RECOMMENDED if self.dataset == "cora" else {}
        picture = Picture(self.title, lambda axes: _draw(axes, curves, base, paper), 7.6, 2.4, len(KNOBS))
        known = any(number.source for curve in curves.values() for number in curve.values())
        return Shown(tables, [remark, *map(peak, curves.items())], [picture] if known else [])


class FigSensitivityCora(FigSensitivity):
    name, place, dataset = "fig-sensitivity-cora", "Figure 6", "cora"
    title = "Accuracy on Cora over layers, super-nodes, global nodes and sequences."


class FigSensitivityCiteseer(FigSensitivity):
    name, place, dataset = "fig-sensitivity-citeseer", "Figure 7", "citeseer"
    title = "Accuracy on Citeseer over layers, super-nodes, global nodes and sequences."


class FigSensitivityActor(FigSensitivity):
    name, place, dataset = "fig-sensitivity-actor", "Figure 8", "actor"
    title = "Accuracy on Actor over layers, super-nodes, global nodes and sequences."


def common_splits(cells: Sequence[Cell]) -> list[str]:
    """Hashes of the splits that all cells have: points of a curve compare on these alone."""
    if not cells:
        return []
    return [one for one in cells[0].split_hashes if all(one in cell.split_hashes for cell in cells)]


def over_splits(number: Number, splits: Sequence[str]) -> Number:
    """The same number over some of its splits."""
    if number.source is None:
        return number
    cell = number.source.cell
    found = dict(zip(cell.split_hashes, cell.per_split, strict=True))
    values = 100 * np.array([found[split] for split in splits])
    spread = float(values.std()) if len(values) > 1 else None
    return replace(number, value=float(values.mean()), spread=spread, count=len(values))


def peak(curve: tuple[str, Mapping[int, Number]]) -> str:
    """Where a curve is highest, in words."""
    key, numbers = curve
    known = {value: number.value for value, number in numbers.items() if number.value is not None}
    if len(known) < len(numbers):
        return f"{KNOBS[key].symbol}: {len(numbers) - len(known)} of {len(numbers)} points are missing."
    top = max(known, key=lambda value: known[value])
    spread = max(known.values()) - min(known.values())
    return f"{KNOBS[key].symbol}: highest at {top} ({known[top]:.2f}); highest and lowest are {spread:.2f} apart."


def _draw(
    axes: Any, curves: Mapping[str, Mapping[int, Number]], base: Mapping[str, int], paper: Mapping[str, int]
) -> None:
    color = COLORS["1-hop"]
    for axis, (key, curve) in zip(axes, curves.items(), strict=True):
        knob = KNOBS[key]
        known = {value: number for value, number in curve.items() if number.value is not None}
        x = np.array(list(known), dtype=float)
        place = np.log2(x) if key == "num_augmentations" else x
        mean = np.array([number.value for number in known.values()], dtype=float)
        spread = np.array([number.spread or 0.0 for number in known.values()])
        axis.fill_between(place, mean - spread, mean + spread, color=color, alpha=0.18, linewidth=0)
        axis.plot(place, mean, color=color, marker="o", markersize=3.5, linewidth=1.6)
        at = dict(zip(known, place, strict=True))
        if base[key] in at:
            axis.plot(at[base[key]], mean[list(known).index(base[key])], "o", color="black", markersize=5.5)
        if key in paper and paper[key] in at:
            axis.axvline(at[paper[key]], color=GREY, linewidth=0.9, linestyle=":")
        axis.set_xticks(place, [str(value) for value in known])
        axis.set_xlabel(f"{knob.symbol} ({knob.words})", fontsize=8.5)
        axis.tick_params(labelsize=8)
    low = min(axis.get_ylim()[0] for axis in axes)
    high = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(low, high)
    axes[0].set_ylabel("test accuracy (%)", fontsize=8.5)
