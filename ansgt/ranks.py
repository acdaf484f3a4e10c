"""Several processes that train one model, as `torchrun` starts them; with one process nothing here does anything.

All processes ("ranks") run the same program on the same graph. Of what is long each computes its share, and what belongs to
all is exchanged: `total` of gradients and rewards, `gathered` predictions, and what rank 0 `told` the others from its files,
which it alone writes. Exchange is torch.distributed's: gloo between CPUs, nccl between GPUs.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from ansgt.device import check_cards, takes_card
from ansgt.errors import InputError, LostRankError

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What `torchrun` tells a process."""
PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others: one may compute rows or a record while they wait."""


@dataclass(frozen=True)
class Ranks:
    """The processes of a training, as one of them sees them.

    Args:
        rank: which one this is.
        size: how many there are.
        local_size: how many of them run on this machine, and share its memory.
        store: what the processes know of each other beside tensors.
    """

    rank: int = 0
    size: int = 1
    local_size: int = 1
    store: Any = None

    @property
    def leads(self) -> bool:
        """Whether this one writes records and talks."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        return self.size == 1

    def share(self, length: int, rank: int | None = None) -> slice:
        """Which of `length` things are this process's (or another's): consecutive ones, as many as the others' or one more.

        >>> [Ranks(rank, 3).share(8) for rank in range(3)]
        [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None)]
        """
        rank = self.rank if rank is None else rank
        each, rest = divmod(length, self.size)
        start = rank * each + min(rank, rest)
        return slice(start, start + each + (rank < rest))

    def share_size(self, length: int, rank: int | None = None) -> int:
        """How many things a share has."""
        return len(range(length)[self.share(length, rank)])

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place; the same bits everywhere."""
        if not self.alone:
            with _together():
                dist.all_reduce(values)
        return values

    def same(self, values: Tensor) -> Tensor:
        """The numbers of rank 0, in place: machines may round differently."""
        if not self.alone:
            with _together():
                dist.broadcast(values, src=0)
        return values

    def gathered(self, part: Tensor, length: int) -> Tensor:
        """What the processes have computed of their shares of `length` things, put together [length, ...]."""
        if self.alone:
            return part
        most = -(-length // self.size)
        filled = F.pad(part, (0, 0) * (part.ndim - 1) + (0, most - len(part))).contiguous()
        parts = [torch.empty_like(filled) for _ in range(self.size)]
        with _together():
            dist.all_gather(parts, filled)
        sizes = (self.share_size(length, rank) for rank in range(self.size))
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    def told(self, value: Any = None) -> Any:
        """A JSON value of rank 0, on all; the others' own is not read."""
        if self.alone:
            return value
        return json.loads(self.told_bytes(json.dumps(value).encode() if self.leads else b""))

    def told_bytes(self, content: bytes = b"") -> bytes:
        """Bytes of rank 0 (the content of a file), on all."""
        if self.alone:
            return content
        length = int(self.same(torch.tensor([len(content)])))
        values = torch.frombuffer(bytearray(content or b"\0"), dtype=torch.uint8)
        values = values[:length] if self.leads else torch.empty(length, dtype=torch.uint8)
        return self.same(values).numpy().tobytes() if length else b""

    @contextmanager
    def told_file(self, path: Path) -> Iterator[Path]:
        """A file of rank 0, where this process can read it."""
        content = self.told_bytes(path.read_bytes() if self.leads and not self.alone else b"")
        if self.leads:
            yield path
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(content)
            yield copy

    def any(self, happened: bool) -> bool:
        """Whether it happened to one process at least."""
        return bool(self.total(torch.tensor([int(happened)]))) if not self.alone else happened

    def wait(self) -> None:
        """Goes on when all have come here."""
        self.any(False)

    def part(self) -> None:
        """Goes on when no other is within an exchange any more: who closes its connections earlier resets theirs."""
        with contextlib.suppress(RuntimeError):  # the store may have gone with the process that kept it
            if self.next_number("left") + 1 == self.size:
                self.store.set("ansgt/all left", "1")
            self.store.wait(["ansgt/all left"], PATIENCE)

    def next_number(self, purpose: str) -> int:
        """0, 1, 2, ...: every number goes to one process alone."""
        return int(self.store.add(f"ansgt/{purpose}", 1)) - 1

    def speaks(self) -> bool:
        """Whether this is the process that says why the run ends: the first that asks, since all end for one reason."""
        if self.alone:
            return True
        try:
            return self.next_number("said") == 0
        except Exception:  # the store went with the process that kept it
            return self.leads


_ranks = Ranks()
_is_ending = False


def ranks() -> Ranks:
    """The processes that this one belongs to; alone unless `joined` says otherwise."""
    return _ranks


def num_started() -> int:
    """How many processes `torchrun` has started; 1 without it."""
    return int(os.environ["WORLD_SIZE"]) if all(name in os.environ for name in VARIABLES) else 1


@contextmanager
def joined() -> Iterator[Ranks]:
    """A block in which the processes that `torchrun` started work together.

    At an error the connection stays, so that one of them can say why; it ends with the process. `torchrun` then asks the
    others to end (SIGTERM); they have the time to say it.
    """
    global _ranks, _is_ending
    if num_started() == 1:
        yield _ranks
        return
    few_threads()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)
    _ranks = _connected()
    try:
        yield _ranks
        _ranks.wait()
        _ranks.part()
    except BaseException:
        _is_ending = True
        raise
    dist.destroy_process_group()
    _ranks = Ranks()


def _end(number: int, frame: FrameType | None) -> None:
    """Ends the process, unless it is about to say why it ends."""
    if not _is_ending:
        raise KeyboardInterrupt


def few_threads() -> None:
    """Processes of one machine share its cores: numba takes as many threads as torch, which `torchrun` has told."""
    if "numba" not in sys.modules:  # it reads the variable once
        os.environ.setdefault("NUMBA_NUM_THREADS", str(torch.get_num_threads()))


def _connected() -> Ranks:
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    backend = "cpu:gloo,cuda:nccl" if takes_card(local_rank, local_size) else "gloo"
    try:
        store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
        # the store of torchrun outlives those whom it starts again
        store = dist.PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        address = ":".join(os.environ[name] for name in VARIABLES[2:])
        raise InputError(f"The processes of the run do not find each other at {address}: {error}.") from None
    return Ranks(rank, size, local_size, store)


def check_device(device: str) -> None:
    """Raises `InputError` where the processes of this machine cannot have a device each."""
    if not ranks().alone:
        check_cards(device, ranks().local_size)


@contextmanager
def _together() -> Iterator[None]:
    """What all processes do at once; raises `LostRankError` where one of them is gone."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        global _is_ending
        _is_ending = True
        raise LostRankError("Another process of this run was killed or cannot be reached.") from error
