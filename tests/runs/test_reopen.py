"""Runs and classifiers of version 0.1 still open, and predict what they predicted."""

import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ansgt import NodeClassifier
from ansgt.errors import InputError
from ansgt.links import Origin
from ansgt.runs.folder import SplitFolder, by_model, open_run
from ansgt.runs.record import models_of
from ansgt.runs.reopen import (
    FinishedRun,
    _stored_probabilities,
    _with_own,
    evaluate_run,
    finished,
    temperature_of,
)

STORED = Path(__file__).parents[1] / "fixtures" / "version-0.1.tar.gz"
"""A run of two ANS-GT models, a saved classifier of ANS-GT and one of GCN, as version 0.1 stored them."""


@pytest.fixture
def old(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """One of the records, unpacked."""
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / request.param


@pytest.mark.parametrize("old", ["run-0.1"], indirect=True)
def test_an_old_run_of_two_models(old: Path, tmp_path: Path) -> None:
    run = FinishedRun.open(old, device="cpu", cache_dir=tmp_path / "cache")
    assert run.config.model_name == "ansgt"
    assert run.config.train.num_models == 2
    assert evaluate_run(run)["matches_record"]
    result = run.folder.results()[0]
    assert [model["test_accuracy"] for model in models_of(result)] == pytest.approx([4 / 13, 5 / 13])
    assert len(by_model(run.folder.split(0).metrics())) == 2
    explanation = run.trained().explain(7)
    assert sum(explanation.kinds.values()) == pytest.approx(1)


@pytest.mark.parametrize("old", ["classifier-0.1", "classifier-gcn-0.1"], indirect=True)
def test_an_old_classifier(old: Path, tmp_path: Path) -> None:
    classifier = NodeClassifier.load(old, device="cpu", cache_dir=tmp_path / "cache")
    stored = open_run(old).split(0).predictions()["probabilities"]
    assert np.array_equal(classifier.predict_proba(), stored)
    nodes = torch.arange(classifier.graph_.num_nodes)
    np.testing.assert_allclose(classifier.trained_.predict_proba(nodes), stored, atol=1e-5)
    classifier.save(tmp_path / "new")
    again = NodeClassifier.load(tmp_path / "new", device="cpu", cache_dir=tmp_path / "cache")
    assert np.array_equal(again.predict(), classifier.predict())


@pytest.mark.parametrize("old", ["classifier-0.1"], indirect=True)
def test_predicting_touches_nothing_that_learns(old: Path, tmp_path: Path) -> None:
    """Neither for the training graph nor for another one: no optimizer, no bandit, no split of another graph."""
    script = f"""
import sys, ansgt
from ansgt import NodeClassifier
clf = NodeClassifier.load({str(old)!r}, device="cpu", cache_dir={str(tmp_path)!r})
clf.predict()
assert not [name for name in sys.modules if name.startswith(("ansgt.pipeline", "ansgt.coarsening"))]
ours = [name for name, module in sys.modules.items() if name.split(".")[0] == "ansgt" and module.__file__]
assert len(ours) <= 25, ours
clf.predict(ansgt.load_dataset("newman"))
clf.explain(3)
print(*[name for name in sys.modules if name.startswith(("ansgt.training", "ansgt.runs.run"))])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ansgt.runs"] or done.stdout.split() == []


@pytest.mark.parametrize("split", [0, 1])
def test_a_single_split_that_does_not_match_its_record_is_told(
    split: int, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(folder: SplitFolder, probabilities: np.ndarray) -> np.ndarray:
        return probabilities[::-1] if folder.path.name == f"split-{split}" else probabilities

    monkeypatch.setattr("ansgt.runs.reopen._stored_probabilities", other)
    assert not evaluate_run(FinishedRun.open(tiny_run, device="cpu"))["matches_record"]


def test_predictions_are_those_of_the_first_split_unless_asked(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, seen = FinishedRun.open(tiny_run, device="cpu"), []
    monkeypatch.setattr("ansgt.runs.seeds.seed_prediction", lambda seed, index: seen.append(index))
    trained = run.trained(0)
    run.predict_proba(trained, torch.tensor([3]))
    run.predict_proba(trained, torch.tensor([3]), 1)
    assert seen == [0, 1]


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        FinishedRun.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not a run directory"):
        FinishedRun.open(tmp_path)


@pytest.mark.parametrize(
    ("stored", "expected"), [({}, 1.0), ({"temperature": 2}, 2.0), ({"temperature": 0.25}, 0.25)]
)
def test_a_temperature_is_read(stored: dict[str, float], expected: float, tmp_path: Path) -> None:
    SplitFolder(tmp_path).write_result(stored)
    assert temperature_of(SplitFolder(tmp_path)) == expected


@pytest.mark.parametrize("stored", [0, -1.0, "2", None, [1.0], 1e400])
def test_a_temperature_that_is_none(stored: object, tmp_path: Path) -> None:
    SplitFolder(tmp_path).write_result({"temperature": stored})
    with pytest.raises(InputError, match=r"temperature in .* is no number above 0"):
        temperature_of(SplitFolder(tmp_path))


def test_a_split_that_is_not_finished_or_not_of_the_right_shape(tiny_run: Path, tmp_path: Path) -> None:
    folder = open_run(tiny_run)
    assert finished(folder, 1).path == folder.split(1).path
    with pytest.raises(InputError, match=r"Split 2 of .* is not finished"):
        finished(folder, 2)
    like = folder.split(0).predictions()["probabilities"]
    assert np.array_equal(_stored_probabilities(folder.split(0), like), like)
    for other in (like[:-1], like[:, :-1]):
        with pytest.raises(InputError, match="does not hold probabilities"):
            _stored_probabilities(folder.split(0), other)


def test_nodes_that_were_trained_on(tiny_run: Path) -> None:
    run = FinishedRun.open(tiny_run, device="cpu")
    for index in (0, 1):
        expected = np.zeros(128, dtype=bool)
        expected[run.split(index).train.numpy()] = True
        assert np.array_equal(run._trained_on(Origin.same(run.graph), index), expected)
    assert torch.equal(run.split().train, run.split(0).train)
    assert not torch.equal(run.split(1).train, run.split(0).train)


def test_own_classes_and_settings_take_the_place_of_their_names(tiny_run: Path) -> None:
    config = open_run(tiny_run).config()
    own = _with_own(config, {"model": dict, "heuristics": [1]})
    assert own.model_class is dict
    assert own.settings == {**config.settings, "heuristics": [1]}
    assert _with_own(config, {}).settings == config.settings
    with pytest.raises(InputError, match="Unknown setting of the stored run 'heuristic'"):
        _with_own(config, {"heuristic": 1})
