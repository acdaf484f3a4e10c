"""Who watches a training: a bar in a terminal, one line in a notebook, a line every ten seconds anywhere else.

All of it goes where a console writes; what `run` computes does not depend on it::

    with watching("newman ansgt", 128, Console(stderr=True)) as watch:
        run(..., environment=Environment(on_epoch=watch.on_epoch, log=Log(watch.on_stage)))
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from ansgt.runs.run import Environment
from ansgt.runs.run import Progress as Seen
from ansgt.stages import Log, Stage

QUIET, PAUSE = 2.0, 5.0
"""Seconds of a small graph's stages that need no words, and between two words about one stage."""
SMALL = 6_000
"""Nodes of a graph whose stages take less than `QUIET` seconds each."""
EVERY, BLINK = 10.0, 0.5
"""Seconds between two lines about a training, and between two texts of the line in a notebook."""
NARROW = 110
"""Columns of a terminal in which probabilities stand on a line of their own."""


class Watch:
    """A training under somebody's eyes: names stages, on a large graph all, else those that begin after `QUIET` seconds.

    Args:
        label: data set and model.
        num_nodes: of the graph.
        console: where to write.
    """

    def __init__(self, label: str, num_nodes: int, console: Console) -> None:
        self.label, self.console = label, console
        self.started = time.perf_counter() - (QUIET if num_nodes > SMALL else 0)
        self.named: dict[str, float] = {}

    def say(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)

    def on_epoch(self, progress: Seen) -> None:
        """Called after every epoch."""
        raise NotImplementedError

    def on_stage(self, stage: Stage) -> None:
        """Called when a stage begins, moves on and ends."""
        now = time.perf_counter()
        if stage.is_note:
            self.say(stage.name)
        elif not stage.done:
            if now - self.started >= QUIET and stage.name not in self.named:
                self.say(f"{stage.name} ...")
            self.named[stage.name] = now
        elif stage.total and 0 < stage.done < stage.total and now - self.named[stage.name] >= PAUSE:
            self.say(f"{stage.name} {100 * stage.done / stage.total:.0f} %")
            self.named[stage.name] = now

    def end(self) -> None:
        """Called when the training is over."""


class Lines(Watch):
    """A line every `EVERY` seconds, for a file, a pipe, a log."""

    def __init__(self, label: str, num_nodes: int, console: Console) -> None:
        super().__init__(label, num_nodes, console)
        self.split, self.before = -1, 0
        self.began = self.last = self.told = time.perf_counter()

    def on_epoch(self, progress: Seen) -> None:
        now = time.perf_counter()
        if progress.split != self.split:  # it began when the epoch before ended
            self.split, self.before, self.began = progress.split, progress.epoch, self.last
        self.last = now
        if now - self.told >= EVERY:
            self.told = now
            speed = (now - self.began) / (progress.epoch + 1 - self.before)
            left = speed * (progress.epochs - progress.epoch - 1)
            what = f"{named(self.label, progress)}: {counted(progress)}"
            self.say(f"{what}, {left:.0f} s left, {in_words(progress)}")


class NotebookLine(Watch):
    """One line under the cell of a notebook, which changes its text; no widget, so that a saved file shows it too."""

    def __init__(self, label: str, num_nodes: int, console: Console) -> None:
        super().__init__(label, num_nodes, console)
        self.handle: Any = None
        self.told, self.last = 0.0, ""

    def say(self, text: str) -> None:
        from IPython import display as shown

        display: Any = shown.display  # without annotations

        if self.handle is None:
            self.handle = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self.handle.update({"text/plain": text}, raw=True)

    def on_epoch(self, progress: Seen) -> None:
        self.last = f"{named(self.label, progress)}: {counted(progress)}, {in_words(progress)}"
        if time.perf_counter() - self.told >= BLINK:
            self.told = time.perf_counter()
            self.say(self.last)

    def end(self) -> None:
        if self.last:
            self.say(self.last)


class _Bars(Progress):
    """A bar per split; in a narrow terminal what the last one says of itself stands below."""

    below = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        if self.below and is_narrow(self.console):
            yield Text(f"  {self.below}", no_wrap=True, overflow="ellipsis")


class Bar(Watch):
    """A bar in a terminal: epochs, time left, validation accuracy, loss and the heuristics' probabilities."""

    def __init__(self, label: str, num_nodes: int, console: Console) -> None:
        super().__init__(label, num_nodes, console)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn(
                "{task.fields[state]}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
        )  # last what may be cut off where the terminal is narrow
        self.bars = _Bars(*columns, console=console, expand=True, refresh_per_second=4)
        self.tasks: dict[int, TaskID] = {}
        self.bars.start()

    def on_epoch(self, progress: Seen) -> None:
        if progress.split not in self.tasks:
            for done in self.tasks.values():
                self.bars.update(done, total=self.bars.tasks[done].completed)
            name = named(self.label, progress)
            self.tasks[progress.split] = self.bars.add_task(name, total=progress.epochs, state="")
        accuracy = "" if progress.val_accuracy is None else f"val {100 * progress.val_accuracy:.1f}%"
        status = f"loss {progress.loss:.3f} {probabilities(progress)}".rstrip()
        self.bars.below = status
        state = accuracy if is_narrow(self.console) else f"{accuracy} {status}"
        self.bars.update(self.tasks[progress.split], completed=progress.epoch + 1, state=state)

    def end(self) -> None:
        self.bars.stop()


@contextmanager
def watching(label: str, num_nodes: int, console: Console) -> Iterator[Watch]:
    """A block in which a training is watched, in the way that suits the console."""
    kind = NotebookLine if console.is_jupyter else Bar if console.is_terminal else Lines
    watch = kind(label, num_nodes, console)
    try:
        yield watch
    finally:
        watch.end()


@contextmanager
def watched(
    environment: Environment, label: str, num_nodes: int, verbose: bool = True
) -> Iterator[Environment]:
    """The environment of a run that is watched on stderr; the environment itself where nobody wants to see anything."""
    if not verbose:
        yield environment
        return
    with watching(label, num_nodes, Console(stderr=True, highlight=False)) as watch:

        def on_epoch(progress: Seen) -> None:
            watch.on_epoch(progress)
            environment.on_epoch(progress)

        yield replace(environment, on_epoch=on_epoch, log=Log(watch.on_stage))


def is_narrow(console: Console) -> bool:
    return console.width < NARROW


def named(label: str, progress: Seen) -> str:
    return f"{label} split {progress.split + 1}/{progress.num_splits}"


def counted(progress: Seen) -> str:
    return f"epoch {progress.epoch + 1}/{progress.epochs}"


def in_words(progress: Seen) -> str:
    """Scores of an epoch, and how likely each heuristic is, in percent.

    >>> in_words(Seen(0, 1, 4, 9, 1.25, 0.5, {"1-hop": 0.75, "knn": 0.25}))
    'val 50.0 %, loss 1.250 1-hop 75 knn 25'
    """
    accuracy = "" if progress.val_accuracy is None else f"val {100 * progress.val_accuracy:.1f} %, "
    return f"{accuracy}loss {progress.loss:.3f} {probabilities(progress)}".rstrip()


def probabilities(progress: Seen) -> str:
    return " ".join(f"{name} {100 * share:.0f}" for name, share in progress.status.items())
