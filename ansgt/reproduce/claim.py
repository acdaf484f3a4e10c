"""`Claim`: a sentence of the paper that measurements can bear out or not; `Evidence`: the records it is held against."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy import stats

from ansgt.reproduce.item import Item, accuracy
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_accuracy import TableAccuracy, model_task
from ansgt.reproduce.tables import Number
from ansgt.reproduce.task import Setup, TrainedTask
from ansgt.runs.statistics import CONFIDENCE, Cell, Difference, holm, paired_difference

Verdict = Literal["holds", "does not hold", "cannot tell"]
VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "cannot tell")
LEVEL = 0.05
"""p below it, after Holm's correction over the comparisons of a claim, counts as a difference."""


class MissingRecord(Exception):
    """A claim needs a record that is not there; the text is its path."""


@dataclass(frozen=True)
class Finding:
    """What became of a claim.

    Args:
        verdict: by the rule that the claim's function states.
        words: the evidence.
    """

    verdict: Verdict
    words: str


@dataclass
class Evidence:
    """Records for one claim; it remembers every number that was taken from them.

    Args:
        records: all records.
        setup: which split.
        numbers: (what it is, the number), in the order of asking.
    """

    records: Records
    setup: Setup
    numbers: list[tuple[str, Number]] = field(default_factory=list)

    def known(self, name: str, number: Number) -> float:
        """The value of a number, which becomes part of the evidence.

        Raises:
            MissingRecord: there is no record of it.
        """
        self.numbers.append((name, number))
        if number.value is None:
            raise MissingRecord(number.record)
        return number.value

    def cell(self, name: str, task: TrainedTask) -> Cell:
        """All splits of a training."""
        number = accuracy(self.records, task)
        self.known(name, number)
        assert number.source is not None
        return number.source.cell

    def trained(self, model: str, dataset: str) -> Cell:
        """A model with its shipped settings."""
        item: Item = TableAccuracy()
        return self.cell(f"{model} {dataset}", model_task(item, self.setup, model, dataset))


Find = Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Args:
        place: where it stands.
        words: what it says, as printed or shortened.
        find: holds it against the records.
    """

    place: str
    words: str
    find: Find

    def held(self, evidence: Evidence) -> Finding:
        """What became of it; without its records nobody can tell."""
        try:
            return self.find(evidence)
        except MissingRecord as missing:
            return Finding("cannot tell", f"The record {missing} is missing.")


@dataclass(frozen=True)
class Compared:
    """Paired differences, Holm-corrected over all of them."""

    differences: Sequence[Difference]

    @property
    def corrected(self) -> Iterator[tuple[Difference, float | None]]:
        yield from zip(self.differences, holm([d.p for d in self.differences]), strict=True)

    @property
    def above(self) -> list[Difference]:
        """Significantly positive ones."""
        return [d for d, p in self.corrected if p is not None and p < LEVEL and d.mean > 0]

    @property
    def below(self) -> list[Difference]:
        """Significantly negative ones."""
        return [d for d, p in self.corrected if p is not None and p < LEVEL and d.mean < 0]

    @property
    def everywhere(self) -> Verdict:
        """Holds where all are significantly above, does not where any is significantly below."""
        if self.below:
            return "does not hold"
        return "holds" if len(self.above) == len(self.differences) else "cannot tell"

    @property
    def counts(self) -> str:
        """In words."""
        number, higher = len(self.differences), sum(d.mean > 0 for d in self.differences)
        return (
            f"higher in {higher} of {number} comparisons, significantly in {len(self.above)}; "
            f"significantly lower in {len(self.below)}"
        )


def compared(pairs: Sequence[tuple[Cell, Cell]]) -> Compared:
    """One minus the other of every pair, on the splits that both were trained on."""
    return Compared([paired_difference(*on_common_splits(*pair)) for pair in pairs])


def on_common_splits(one: Cell, other: Cell) -> tuple[Cell, Cell]:
    """The same cells with the splits alone that both have; a data set that was cut anew has none in common."""
    common = [split for split in one.split_hashes if split in other.split_hashes]
    if not common:
        raise MissingRecord(f"of {other.model} and {one.model} on the same splits of {one.dataset}")
    return _part(one, common), _part(other, common)


def _part(cell: Cell, splits: Sequence[str]) -> Cell:
    found = dict(zip(cell.split_hashes, cell.per_split, strict=True))
    return replace(cell, split_hashes=tuple(splits), per_split=tuple(found[split] for split in splits))


def gaps(one: Cell, other: Cell) -> np.ndarray:
    """One minus the other in points, per common split."""
    first, second = on_common_splits(one, other)
    return 100 * np.subtract(first.per_split, second.per_split)


@dataclass(frozen=True)
class Gap:
    """The mean of some differences in points, its 95 % t interval, and p of the two-sided test that it is 0."""

    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def positive(self) -> Verdict:
        """Of the claim that it is above 0."""
        if self.p is None or self.p >= LEVEL:
            return "cannot tell"
        return "holds" if self.mean > 0 else "does not hold"

    def __str__(self) -> str:
        if self.p is None or self.low is None or self.high is None:
            return f"{self.mean:+.2f} (one pair: no test)"
        return f"{self.mean:+.2f} (95 % interval {self.low:+.2f} to {self.high:+.2f}, {p_words(self.p)})"


def gap_of(differences: Sequence[float] | np.ndarray) -> Gap:
    """Of paired differences in points.

    >>> print(gap_of([2.0]))
    +2.00 (one pair: no test)
    >>> gap_of([1.0, 2.0, 3.0]).p < 0.1
    True
    """
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return Gap(mean)
    error = float(stats.sem(values))
    if error < 1e-12:  # the same difference everywhere: no spread to test against
        return Gap(mean, mean, mean, 1.0 if abs(mean) < 1e-12 else 0.0)
    low, high = stats.t.interval(CONFIDENCE, len(values) - 1, loc=mean, scale=error)
    return Gap(mean, float(low), float(high), float(stats.ttest_1samp(values, 0.0).pvalue))


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Of a claim that says several things: it falls with any of them."""
    for verdict in ("does not hold", "cannot tell"):
        if verdict in verdicts:
            return verdict
    return "holds"


def p_words(p: float) -> str:
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def percent(cell: Cell) -> float:
    """Mean accuracy in per cent."""
    assert cell.mean is not None
    return 100 * cell.mean
