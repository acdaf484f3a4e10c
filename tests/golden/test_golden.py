"""Short runs give the losses and classes they always gave."""

import json
from pathlib import Path

import pytest
from bits import CASES, Case, run

EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_golden(case: Case, root: Path, tmp_path: Path) -> None:
    expected = EXPECTED[case.name]
    outcome = run(case, tmp_path, str(root))
    assert outcome.losses == pytest.approx(expected["losses"], abs=1e-4)
    pairs = list(zip(outcome.classes, expected["classes"], strict=True))
    assert [(one, other) for one, other in pairs if one != other and "." not in (one, other)] == []
