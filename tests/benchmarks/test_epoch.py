"""`ansgt bench epoch`: every part of an epoch is measured, a run from end to end too; presets stand on their own."""

import pytest

from ansgt.benchmarks.epoch import COMMON, PRESETS, bench, measure
from ansgt.errors import InputError
from ansgt.pipeline import prepare_run


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(InputError, match="Unknown preset 'autors'"):
        bench(preset="autors")


def test_a_row_has_every_part_and_the_run_its_updates(tmp_path: object) -> None:
    row = measure("newman", "authors", tmp_path, "cpu", False, 1, 2)  # type: ignore[arg-type]
    for part in ("pass_s", "epoch_s", "update_s", "preprocessing_s", "run_s", "run_first_epoch_s"):
        assert row[part] > 0, part
    assert row["epoch_s"] > row["pass_s"]
    assert row["run_s"] > row["run_first_epoch_s"]
    assert row["run_epochs"] == 2
    assert row["run_updates"] == 0
    assert row["times_floor"] > 1


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_preset_says_all_that_decides_the_speed(preset: str) -> None:
    """The shipped settings of a data set must not change what is measured."""
    named = {override.split("=")[0] for override in (*PRESETS[preset], *COMMON)}
    _, config = prepare_run("newman", "ansgt", device="cpu", overrides=[*PRESETS[preset], *COMMON])
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
