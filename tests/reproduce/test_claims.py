"""The page of claims: every one has a place and a rule, and what it says is computed from records that it names."""

import json
import shutil
from pathlib import Path

import pytest

from ansgt.reproduce.claim import VERDICTS, Finding
from ansgt.reproduce.claims import CLAIMS, Claims, summary
from ansgt.reproduce.records import Records, stored_records
from ansgt.reproduce.task import Setup

PLACES = ("Section", "Appendix")


@pytest.fixture(scope="module")
def rows() -> list[list[str]]:
    [table] = Claims().show(Records(stored_records()), Setup()).tables
    return [[str(entry) for entry in row] for row in table.rows]


def test_at_least_twenty_five_claims_each_with_its_place_and_rule() -> None:
    assert len(CLAIMS) >= 25
    assert len({claim.words for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.place.startswith(PLACES) for claim in CLAIMS)
    assert all(claim.words.endswith(".") for claim in CLAIMS)


def test_each_has_evidence_and_a_verdict(rows: list[list[str]]) -> None:
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(CLAIMS) + 1)]
    assert all(row[4] in VERDICTS for row in rows)
    assert all(len(row[3]) > 20 for row in rows)
    assert not any("nan" in row[3].split() for row in rows)


def test_numbers_behind_a_verdict_name_their_records() -> None:
    shown = Claims().show(Records(stored_records()), Setup())
    assert len(shown.behind) == len(CLAIMS)
    for table in shown.behind:
        for _, _, number in table.numbers():
            assert (number.value is None) == (number.source is None)
            assert number.record.endswith(".json")


def test_a_deleted_record_takes_the_verdict_with_it(tmp_path: Path) -> None:
    records = tmp_path / "records"
    shutil.copytree(stored_records() / "runs", records / "runs")
    name = "runs/ansgt-fixed--chameleon--uniform-60-20-20.json"
    words = "On Chameleon ANS-GT (65.42) is far above HGT (57.20)."

    def verdict() -> tuple[str, str]:
        [table] = Claims().show(Records(records), Setup()).tables
        [row] = [row for row in table.rows if row[2] == words]
        return str(row[3]), str(row[4])

    assert "ANS-GT" in verdict()[0]
    (records / name).unlink()
    assert verdict() == (f"The record {name} is missing.", "cannot tell")


def test_evidence_follows_the_records(tmp_path: Path) -> None:
    """The fixed mixture's accuracies raised by 20 points: adaptive sampling no longer is above it on Chameleon."""
    records = tmp_path / "records"
    shutil.copytree(stored_records() / "runs", records / "runs")
    path = records / "runs" / "ansgt-fixed--chameleon--uniform-60-20-20.json"
    content = json.loads(path.read_text())
    for row in content["splits"]:
        row["test_accuracy"] += 0.2
    path.write_text(json.dumps(content))
    [table] = Claims().show(Records(records), Setup()).tables
    [row] = [row for row in table.rows if str(row[2]).startswith("On Chameleon")]
    assert row[4] == "does not hold"


def test_the_summary_counts() -> None:
    found = [Finding("holds", ""), Finding("holds", ""), Finding("cannot tell", "")]
    assert summary(found) == "Of 3 claims 2 hold, 0 do not hold, 1 cannot be told."
