"""Stages of a run: what each took, and who is told while it lasts.

A stage reports to whoever listens in this context; where nobody does it costs nothing::

    with listening(Log()) as log, stage("mixture", total=10) as at:
        for block in blocks:
            at.advance()
    log.rows()  # [{"name": "mixture", "seconds": ..., "peak_bytes": ...}]
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ansgt.device import process_memory

T = TypeVar("T")


@dataclass
class Stage:
    """One stage under way.

    Args:
        name: of the stage.
        total: units of work that it consists of; None: not known.
        log: who is told of every unit.
        is_note: not a stage but a sentence.
    """

    name: str
    total: int | None = None
    log: "Log | None" = None
    done: int = 0
    is_note: bool = False

    def advance(self, units: int = 1) -> None:
        """Says that so many units more are done; raises `TimeIsUp` where the block `until` a moment lasts longer."""
        _check_time()
        self.done += units
        if self.log is not None:
            self.log.told(self)


def _unheard(stage: Stage) -> None:
    pass


@dataclass
class Log:
    """What the stages of a run took; a stage of the same name adds to its row.

    Args:
        told: called when a stage begins, moves on and ends (`done` is then `total`, or -1 where there is none).
    """

    told: Callable[[Stage], object] = _unheard
    notes: list[str] = field(default_factory=list)
    _rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """Name, seconds and peak of the process's memory of every stage, in the order in which they began."""
        return [dict(row) for row in self._rows.values()]

    def add(self, name: str, seconds: float, peak_bytes: int | None) -> None:
        row = self._rows.setdefault(name, {"name": name, "seconds": 0.0, "peak_bytes": None})
        row["seconds"] += seconds
        row["peak_bytes"] = max(
            (one for one in (row["peak_bytes"], peak_bytes) if one is not None), default=None
        )


_log: ContextVar[Log | None] = ContextVar("log", default=None)
_last: ContextVar[float] = ContextVar("last", default=math.inf)


class TimeIsUp(Exception):
    """The moment has passed by which a block of work had to end."""


@contextmanager
def until(moment: float) -> Iterator[None]:
    """A block that ends with `TimeIsUp` at the first unit of a stage that is done after `moment` (`time.perf_counter`)."""
    token = _last.set(moment)
    try:
        yield
    finally:
        _last.reset(token)


def _check_time() -> None:
    if time.perf_counter() > _last.get():
        raise TimeIsUp


@contextmanager
def listening(log: Log) -> Iterator[Log]:
    """A block whose stages report to `log`."""
    token = _log.set(log)
    try:
        yield log
    finally:
        _log.reset(token)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Stage]:
    """A block of work under a name.

    Its peak is that of the whole process where that rose within the block, else the larger of what was held at its
    begin and its end: the kernel's own mark is left alone, since others read it, too.
    """
    _check_time()
    log = _log.get()
    one = Stage(name, total, log)
    if log is None:
        yield one
        return
    log._rows.setdefault(name, {"name": name, "seconds": 0.0, "peak_bytes": None})
    log.told(one)
    before, started = process_memory(), time.perf_counter()
    try:
        yield one
    finally:
        after = process_memory()
        log.add(name, time.perf_counter() - started, _peak(before, after))
        one.done = -1 if one.total is None else one.total
        log.told(one)


def counted(name: str, items: Iterable[T], total: int) -> Iterator[T]:
    """The items, as the units of a stage."""
    with stage(name, total) as at:
        for item in items:
            yield item
            at.advance()


def note(sentence: str) -> None:
    """A line for whoever listens: a choice that was made, and why."""
    log = _log.get()
    if log is not None and sentence not in log.notes:
        log.notes.append(sentence)
        log.told(Stage(sentence, is_note=True))


def _peak(before: "tuple[int, int] | None", after: "tuple[int, int] | None") -> int | None:
    if before is None or after is None:
        return None
    return after[1] if after[1] > before[1] else max(before[0], after[0])
