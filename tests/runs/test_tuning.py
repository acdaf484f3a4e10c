"""A search of settings: valid spaces, honest values, one study for several processes, and no trial lost by a kill."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
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
