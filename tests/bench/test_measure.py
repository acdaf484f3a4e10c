"""What the benchmarks share: exponents, sizes, clocks, and measurements in processes of their own."""

import os
import sys
import time

import pytest

from ansgt.bench.measure import fastest, growth_exponent, isolated, sizes_of, timed
from ansgt.errors import InputError


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_its_power(power: float) -> None:
    sizes = [10, 40, 1000]
    assert growth_exponent(sizes, [3.0 * size**power for size in sizes]) == pytest.approx(power)


def test_sizes_are_whole_numbers_with_commas() -> None:
    assert sizes_of("5000, 20000,") == [5000, 20000]
    with pytest.raises(InputError, match="--sizes must be whole numbers with commas, not '5k'"):
        sizes_of("5k")


def process(number: int) -> dict[str, int]:
    return {"number": number, "process": os.getpid()}


def with_its_own_peak() -> dict[str, float]:
    return {"peak_gb": 7.0}


def test_an_isolated_measurement_has_a_process_and_a_peak_of_its_own() -> None:
    result = isolated(process, 3)
    assert result["number"] == 3
    assert result["process"] != os.getpid()
    if sys.platform != "win32":
        assert 0.01 < result["peak_gb"] < 50


def test_a_peak_that_the_measurement_took_itself_is_kept() -> None:
    assert isolated(with_its_own_peak) == {"peak_gb": 7.0}


def hold(num_bytes: int) -> dict[str, int]:
    return {"held": len(bytearray(b"x") * num_bytes)}


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_the_peak_is_in_gigabytes_and_of_the_new_process_alone() -> None:
    of_this_process = bytearray(b"x") * 1_000_000_000
    little, much = (isolated(hold, size)["peak_gb"] for size in (1, 300_000_000))
    del of_this_process
    assert much - little == pytest.approx(0.3, abs=0.05)


def test_seconds_are_those_of_the_work() -> None:
    seconds, result = timed(lambda: time.sleep(0.05) or "done")
    assert result == "done"
    assert seconds >= 0.05


def test_the_first_call_and_the_slower_ones_do_not_count() -> None:
    pauses = iter([0.0, 0.08, 0.03])
    assert 0.03 <= fastest(lambda: time.sleep(next(pauses)), repeats=2) < 0.08
