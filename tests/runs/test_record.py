"""What a split's record says of its parts; the rest of it is in test_run.py and test_ensemble.py."""

import json
from pathlib import Path

import numpy as np
import pytest

from ansgt.metrics import METRICS
from ansgt.runs.folder import open_run
from ansgt.runs.record import never_predicted, scores_of
from ansgt.runs.reopen import FinishedRun, evaluate_run


def test_every_metric_of_both_parts_is_stored_and_evaluated_again(tiny_run: Path) -> None:
    run = FinishedRun.open(tiny_run, device="cpu")
    stored = [scores_of(split) for split in run.folder.finished_splits()]
    assert [list(one["test"]) for one in stored] == [list(METRICS)] * 2
    result = evaluate_run(run)
    summary = json.loads((tiny_run / "summary.json").read_text())
    for name in METRICS:
        values = [one["test"][name] for one in stored]
        assert result["scores"]["test"][name]["per_split"] == pytest.approx(values, abs=1e-5)
        assert summary["scores"]["test"][name]["mean"] == pytest.approx(np.mean(values))
    assert stored[0]["test"]["accuracy"] == run.folder.results()[0]["test_accuracy"]
    assert result["official_metric"] == "accuracy"


def test_scores_of_a_record_that_has_none_come_from_its_predictions(tiny_run: Path) -> None:
    split = open_run(tiny_run).split(0)

    class Older(type(split)):  # type: ignore[misc]
        def result(self) -> dict[str, object]:
            return {name: value for name, value in super().result().items() if name != "scores"}

    assert scores_of(Older(split.path)) == scores_of(split)


def test_classes_that_no_other_node_is_given(tiny_run: Path) -> None:
    split = FinishedRun.open(tiny_run, device="cpu").split()
    label = np.arange(128) // 32
    told = np.eye(4)[label]
    assert never_predicted(told, label, split) == []
    told[:, 2] = 0
    assert never_predicted(told, label, split) == [2]
    told[split.train.numpy()[0], 2] = 2  # a node that was trained on does not count
    assert never_predicted(told, label, split) == [2]
