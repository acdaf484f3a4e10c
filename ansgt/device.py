"""Devices: which one is meant, what it does well, what is free on it, and how much memory a block of work took.

Other files ask what a device does well (`runs_numba`, `replays_graphs`, ...), never what it is.
"""

import contextlib
import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ansgt.errors import InputError, TooLargeError

KNOWN = "auto, cpu, cuda, cuda:<number>"
CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux shows the control groups, whose limits a container has."""


def resolve_device(name: str) -> str:
    """ "auto" is CUDA where there is one; anything else is checked.

    >>> resolve_device("cpu")
    'cpu'
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError, ValueError):
        raise InputError(f"Unknown device {str(name)[:80]!r}; known: {KNOWN}.") from None
    if device.type == "cuda" and (
        not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()
    ):
        raise InputError(f"Device {name!r} was asked for, but this machine has no such CUDA device.")
    if device.type not in ("cpu", "cuda"):
        raise InputError(f"Device {name!r} is not supported; known: {KNOWN}.")
    return name


def is_cuda(device: torch.device | str) -> bool:
    return torch.device(device).type == "cuda"


def runs_numba(device: torch.device | str) -> bool:
    """Whether tensors there can be handed to kernels compiled by numba."""
    return not is_cuda(device)


def replays_graphs(device: torch.device | str) -> bool:
    """Whether steps are recorded once and replayed; what they read must then have fixed shapes."""
    return is_cuda(device)


def works_in_half(device: torch.device | str) -> bool:
    """Whether bfloat16 is the precision of choice."""
    return is_cuda(device)


def multiplies_half_fast(device: torch.device | str) -> bool:
    """Whether products in bfloat16 are several times as fast as in float32: on GPUs, and on CPUs with AVX512-BF16."""
    return is_cuda(device) or bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def multiplies_bytes_fast() -> bool:
    """Whether this processor multiplies bytes several times as fast as float32: AVX512-VNNI."""
    return bool(torch.cpu.get_capabilities().get("avx512_vnni", False)) and hasattr(torch, "_int_mm")


def multiplies_sparse(device: torch.device | str) -> bool:
    """Whether features with few non-zeros are worth storing as CSR."""
    return torch.device(device).type == "cpu"


def has_small_caches(device: torch.device | str) -> bool:
    """Whether working arrays should stay within megabytes."""
    return not is_cuda(device)


def reads_aligned_rows(device: torch.device | str) -> bool:
    """Whether dense rows are read in pieces of 16 bytes, so that others cost more."""
    return is_cuda(device)


def table_limit(device: torch.device) -> int:
    """What a dense table may take: 4 GiB on a CPU; on a GPU 24 GiB, or half of what is unused if that is less."""
    return min(24 << 30, unused_bytes(device) // 2) if is_cuda(device) else 4 << 30


def is_main_memory(device: torch.device | str) -> bool:
    """Whether what lies there takes memory of this process."""
    return torch.device(device).type == "cpu"


def half_precision(device: torch.device, enabled: bool) -> torch.autocast:
    """Within it, products are computed in bfloat16 where that is enabled."""
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled)


def sent(values: Tensor, device: torch.device) -> Tensor:
    """A CPU tensor on a device, without waiting for it."""
    return values.pin_memory().to(device, non_blocking=True) if is_cuda(device) else values.to(device)


def generator_devices(device: str) -> list[torch.device]:
    """Devices with a generator of their own, beside the CPU's."""
    return [torch.device(device)] if is_cuda(device) else []


def seed_generators(value: int) -> None:
    """Seeds the global generators of all devices."""
    if torch.cuda.is_available():
        torch.manual_seed(value)
    else:  # manual_seed would also queue a call with its stack trace for a CUDA that never comes: a third of a small epoch
        torch.default_generator.manual_seed(value)


def seed_card(value: int) -> None:
    """Seeds the generator of the present GPU, if there is one, and not the CPU's."""
    if torch.cuda.is_available():
        torch.cuda.manual_seed(value)


def takes_card(number: int, processes: int) -> bool:
    """Makes one of the machine's GPUs the present one, if there is one for each of its processes."""
    enough = torch.cuda.is_available() and torch.cuda.device_count() >= processes
    if enough:
        torch.cuda.set_device(number)
    return enough


def check_cards(device: str, processes: int) -> None:
    """Raises `InputError` where not every process of this machine can have a device of its own."""
    if not is_cuda(device):
        return
    if torch.device(device).index is not None:
        raise InputError(f"Of several processes each takes a GPU of its own: device=cuda, not {device}.")
    if (cards := torch.cuda.device_count()) < processes:
        raise InputError(
            f"This machine has {cards} GPU(s) for {processes} processes; start fewer, or take device=cpu."
        )


def card() -> str | None:
    """Name of the GPU, if there is one."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def working_dtype(device: torch.device | str, half: bool | None = None) -> torch.dtype:
    """Precision of tables and products: bfloat16 if `half` is true, float32 if false; None: bfloat16 on CUDA alone."""
    return torch.bfloat16 if (works_in_half(device) if half is None else half) else torch.float32


def check_memory(model: str, needed: int, device: torch.device) -> None:
    """Raises `TooLargeError` before the run when a model's own estimate of its memory does not fit."""
    available = available_bytes(device)
    if needed > available:
        raise TooLargeError(
            f"Model '{model}' needs about {needed / 2**30:.1f} GiB on this graph, "
            f"but {device} has {available / 2**30:.1f} GiB free."
        )


@contextmanager
def memory_in_words(what: str) -> Iterator[None]:
    """Raises `InputError` where the memory does not suffice for what is done in the block."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # torch has its own on CUDA alone
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "can't allocate" not in str(error):
            raise
        raise InputError(
            f"{what} does not fit into memory; smaller sizes (hidden_channels, batch_size, num_augmentations) need less."
        ) from None


def available_bytes(device: torch.device) -> int:
    """Free memory of a CUDA device, or what Linux calls available within the container's limit (elsewhere: unlimited)."""
    if is_cuda(device):
        return int(torch.cuda.mem_get_info(device)[0])
    return min(_kilobytes("/proc/meminfo", "MemAvailable", 2**63), _container_bytes())


def _kilobytes(path: str, name: str, absent: int) -> int:
    """A line "name: 123 kB" of a file of /proc, in bytes."""
    try:
        with open(path) as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
    except (OSError, StopIteration):
        return absent


def _container_bytes(root: Path = CGROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """What the control groups of this process still allow; files that the kernel may drop do not count as used."""
    try:
        places = [line.split(":", 2)[1:] for line in own.read_text().splitlines()]
    except (OSError, ValueError):
        return 2**63
    free = 2**63
    for kind, place in places:
        if kind in ("", "memory"):
            folder = root / kind / place.lstrip("/")
            for at in (folder, *folder.parents):
                if at == root.parent:
                    break
                free = min(free, _group_bytes(at))
    return max(free, 0)


def _group_bytes(folder: Path) -> int:
    """Limit less use of one control group (version 2, then 1)."""
    for limit, used, dropped in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            words = (folder / limit).read_text().strip()
            if words == "max":
                return 2**63
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return int(words) - int((folder / used).read_text()) + int(stat.get(dropped, 0))
        except (OSError, ValueError):
            continue
    return 2**63


def unused_bytes(device: torch.device) -> int:
    """Memory of a CUDA device that no tensor holds: what is free, and what torch keeps for the next tensor."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + kept


def release_memory(device: str) -> None:
    """Frees what a finished model held: tables of gigabytes, in reference cycles that Python collects only in time."""
    gc.collect()
    if is_cuda(device):
        torch.cuda.empty_cache()
    return_memory()


def return_memory() -> None:
    """Gives free pages back to the system: every thread that computes has a heap, and what one freed no other can use."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


@dataclass
class Peak:
    """Bytes, set when the block ends; None where the system does not say."""

    bytes: int | None = None


@contextmanager
def peak_memory(device: str) -> Iterator[Peak]:
    """Peak of the tensors on a CUDA device, or of the whole process on the CPU (Linux only), within the block."""
    peak, cuda = Peak(), is_cuda(device)
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    else:
        _reset_process_peak()
    try:
        yield peak
    finally:
        peak.bytes = most_memory(device)


def _reset_process_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")  # proc(5): resets the peak resident set
    except OSError:
        pass  # then the peak is that of the process's whole life


def most_memory(device: str) -> int | None:
    """The most that tensors on a CUDA device, or the whole process on the CPU, ever took."""
    if is_cuda(device):
        return int(torch.cuda.max_memory_allocated(device))
    memory = process_memory()
    return None if memory is None else memory[1]


def process_memory() -> tuple[int, int] | None:
    """Bytes that this process holds in memory, and the most that it ever held; None where the system does not say."""
    status = "/proc/self/status"
    held, most = _kilobytes(status, "VmRSS", -1), _kilobytes(status, "VmHWM", -1)
    return None if min(held, most) < 0 else (held, most)
