"""`ansgt bench epoch`: which seconds make a row, which of the peer's they are divided by, and presets that decide alone."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from ansgt.bench import epoch, measure
from ansgt.bench.epoch import COMMON, PEER, PRESETS, Case, bench, peer_ratios
from ansgt.errors import InputError
from ansgt.runs.prepare import prepare_run


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(InputError, match="Unknown preset 'autors'"):
        bench(preset="autors")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every timed call takes a second longer than the one before it."""
    seconds = itertools.count(1)

    def timed(work: Callable[[], Any], device: str) -> tuple[float, Any]:
        result = work()
        return float(next(seconds)), result

    monkeypatch.setattr(measure, "timed", timed)


@pytest.mark.usefixtures("clock")
def test_a_row_has_medians_without_warm_up_and_an_epoch_is_a_pass_and_an_evaluation() -> None:
    row = epoch.measure("newman", Case("authors", repeats=3))
    assert (row["first_preprocessing_s"], row["preprocessing_s"], row["warmup_s"]) == (1, 2, 3)
    assert row["pass_s"] == 5  # of 4, 5, 6
    assert row["epoch_s"] == 5 + 8  # evaluations take 7, 8, 9
    assert row["update_s"] == 11  # of 10, 11, 12
    assert row["step_ms"] == 1e3 * 5 / row["steps"]
    assert row["times_floor"] == pytest.approx(row["step_ms"] / row["floor_ms_h200"])
    assert "run_s" not in row


def test_a_run_from_end_to_end_has_its_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "COMMON", [*COMMON, "update_period=2"])
    row = epoch.measure("newman", Case("authors", repeats=1), run_epochs=4)
    assert (row["run_epochs"], row["run_updates"]) == (4, 2)
    assert row["run_s"] > row["run_first_epoch_s"] > 0


def test_ratios_are_of_what_the_peer_was_measured_on() -> None:
    row = {"dataset": "cora", "pass_s": 0.028, "epoch_s": 0.0318, "run_s": 5.0, "run_epochs": 10}
    name = "authors' release (H200, its preset) / ours: cora"
    ratios = peer_ratios(row)
    assert ratios == {f"{name} pass": pytest.approx(60.0), f"{name} epoch": pytest.approx(78.9, abs=0.1)}
    assert f"{name} run" in peer_ratios(row | {"run_epochs": 1000})
    assert peer_ratios({"dataset": "newman", "pass_s": 1.0}) == {}
    on_cpu = {"dataset": "cora", "device": "cpu", "pass_s": 9.0, "pass_cpu_s": 4.2}
    assert peer_ratios(on_cpu) == {
        "authors' release (one CPU core, its preset) / ours: cora pass": pytest.approx(3)
    }


@pytest.mark.parametrize("dataset", list(PEER))
def test_the_peers_epoch_is_longer_than_its_pass(dataset: str) -> None:
    assert PEER[dataset]["epoch"] > PEER[dataset]["pass"]


@pytest.mark.parametrize("preset", list(PRESETS))
def test_shipped_settings_of_a_data_set_do_not_change_what_is_measured(preset: str) -> None:
    overrides = Case(preset).overrides()
    named = {override.split("=")[0] for override in overrides}
    _, config = prepare_run("newman", "ansgt", device="cpu", overrides=overrides)
    decides = {
        "hidden_channels",
        "num_layers",
        "num_sampled",
        "num_supernodes",
        "num_global",
        "num_augmentations",
        "num_proximity",
        "batch_size",
        "redraw_every",
        "update_period",
        "average_epochs",
    }
    assert decides <= named & set(config.settings)
