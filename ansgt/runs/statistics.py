"""Statistics of a comparison: mean and spread, paired differences with an interval, a corrected test."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ansgt.metrics import METRICS, Metric
from ansgt.runs.record import models_of
from ansgt.table import Table

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Cell:
    """One model on one data set over the splits.

    Args:
        model, dataset: names.
        variant: version of the data set.
        per_split: test accuracies, in the order of the splits; [] where the cell failed.
        mean, std: over the splits (population); None where the cell failed.
        val_mean: mean validation accuracy of the selected epochs.
        seconds: training time, summed over the splits.
        peak_bytes: largest memory while training: of the device on CUDA, else of the worker process.
        num_parameters: trained numbers.
        split_hashes: one a split; cells compare only where these agree.
        run_dir: its record.
        error: one sentence, or None.
        num_models: models per split, whose mean predicts.
        one_model: where there are several, a split's mean test accuracy of each by itself.
        scores: metric -> its test value in every split; `per_split`, `mean` and `std` are of one of them, `val_mean` too.
        val_scores: metric -> its mean over the splits' validation parts.
        guess: mean share of the test parts' most frequent class, which is the accuracy of a constant guess.
    """

    model: str
    dataset: str
    variant: str | None = None
    per_split: tuple[float, ...] = ()
    mean: float | None = None
    std: float | None = None
    val_mean: float | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    num_parameters: int | None = None
    split_hashes: tuple[str, ...] = ()
    run_dir: str | None = None
    error: str | None = None
    num_models: int = 1
    one_model: tuple[float, ...] = ()
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    val_scores: Mapping[str, float] = field(default_factory=dict)
    guess: float | None = None

    def by(self, metric: Metric) -> "Cell":
        """The same cell, compared by another metric."""
        if self.error is not None or metric.name not in self.scores:
            return self
        values = self.scores[metric.name]
        mean, std = float(np.mean(values)), float(np.std(values))
        return replace(self, per_split=values, mean=mean, std=std, val_mean=self.val_scores.get(metric.name))

    def in_words(self, metric: Metric) -> str:
        """Mean ± std; `metric` is what they are of."""
        if self.mean is None or self.std is None:
            return "failed"
        return f"{metric.scale * self.mean:.2f} ± {metric.scale * self.std:.2f}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `restarts` is what version 0.1 calls the number of models."""
        return {**asdict(self), "restarts": self.num_models}


class Cells(list[Cell]):
    """What `Comparison.run` returns: cells, which a notebook shows as a table of test accuracies."""

    def table(self, metric: Metric = METRICS["accuracy"]) -> Table:
        """Scores by model and data set, mean ± std over the splits; the best of a data set stands out."""
        cells = Cells(cell.by(metric) for cell in self)
        datasets = list(dict.fromkeys(cell.dataset for cell in cells))
        models = list(dict.fromkeys(cell.model for cell in cells))
        at = {(cell.model, cell.dataset): cell for cell in cells}
        variants = {cell.dataset: cell.variant for cell in cells if cell.variant}
        guesses = {cell.dataset: cell.guess for cell in cells if cell.guess is not None}
        rows = [[m, *(at[m, d].in_words(metric) for d in datasets)] for m in models]
        if guesses:
            what = "" if metric.name == "accuracy" else ", accuracy %"
            rows.append([f"a constant guess{what}", *(_guess(guesses.get(d)) for d in datasets)])
        best = frozenset(
            (i, j)
            for i, m in enumerate(models)
            for j, d in enumerate(datasets, 1)
            if cells._is_best(at[m, d], metric)
        )
        head = [f"{d} ({variants[d]})" if d in variants else d for d in datasets]
        return Table(["model", *head], rows, f"test {metric.words}{metric.unit}", best=best)

    def _is_best(self, cell: Cell, metric: Metric) -> bool:
        means = [
            metric.sign * other.mean
            for other in self
            if other.dataset == cell.dataset and other.mean is not None
        ]
        return cell.mean is not None and metric.sign * cell.mean == max(means)

    def __repr__(self) -> str:
        return f"Cells({len(self)}: {', '.join(f'{cell.model} on {cell.dataset}' for cell in self[:3])}, ...)"

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def _guess(share: float | None) -> str:
    return "-" if share is None or share != share else f"{100 * share:.2f}"


def models_alone(splits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`num_models` and `one_model` of a cell, from the records of its splits."""
    alone = [[one["test_accuracy"] for one in models_of(split)] for split in splits]
    means = tuple(float(np.mean(values)) for values in alone if values)
    return {"num_models": max([1, *map(len, alone)]), "one_model": means}


@dataclass(frozen=True)
class Difference:
    """A model minus the reference on one data set, split by split.

    Args:
        mean: mean of the paired differences.
        low, high: 95 % t interval of that mean; None with a single split.
        p: of the two-sided paired t-test.
        p_holm: the same after Holm's correction over all differences of the table.
    """

    model: str
    reference: str
    dataset: str
    mean: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def paired_differences(cells: Sequence[Cell], reference: str) -> list[Difference]:
    """Every finished cell against the reference on the same data set and the same splits, Holm-corrected over all."""
    base = {cell.dataset: cell for cell in cells if cell.model == reference and cell.error is None}
    raw = [
        paired_difference(cell, base[cell.dataset])
        for cell in cells
        if cell.model != reference and cell.error is None and cell.dataset in base
    ]
    corrected = holm([d.p for d in raw])
    return [Difference(**{**d.as_dict(), "p_holm": p}) for d, p in zip(raw, corrected, strict=True)]


def paired_difference(cell: Cell, reference: Cell) -> Difference:
    """Mean, t interval and paired t-test of cell minus reference; splits must be the same."""
    from scipy import stats  # a second of work, which most commands do without

    if cell.split_hashes != reference.split_hashes:
        raise ValueError(f"{cell.model} and {reference.model} ran on other splits of {cell.dataset}.")
    gaps = np.subtract(cell.per_split, reference.per_split)
    names = (cell.model, reference.model, cell.dataset)
    mean = float(gaps.mean())
    if len(gaps) < 2:
        return Difference(*names, mean, None, None, None)
    error = float(stats.sem(gaps))
    if error < 1e-12:  # the same gap on every split: no spread to test against
        return Difference(*names, mean, mean, mean, 1.0 if abs(mean) < 1e-12 else 0.0)
    low, high = stats.t.interval(CONFIDENCE, len(gaps) - 1, loc=mean, scale=error)
    p = float(stats.ttest_1samp(gaps, 0.0).pvalue)
    return Difference(*names, mean, float(low), float(high), p)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction; None stays None and is not counted.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = [(p, at) for at, p in enumerate(p_values) if p is not None]
    out: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, at) in enumerate(sorted(known)):
        largest = max(largest, min(1.0, round((len(known) - rank) * p, 15)))
        out[at] = largest
    return out


def choose_reference(cells: Sequence[Cell], metric: Metric = METRICS["accuracy"]) -> str:
    """The model with the best mean rank over the data sets it finished: what the others are compared with by default."""
    from scipy import stats

    ranks: dict[str, list[float]] = {}
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        done = [cell for cell in cells if cell.dataset == dataset and cell.mean is not None]
        for cell, rank in zip(done, stats.rankdata([-metric.sign * c.mean for c in done]), strict=True):  # type: ignore[operator]
            ranks.setdefault(cell.model, []).append(float(rank))
    if not ranks:
        return cells[0].model
    return min(ranks, key=lambda model: (-len(ranks[model]), float(np.mean(ranks[model]))))
