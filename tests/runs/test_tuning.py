"""A search of settings: valid spaces, honest values, one study for several processes, and no trial lost by a kill."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import yaml

pytest.importorskip("optuna")

from ansgt.errors import BusyError, InputError
from ansgt.metrics import METRICS
from ansgt.models import MODELS
from ansgt.runs.executors import Workers, run_all
from ansgt.runs.prepare import Request, build_config, changed, prepare_run, settings_class
from ansgt.runs.tuning import (
    SHIPPED,
    VALUES,
    WORKER,
    Budget,
    Found,
    Search,
    _Course,
    crossed,
    folder_lock_waiting,
    without,
)
from ansgt.settings import Span
from ansgt.storage import folder_lock


def searching(folder: Path, metric: str = "accuracy", epochs: int = 8, **given: Any) -> Search:
    overrides = {"epochs": epochs, "hidden_channels": 8, **given}
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=overrides)
    return without(Search(data, config, folder, metric), list(overrides))


def work(folder: Path, budget: Budget) -> None:
    searching(folder).run(budget)


@pytest.mark.parametrize("model", MODELS)
def test_every_value_of_a_space_is_a_setting(model: str) -> None:
    config = build_config(Request("nobody", model, "given"))
    for name, values in settings_class(model).space.items():
        for value in (values.low, values.high) if isinstance(values, Span) else values:
            assert changed(config, {name: value})


def test_an_epoch_is_scored_by_nodes_that_did_not_choose_it() -> None:
    """Of two epochs each is right on its own half of the nodes: whoever is chosen on some nodes scores worse on others."""
    y = np.zeros(400, dtype=int)
    right = np.random.RandomState(1).rand(60, 400) < 0.5
    said = np.where(right[..., None], [0.9, 0.1], [0.1, 0.9])
    best = right.mean(axis=1).max()
    value = crossed(said, y, METRICS["accuracy"])
    assert best > 0.54
    assert value == pytest.approx(0.5, abs=0.02)
    said[7] = [0.99, 0.01]
    assert crossed(said, y, METRICS["accuracy"], "loss") == 1.0


@pytest.mark.parametrize("select", ["accuracy", "loss"])
def test_a_crossed_score_by_its_definition(select: str) -> None:
    """Forty random halves, each of which chooses an epoch for the other one; ties of accuracy go to the smaller loss."""
    rng = np.random.default_rng(0)
    said, y = rng.dirichlet(np.ones(3), size=(4, 11)), rng.integers(0, 3, 11)
    draws, scores = np.random.RandomState(0), []
    for _ in range(40):
        halves = np.array_split(draws.permutation(11), 2)
        for choosing, scored in (halves, halves[::-1]):
            losses = [-np.log(epoch[choosing, y[choosing]]).mean() for epoch in said]
            hits = [(epoch[choosing].argmax(axis=1) == y[choosing]).mean() for epoch in said]
            keys = (
                losses if select == "loss" else [(-hit, loss) for hit, loss in zip(hits, losses, strict=True)]
            )
            epoch = said[keys.index(min(keys))]
            scores.append((epoch[scored].argmax(axis=1) == y[scored]).mean())
    assert crossed(said, y, METRICS["accuracy"], select) == pytest.approx(np.mean(scores))


def test_the_standard_error_of_a_difference_by_its_definition(tmp_path: Path) -> None:
    search, rng = searching(tmp_path), np.random.default_rng(0)
    y, said = rng.integers(0, 4, 30), rng.dirichlet(np.ones(4), size=(2, 30)).astype(np.float16)
    (tmp_path / "trials").mkdir()
    for number, probabilities in zip((3, 5), said, strict=True):
        np.savez(tmp_path / "trials" / f"{number}.npz", probabilities=probabilities, label=y)
    hits = said.argmax(axis=2) == y
    draws = np.random.RandomState(0)
    chosen = [draws.randint(0, 30, 30) for _ in range(500)]
    expected = np.std([hits[0, nodes].mean() - hits[1, nodes].mean() for nodes in chosen])
    assert search.standard_error(3, 5) == pytest.approx(expected)
    assert search.standard_error(3, 3) == 0


class Told:
    """A trial that is told values, and is ended after some."""

    def __init__(self, most: int) -> None:
        self.values: list[tuple[float, int]] = []
        self.most = most

    def report(self, value: float, epoch: int) -> None:
        self.values.append((value, epoch))

    def should_prune(self) -> bool:
        return len(self.values) >= self.most


@pytest.mark.parametrize(("metric", "best"), [("accuracy", [0.5, 1.0, 1.0]), ("log_loss", None)])
def test_a_trial_is_told_the_best_so_far(metric: str, best: list[float] | None) -> None:
    y = np.array([0, 1])
    epochs = [
        torch.tensor(rows) for rows in ([[0.9, 0.1]] * 2, [[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.3, 0.7]])
    ]
    told: Any = Told(3)
    course = _Course(METRICS[metric], y, "accuracy", told)
    course.add(4, epochs[0])
    course.add(5, epochs[1])
    with pytest.raises(sys.modules["optuna"].TrialPruned):
        course.add(6, epochs[2])
    if best is None:
        scores = [METRICS[metric](rows.numpy(), y) for rows in epochs]
        best = [scores[0], min(scores[:2]), min(scores)]
    assert told.values == [
        (pytest.approx(value), epoch) for value, epoch in zip(best, (4, 5, 6), strict=True)
    ]
    assert len(course.said) == 3
    for number, kept in ((1000, 1), (1001, 0)):
        many = _Course(METRICS["accuracy"], np.zeros(number, dtype=int), "accuracy", None)
        many.add(0, torch.full((number, 2), 0.5))
        assert len(many.said) == kept


def one(state: str, **attributes: Any) -> SimpleNamespace:
    return SimpleNamespace(state=SimpleNamespace(name=state), user_attrs=attributes)


def test_when_enough_trials_have_ended(tmp_path: Path) -> None:
    search = searching(tmp_path)
    trials = [
        one("COMPLETE"),
        one("PRUNED"),
        one("FAIL", why="no"),
        one("FAIL"),
        one("RUNNING"),
        one("WAITING"),
    ]
    study: Any = SimpleNamespace(get_trials=lambda deepcopy: trials)
    assert [search._is_over(study, Budget(trials=number)) for number in (3, 4, 5)] == [True, True, False]
    assert not search._is_over(study, Budget(seconds=1.0))
    trials[:] = [one("FAIL", why="first")] * 18 + [one("FAIL", why="last")]
    assert not search._is_over(study, Budget(trials=99))
    trials += [one("FAIL", why="really last")]
    with pytest.raises(InputError, match="20 trials failed and none ended; the last one: really last"):
        search._is_over(study, Budget(trials=99))
    trials += [one("COMPLETE")]
    assert not search._is_over(study, Budget(trials=99))


def test_the_first_trial_has_the_shipped_settings_and_the_file_trains(tmp_path: Path) -> None:
    search = searching(tmp_path / "study")
    search.run(Budget(trials=4))
    study = search.open()
    trials = study.get_trials()
    assert [bool(one.user_attrs.get(SHIPPED)) for one in trials] == [True, False, False, False]
    assert "hidden_channels" not in trials[1].user_attrs[VALUES]
    found = Found.of(search, study)
    stored = yaml.safe_load(found.write().read_text())
    assert stored["model"]["hidden_channels"] == 8
    assert set(stored) == {"model", "optim", "train", "data"}
    text = (tmp_path / "study" / "settings.yaml").read_text()
    assert text.startswith("# Found by `ansgt tune` for mlp on newman")
    _, config = prepare_run("newman", "mlp", config=tmp_path / "study" / "settings.yaml")
    assert {**config.as_dict(), "device": ""} == {**found.config.as_dict(), "device": ""}
    told = found.as_dict()
    assert told["value"] == max(one.value for one in trials if one.state.name == "COMPLETE")
    assert told["trials"] == 4
    assert told["is_better"] == (told["gain"] > told["standard_error"])


def test_a_second_call_goes_on_to_the_whole_number_of_trials(tmp_path: Path) -> None:
    searching(tmp_path).run(Budget(trials=2))
    searching(tmp_path).run(Budget(trials=2))
    assert len(searching(tmp_path).open().get_trials()) == 2
    searching(tmp_path).run(Budget(trials=3))
    assert len(searching(tmp_path).open().get_trials()) == 3


def test_two_processes_share_a_study(tmp_path: Path) -> None:
    tasks = [Budget(trials=8)] * 2
    for done in run_all(functools.partial(work, tmp_path), tasks, Workers(2)):
        assert done.error is None
    trials = searching(tmp_path).open().get_trials()
    assert len(trials) == 8
    assert {one.state.name for one in trials} <= {"COMPLETE", "PRUNED"}
    assert sum(bool(one.user_attrs.get(SHIPPED)) for one in trials) == 1
    assert not list((tmp_path / "workers").iterdir())


def test_a_lock_that_is_waited_for_is_held(tmp_path: Path) -> None:
    with folder_lock_waiting(tmp_path), pytest.raises(BusyError), folder_lock(tmp_path):
        pass
    with folder_lock(tmp_path):
        pass


def test_a_trial_that_was_killed_is_tried_again(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from tests.runs.test_tuning import searching
from ansgt.runs.tuning import Budget
searching(Path({str(tmp_path)!r}), epochs=1000000, patience=None).run(Budget(trials=1))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    journal = tmp_path / "study.journal"
    while not (journal.exists() and f'"{WORKER}":' in journal.read_text()):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    search = searching(tmp_path, epochs=1000000, patience=None)
    assert [one.state.name for one in search.open().get_trials()] == ["RUNNING"]
    search.run(Budget(seconds=1.0))
    states = [one.state.name for one in search.open().get_trials()]
    assert states[:2] == [
        "FAIL",
        "FAIL",
    ]  # the killed one, and its second try, which the second's budget gave up
    assert states[2] == "WAITING"
    with pytest.raises(InputError, match="budget ended before the settings that ship were trained"):
        Found.of(search, search.open())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "macro_f1"}, "another metric"),
        ({"epochs": 9}, "another config"),
        ({"dropout": 0.1}, "another config and space"),
    ],
)
def test_another_search_in_the_same_folder_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    searching(tmp_path).open()
    with pytest.raises(InputError, match=message):
        searching(tmp_path, **change).open()


def test_a_damaged_study_is_a_sentence(tmp_path: Path) -> None:
    searching(tmp_path).open()
    (tmp_path / "study.journal").write_bytes(b"\x00\xff{]\n\n{}\n")
    with pytest.raises(InputError, match=r"The study in .* cannot be read"):
        searching(tmp_path).open()


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({}, "needs a budget"),
        ({"trials": 0}, "trials must be from 1"),
        ({"seconds": 0.0}, "minutes must be greater than 0"),
        ({"trials": 10**6 + 1}, "trials must be from 1 to 1000000"),
        ({"seconds": float("nan")}, "minutes must be greater than 0"),
        ({"seconds": float("inf")}, "minutes must be greater than 0, not inf"),
        ({"trials": 1, "seconds": -60.0}, "minutes must be greater than 0, not -1"),
    ],
)
def test_bad_budgets_are_sentences(budget: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Budget(**budget)
    assert Budget(trials=1).seconds is Budget(trials=10**6).seconds is Budget(seconds=0.5).trials is None


def test_how_long_a_trial_is_let_alone(tmp_path: Path) -> None:
    assert [searching(tmp_path, epochs=epochs)._warmup for epochs in (8, 20, 60)] == [1, 2, 6]
    assert searching(tmp_path).is_crossed


def test_loss_is_minimised(tmp_path: Path) -> None:
    search = searching(tmp_path, metric="log_loss")
    search.run(Budget(trials=3))
    trials = [one for one in search.open().get_trials() if one.state.name == "COMPLETE"]
    assert Found.of(search, search.open()).as_dict()["value"] == min(one.value for one in trials)
