"""Devices: names that are refused, memory that is asked for and measured."""

import mmap

import pytest
import torch

from ansgt.device import available_bytes, check_memory, peak_memory, resolve_device, working_dtype
from ansgt.errors import InputError


@pytest.mark.parametrize("name", ["gpu", "mps", "cuda:99", "cpu:x"])
def test_a_device_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(InputError, match=name):
        resolve_device(name)


def test_auto_is_what_there_is() -> None:
    assert resolve_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")


def test_precision_follows_the_device_unless_it_is_asked_for() -> None:
    assert working_dtype("cpu") == working_dtype("cuda", half=False) == torch.float32
    assert working_dtype("cuda") == working_dtype("cpu", half=True) == torch.bfloat16


def test_a_model_that_does_not_fit_is_refused_before_it_is_built() -> None:
    cpu = torch.device("cpu")
    check_memory("gcn", 1, cpu)
    with pytest.raises(InputError, match=r"Model 'san' needs about .* GiB on this graph, but cpu has"):
        check_memory("san", 2 * available_bytes(cpu), cpu)


def test_peak_memory_sees_an_array_that_is_gone_again() -> None:
    with peak_memory("cpu") as small:
        pass
    if small.bytes is None:
        pytest.skip("the system does not say how much memory a process takes")
    with (
        peak_memory("cpu") as large,
        mmap.mmap(-1, 200_000_000) as pages,
    ):  # numpy may get memory freed and kept
        pages.write(bytes(200_000_000))
    assert large.bytes is not None
    assert large.bytes - small.bytes > 100e6
