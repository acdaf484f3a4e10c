"""What the growth benchmarks share: a fresh process per measurement, peak memory, the exponent of growth."""

import math
from collections.abc import Callable, Sequence
from typing import Any


def isolated(function: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """Runs `function` in a process of its own; adds that process's peak resident memory, "peak_gb"."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_with_peak, function, args).result()


def _with_peak(function: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> dict[str, Any]:
    import resource
    import warnings

    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    result = function(*args)
    return {**result, "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


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
    """ "5000,20000" -> [5000, 20000]."""
    from ansgt.errors import InputError

    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(f"--sizes must be whole numbers with commas, not {text!r}.") from None
