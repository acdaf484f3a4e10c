"""`Item`: a table or figure of the paper. What records it needs, and what it shows of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Number, Table
from ansgt.reproduce.task import Setup, Task

Draw = Callable[[Any], None]
"""Draws on matplotlib's axes (an array of them for several columns)."""


@dataclass(frozen=True)
class Picture:
    """A picture that is drawn when its file is written.

    Args:
        words: what it shows, for those who do not see it.
        draw: gets the axes.
        width, height: in inches.
        columns: how many axes stand side by side.
    """

    words: str
    draw: Draw
    width: float = 5.5
    height: float = 3.4
    columns: int = 1


@dataclass(frozen=True)
class Shown:
    """What an item shows.

    Args:
        tables: its numbers.
        remarks: sentences below them, computed from the same records.
        pictures: the first has the item's name, the others a number behind it.
        behind: numbers that the tables were computed from, for the .csv and .json alone.
    """

    tables: Sequence[Table]
    remarks: Sequence[str] = ()
    pictures: Sequence[Picture] = field(default_factory=list)
    behind: Sequence[Table] = ()


class Item(ABC):
    """A table or figure. `name` is what the command line calls it, `place` what the paper calls it."""

    name: ClassVar[str]
    place: ClassVar[str]
    title: ClassVar[str]
    has_presets: ClassVar[bool] = True
    """Whether settings of ANS-GT decide its numbers."""
    alone: ClassVar[bool] = False
    """Whether its records are times, which are measured one after another."""
    made_by: ClassVar[str] = ""
    """What makes its records, where it reads those of other items."""

    def path(self, setup: Setup, record: str) -> str:
        """Where a record of this item lies."""
        full = setup.preset if self.has_presets else "full"
        quick = f"{full}-quick" if self.has_presets else "quick"
        return f"reproduce/{self.name}/{quick if setup.quick else full}/{record}"

    @abstractmethod
    def tasks(self, setup: Setup) -> Sequence[Task]:
        """What makes the records."""

    @abstractmethod
    def show(self, records: Records, setup: Setup) -> Shown:
        """Tables, remarks and pictures, from records alone."""


def accuracy(
    records: Records, task: Task, paper: float | None = None, paper_spread: float | None = None
) -> Number:
    """Mean test accuracy over the splits of a record, in percent."""
    found = records.get(task.path, task.seconds)
    if found is None:
        return Number(None, None, paper, paper_spread, f"{task.path}.json")
    cell = found.cell
    assert cell.mean is not None
    assert cell.std is not None
    spread = 100 * cell.std if len(cell.per_split) > 1 else None
    return Number(100 * cell.mean, spread, paper, paper_spread, found.path, found, len(cell.per_split))


def measured(records: Records, task: Task, key: str, paper: float | None = None) -> Number:
    """A value that a record holds under `key`."""
    found = records.get(task.path, task.seconds)
    if found is None:
        return Number(None, None, paper, record=f"{task.path}.json")
    value: Any = found.content["values"].get(key)
    return Number(value, None, paper, record=found.path, source=found)


def work_folder(out: Path, task: Task) -> Path:
    """Where a task keeps what it needs to go on after it was killed."""
    return out / "work" / task.path
