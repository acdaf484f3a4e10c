"""What stderr shows of a training: a bar with epoch, time left, loss, validation accuracy and probabilities; stages."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Column

from ansgt.cli.common import err, tell
from ansgt.runs.run import OnEpoch, Progress
from ansgt.stages import Stage

QUIET, PAUSE = 2.0, 5.0
"""Seconds of a small graph's stages that need no words, and between two words about one stage."""
SMALL = 6_000
"""Nodes of a graph whose stages take less than `QUIET` seconds each."""


@contextmanager
def training_bar(label: str) -> Iterator[OnEpoch]:
    """Yields the function that `run` calls after every epoch."""
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
    with Bar(
        *columns, console=err, transient=False, expand=True, refresh_per_second=4, disable=not err.is_terminal
    ) as bar:
        tasks: dict[int, TaskID] = {}

        def show(progress: Progress) -> None:
            if progress.split not in tasks:
                for done in tasks.values():
                    bar.update(done, total=bar.tasks[done].completed)
                name = f"{label} split {progress.split + 1}/{progress.num_splits}"
                tasks[progress.split] = bar.add_task(name, total=progress.epochs, state="")
            accuracy = "" if progress.val_accuracy is None else f"val {100 * progress.val_accuracy:.1f}% "
            status = " ".join(f"{name} {100 * value:.0f}" for name, value in progress.status.items())
            state = f"{accuracy}loss {progress.loss:.3f} {status}"
            bar.update(tasks[progress.split], completed=progress.epoch + 1, state=state)

        yield show


class StageLines:
    """Names the stages on stderr: on a large graph all, else those that begin after `QUIET` seconds; with their progress."""

    def __init__(self, num_nodes: int) -> None:
        self.started = time.perf_counter() - (QUIET if num_nodes > SMALL else 0)
        self.named: dict[str, float] = {}

    def __call__(self, stage: Stage) -> None:
        now = time.perf_counter()
        if stage.is_note:
            tell(stage.name)
        elif not stage.done:
            if now - self.started >= QUIET and stage.name not in self.named:
                tell(f"{stage.name} ...")
            self.named[stage.name] = now
        elif stage.total and 0 < stage.done < stage.total and now - self.named[stage.name] >= PAUSE:
            tell(f"{stage.name} {100 * stage.done / stage.total:.0f} %")
            self.named[stage.name] = now
