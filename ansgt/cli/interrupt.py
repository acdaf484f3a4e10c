"""`Interrupts`: a run that is asked to end does so between two epochs, where its checkpoint is whole."""

import contextlib
import signal
import threading
from types import FrameType
from typing import Any, Self

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
PATIENCE = 5.0
"""Seconds that an epoch is given to end by itself; what asks a process to end often kills it after ten."""


class Interrupts(contextlib.AbstractContextManager["Interrupts"]):
    """Within the block, the signals that ask a process to end become a `KeyboardInterrupt` out of `on_epoch`.

    Before the first epoch, at the second signal, and after `PATIENCE` seconds it is raised wherever the program stands.
    A signal that the process was told to ignore (`nohup`) stays ignored. Outside the main thread nothing changes.
    """

    def __init__(self) -> None:
        self._asked = self._training = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name in NAMES:
                self._catch(name, self._ask)
            self._catch("SIGALRM", self._raise)
        return self

    def __exit__(self, *error: object) -> None:
        self._no_alarm()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_epoch(self, progress: object) -> None:
        """Called after every epoch; raises where an end was asked for."""
        self._training = True
        if self._asked:
            self._no_alarm()
            raise KeyboardInterrupt

    def _catch(self, name: str, handler: Any) -> None:
        number = getattr(signal, name, None)  # Windows has the first two
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            self._before[number] = signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._asked or not self._training:
            self._raise(number, frame)
        self._asked = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self._no_alarm()
        raise KeyboardInterrupt

    def _no_alarm(self) -> None:
        if hasattr(signal, "setitimer") and self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
