"""How a claim is held against records: pairs of splits, corrected tests, missing records."""

from pathlib import Path

import numpy as np
import pytest

from ansgt.reproduce.claim import Claim, Evidence, Finding, MissingRecord, all_of, compared, gap_of, gaps
from ansgt.reproduce.records import Records
from ansgt.reproduce.task import Setup
from ansgt.runs.statistics import Cell

SPLITS = ("a", "b", "c", "d", "e")


def cell(model: str, *accuracies: float, splits: tuple[str, ...] = SPLITS) -> Cell:
    return Cell(
        model,
        "cora",
        per_split=accuracies,
        mean=float(np.mean(accuracies)),
        split_hashes=splits[: len(accuracies)],
    )


def test_only_common_splits_are_compared() -> None:
    one, other = cell("one", 0.9, 0.8, 0.7), cell("other", 0.5, 0.6, splits=("c", "a"))
    assert gaps(one, other) == pytest.approx([30.0, 20.0])  # a: .9 - .6, c: .7 - .5


def test_cells_without_a_common_split_are_missing_and_not_wrong() -> None:
    with pytest.raises(MissingRecord, match="of two and one on the same splits of cora"):
        gaps(cell("one", 0.9), cell("two", 0.8, splits=("z",)))


def test_everywhere_needs_significance_everywhere() -> None:
    base = cell("base", 0.50, 0.51, 0.52, 0.53, 0.54)
    better = cell("better", 0.60, 0.62, 0.61, 0.64, 0.65)
    like = cell("like", 0.51, 0.50, 0.53, 0.52, 0.54)
    assert compared([(better, base)]).everywhere == "holds"
    assert compared([(better, base), (like, base)]).everywhere == "cannot tell"
    assert compared([(better, base), (base, better)]).everywhere == "does not hold"
    assert compared([(better, base), (base, better)]).counts == (
        "higher in 1 of 2 comparisons, significantly in 1; significantly lower in 1"
    )


def test_many_comparisons_are_corrected() -> None:
    """p of 0.03 counts alone, and not among ten."""
    base = cell("base", 0.50, 0.50, 0.50, 0.50, 0.50)
    above = cell("above", 0.51, 0.53, 0.50, 0.54, 0.52)
    [alone] = compared([(above, base)]).differences
    assert alone.p is not None
    assert 0.005 < alone.p < 0.05
    assert compared([(above, base)]).everywhere == "holds"
    assert compared([(above, base)] * 10).everywhere == "cannot tell"


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([1.0, 1.1, 0.9], "holds"),
        ([-1.0, -1.1, -0.9], "does not hold"),
        ([1.0, -1.0], "cannot tell"),
        ([5.0], "cannot tell"),
    ],
)
def test_a_gap_is_positive_by_its_test(differences: list[float], verdict: str) -> None:
    assert gap_of(differences).positive == verdict


def test_a_claim_of_several_things_falls_with_any() -> None:
    assert all_of(["holds", "cannot tell", "does not hold"]) == "does not hold"
    assert all_of(["holds", "cannot tell"]) == "cannot tell"
    assert all_of(["holds", "holds"]) == "holds"


def test_without_its_record_nobody_can_tell(tmp_path: Path) -> None:
    def find(evidence: Evidence) -> Finding:
        return Finding("holds", f"{evidence.trained('gcn', 'cora').mean}")

    evidence = Evidence(Records(tmp_path), Setup())
    finding = Claim("Section 1", "It is good.", find).held(evidence)
    assert finding.verdict == "cannot tell"
    assert finding.words == "The record runs/gcn--cora--uniform-60-20-20.json is missing."
    assert list(evidence.records.missing) == ["runs/gcn--cora--uniform-60-20-20.json"]
