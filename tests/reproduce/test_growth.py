"""How cost grows: seconds of three stages, and their exponents."""

from pathlib import Path

from ansgt.reproduce.growth import STAGES, GrowthTask
from ansgt.reproduce.task import Setup


def test_every_stage_is_measured_at_every_size(tmp_path: Path) -> None:
    sizes = (300, 600)
    record = GrowthTask("reproduce/claims/quick/growth", 1.0, sizes).measure(Setup(device="cpu"), tmp_path)
    assert set(record["values"]) == set(record["stages"]) == set(STAGES)
    for seconds in record["stages"].values():
        assert list(seconds) == ["300", "600"]
        assert all(value > 0 for value in seconds.values())
    assert record["threads"] == 1
    assert record["cpu_seconds"] > 0


def test_sizes_and_settings_decide_the_record() -> None:
    one, other = GrowthTask("a", 1.0, (300,)), GrowthTask("a", 1.0, (600,))
    assert one.asked(Setup()) != other.asked(Setup())
