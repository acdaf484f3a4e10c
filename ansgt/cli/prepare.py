"""`ansgt prepare GRAPH`: the heuristics' rows of a graph, computed once and stored, for any number of runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, err, leads, plain, say, tell, verb
from ansgt.cli.train import DatasetArgument

if TYPE_CHECKING:
    from ansgt.runs.rows import OnRows

LINES = 2.0
"""Seconds between two lines where stderr is no terminal."""


def register(app: typer.Typer) -> None:
    app.command("prepare")(verb(render, shared=True)(prepare))


def prepare(
    dataset: DatasetArgument,
    root: RootOption = "data",  # type: ignore[assignment]
    split: Annotated[
        str | None, typer.Option(help="Whose settings are meant, where a file has several (as for train).")
    ] = None,
    device: Annotated[str, typer.Option(help="The device of the runs to come: auto, cpu, cuda.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A settings file in place of the shipped one.")] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("-o", "--override", metavar="KEY=VALUE", help="Change one setting, as for train."),
    ] = None,
    cache_dir: CacheOption = None,
    allow_changed_data: Annotated[
        bool,
        typer.Option("--allow-changed-data", help="Accept raw files that differ from the published ones."),
    ] = False,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Compute and store whom the heuristics propose to every node; `ansgt train` with the same settings reads it.

    Killed at any moment it goes on where it was: the same command computes what is missing.
    """
    from ansgt.datasets.load import Source
    from ansgt.runs.prepare import prepare_run
    from ansgt.runs.rows import store_rows
    from ansgt.storage import DiskCache, default_cache_dir

    source = Source(root, cache_dir, allow_changed_data)
    with err.status(plain(f"loading {dataset}")):
        data, settings = prepare_run(
            dataset,
            "ansgt",
            source=source,
            split=split,
            device=device,
            config=config,
            overrides=override or (),
        )
    with rows_bar() as on_rows:
        return store_rows(settings, data.graph, DiskCache(cache_dir or default_cache_dir()), on_rows)


@contextmanager
def rows_bar() -> Iterator["OnRows"]:
    """Yields the function that `store_rows` calls: a bar per heuristic with the time left, or a line now and then."""
    if not leads():
        yield lambda stored: None
        return
    if not err.is_terminal:
        yield _Lines()
        return
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from ansgt.runs.rows import Stored

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} rows"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err) as bar:
        tasks: dict[str, TaskID] = {}

        def show(stored: Stored) -> None:
            if stored.heuristic not in tasks:
                tasks[stored.heuristic] = bar.add_task(stored.heuristic, total=stored.num_rows)
            bar.update(tasks[stored.heuristic], completed=stored.rows)

        yield show


class _Lines:
    """Says on stderr how far a heuristic is and what is left, from the speed since it began."""

    def __init__(self) -> None:
        self.heuristic, self.before, self.began, self.told = "", 0, 0.0, 0.0

    def __call__(self, stored: Any) -> None:
        now = time.monotonic()
        if stored.heuristic != self.heuristic:
            self.heuristic, self.before, self.began, self.told = stored.heuristic, stored.rows, now, now
            tell(f"{stored.rows:,} of {stored.num_rows:,} rows are there", stored.heuristic, "bold")
            return
        finished = stored.rows == stored.num_rows
        if now - self.told < LINES and not finished:
            return
        self.told = now
        speed = (stored.rows - self.before) / max(now - self.began, 1e-9)
        left = "" if finished else f", {(stored.num_rows - stored.rows) / speed:.0f} s left"
        tell(f"{stored.rows:,} of {stored.num_rows:,} rows{left}", stored.heuristic, "bold")


def render(result: dict[str, Any]) -> None:
    peak = result["peak_bytes"]
    at_most = "" if peak is None else f", at most {peak / 2**30:.2f} GiB of memory"
    say(f"rows of {', '.join(result['heuristics'])} for {result['dataset']}", style="bold")
    say(f"{result['shards']} shards of {result['bytes'] / 2**20:,.1f} MiB in {result['store']}")
    say(f"{result['seconds']:.1f} s{at_most}")
