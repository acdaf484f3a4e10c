"""How much memory a block of work took at most."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch


@dataclass
class Peak:
    """Bytes, set when the block ends; None where the system does not say."""

    bytes: int | None = None


@contextmanager
def peak_memory(device: str) -> Iterator[Peak]:
    """Peak of the tensors on a CUDA device, or of the whole process on the CPU (Linux only), within the block."""
    peak, cuda = Peak(), torch.device(device).type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    else:
        _reset_process_peak()
    try:
        yield peak
    finally:
        peak.bytes = int(torch.cuda.max_memory_allocated(device)) if cuda else _process_peak()


def _reset_process_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")  # proc(5): resets the peak resident set
    except OSError:
        pass  # then the peak is that of the process's whole life


def _process_peak() -> int | None:
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return None
