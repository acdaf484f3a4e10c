"""The progress bar of training: epoch, loss, validation accuracy, the learner's own words, time left. On stderr."""

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

from ansgt.cli.common import err
from ansgt.training.fit import Progress, Report


@contextmanager
def training_bar(label: str) -> Iterator[Report]:
    """Yields the function that `run` calls after every epoch."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
    )  # last what may be cut off where the terminal is narrow
    with Bar(
        *columns, console=err, transient=False, expand=True, refresh_per_second=4, disable=not err.is_terminal
    ) as bar:
        tasks: dict[int, TaskID] = {}

        def report(progress: Progress) -> None:
            if progress.split not in tasks:
                for done in tasks.values():
                    bar.update(done, total=bar.tasks[done].completed)
                name = f"{label} split {progress.split + 1}/{progress.num_splits}"
                tasks[progress.split] = bar.add_task(name, total=progress.epochs, words="")
            accuracy = "" if progress.val_accuracy is None else f"val {100 * progress.val_accuracy:.1f}% "
            status = " ".join(f"{name} {100 * value:.0f}" for name, value in progress.status.items())
            words = f"{accuracy}loss {progress.loss:.3f} {status}"
            bar.update(tasks[progress.split], completed=progress.epoch + 1, words=words)

        yield report
