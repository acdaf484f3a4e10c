"""What `ansgt` asks of its own process before torch is loaded. Python users decide for themselves (docs/training.md)."""

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST = {M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**31 - 1}
"""The most that glibc accepts."""


def wait_quietly() -> None:
    """Threads that wait by spinning make a small step a hundred times slower when another process uses the same cores."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def keep_freed_memory() -> bool:
    """Tensors of some megabytes are given back to the system and asked for again every step, a page fault for every
    4 KiB. With these thresholds the process keeps them. Whoever sets glibc's variables
    knows better; without glibc nothing happens.

    Returns:
        Whether it was done.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return all(mallopt(name, value) for name, value in LARGEST.items())
