"""Time limits: when a model stops training, so that what is left suffices to predict and to write the record."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

SPARE = 0.05
"""Share of a limit that is kept for weighing the experts and writing the record."""
CAUTION = 1.25
"""How much longer than the longest so far the next epoch, and the last prediction, may take: cores are shared."""


EPOCHS = 3
"""Epochs that a further model must have time for, after the last one of its kind."""
WRITING = 3.0
"""CPU seconds that it may take to notice the end and to write the record; on a busy machine they last longer."""
LEAST = 0.5
"""Seconds that are not worth the start of a further model."""


@dataclass
class Clock:
    """What one training has taken so far, and by when it has to end.

    Args:
        soft: moment (`time.perf_counter`) by which training and the last prediction shall have ended, so that another model
            follows.
        hard: moment at which whatever is not finished is given up.
        building, epoch, ending: seconds until the first epoch, of an epoch, and of a prediction of all nodes.
        last: seconds of the last epoch.
        began: when it was made, and the CPU seconds of the process by then.
    """

    soft: float = math.inf
    hard: float = math.inf
    building: float = 0.0
    epoch: float = 0.0
    ending: float = 0.0
    last: float = 0.0
    began: tuple[float, float] = field(default_factory=lambda: (time.perf_counter(), time.process_time()))

    @contextmanager
    def lap(self) -> Iterator[None]:
        """An epoch; the longest of the last two counts: the first one of all may take long."""
        started = time.perf_counter()
        yield
        seconds = time.perf_counter() - started
        self.epoch, self.last = max(self.last, seconds), seconds

    @contextmanager
    def prediction(self, nodes: int, of: int) -> Iterator[None]:
        """A prediction of some of the nodes; the longest counts: the last one draws anew, as the first one does."""
        started = time.perf_counter()
        yield
        self.ending = max(self.ending, (time.perf_counter() - started) * of / max(nodes, 1))

    @property
    def least(self) -> float:
        """Seconds that the next model of this kind must have."""
        return self.building + EPOCHS * self.epoch + self.ending

    def allows_epoch(self) -> bool:
        """Whether one more epoch and the last prediction fit; all that is left counts if too little for a further model."""
        last = self.soft if self.soft + self.least < self.hard else self.hard
        return time.perf_counter() + CAUTION * (self.epoch + self.ending) < last

    def is_worth_while(self, least: float) -> bool:
        """Whether a further model that takes at least so many seconds may be begun."""
        return time.perf_counter() + max(least, LEAST) < self.hard

    def half(self) -> "Clock":
        """Of the next model: half of what is left. Where others use the cores, the end is given more time."""
        now = time.perf_counter()
        hard = self.hard - WRITING * (self.slowdown() - 1.0)
        return Clock(now + max(0.0, hard - now) / 2, hard)

    def slowdown(self) -> float:
        """Seconds per CPU second so far; 1 where the process has its cores for itself."""
        wall, cpu = time.perf_counter() - self.began[0], time.process_time() - self.began[1]
        return max(1.0, wall / max(cpu, 0.01 * wall)) if wall >= LEAST else 1.0


@dataclass(frozen=True)
class TimeLimit:
    """The seconds of a run, counted from a moment; splits share what is left equally.

    Args:
        seconds: of the whole run; None: no limit.
        started: moment from which they count.
    """

    seconds: float | None
    started: float

    def after(self, spent: float) -> "TimeLimit":
        """The same where earlier processes have spent some of it."""
        return replace(self, started=self.started - spent)

    def last_moment(self, splits_left: int) -> float:
        """When the next split has to be finished."""
        if self.seconds is None:
            return math.inf
        now = time.perf_counter()
        left = self.started + self.seconds * (1 - SPARE) - now
        return now + left / max(splits_left, 1)
