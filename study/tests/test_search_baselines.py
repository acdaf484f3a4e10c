"""The search of the baselines' settings: what is drawn today is what the archived logs hold."""

from pathlib import Path
from typing import Any

import pytest

from study.records import KINDS, read_log
from study.scripts.search_baselines import as_texts, key_of, run_trial, trial_settings

JOB: dict[str, Any] = {
    "model": "mlp",
    "dataset": "newman",
    "trial": 1,
    "split": KINDS[0],
    "num_splits": 2,
    "seed": 0,
    "device": "cpu",
    "threads": 1,
    "root": "data",
}


@pytest.mark.parametrize("kind", KINDS)
def test_trials_are_those_of_the_log(kind: str) -> None:
    """Apart from GCN's of the first search, whose space had one setting more."""
    logged = read_log(f"{kind}.jsonl")
    lines = [line for line in logged if line["model"] != "gcn" or "residual" not in str(line["overrides"])]
    assert len(lines) > 300
    for line in lines:
        assert line["overrides"] == as_texts(trial_settings(line["model"], line["dataset"], line["trial"]))


def test_a_trial_is_a_line_with_the_validation_accuracy_of_every_split(tmp_path: Path) -> None:
    line = run_trial({**JOB, "cache_dir": str(tmp_path)})
    assert line["error"] is None
    assert len(line["val_per_split"]) == 2
    assert line["val_accuracy"] == pytest.approx(sum(line["val_per_split"]) / 2)
    assert line["overrides"] == as_texts(trial_settings("mlp", "newman", 1))
    assert key_of(line) == ("mlp", "newman", 1, 2, 0)
    assert not any(name.startswith("test") for name in line)


def test_a_trial_that_fails_is_a_line_with_its_error(tmp_path: Path) -> None:
    line = run_trial({**JOB, "dataset": "nowhere", "cache_dir": str(tmp_path)})
    assert line["val_accuracy"] is None
    assert "nowhere" in line["error"]
