"""What the benchmarks share: a fresh process per measurement, its peak memory, clocks, the exponent of growth."""

import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def isolated(function: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """Runs `function` in a new process and adds that process's peak memory, "peak_gb", unless the result has one."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_with_peak, function, args).result()


def _with_peak(function: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> dict[str, Any]:
    import warnings

    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    result = function(*args)
    return {"peak_gb": peak_memory_gb(), **result}


def peak_memory_gb() -> float | None:
    """Largest resident memory that this process has had, in 10⁹ bytes; None where the system does not tell (Windows)."""
    status = Path("/proc/self/status")
    if (
        status.exists()
    ):  # what `resource` tells on Linux begins with the memory of the process that started this one
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024 / 1e9
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def timed(work: Callable[[], Any], device: str = "cpu") -> tuple[float, Any]:
    """Seconds of a call, the device's work included, and what the call returned."""
    import torch

    on_cuda = device.startswith("cuda")
    if on_cuda:
        torch.cuda.synchronize()
    started = time.perf_counter()
    result = work()
    if on_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - started, result


def fastest(work: Callable[[], Any], device: str = "cpu", repeats: int = 3) -> float:
    """Seconds of the fastest call, after one call that does not count."""
    return min([timed(work, device)[0] for _ in range(repeats + 1)][1:])


def growth_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of log(seconds) over log(size), least squares.

    >>> round(growth_exponent([10, 100, 1000], [1.0, 10.0, 100.0]), 6)
    1.0
    """
    x = [math.log(size) for size in sizes]
    y = [math.log(max(value, 1e-9)) for value in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return (
        sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread if spread else math.nan
    )


def sizes_of(text: str) -> list[int]:
    """Parses an option such as "5000,20000" into [5000, 20000]."""
    from ansgt.errors import InputError

    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--sizes must be whole numbers with commas, not {text!r}.") from None
