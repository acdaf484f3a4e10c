"""`ansgt reproduce`: the paper's tables and figures, from stored records or trained anew."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, ClusterOption, JsonFlag, RootOption, executor_of, say, tell, verb


def register(app: typer.Typer) -> None:
    app.command("reproduce")(verb(render)(reproduce))


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of tables and figures, or all.", show_default=False)
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Say what there is and what is missing; write nothing.")
    ] = False,
    source: Annotated[
        str, typer.Option("--from", help="records (those of the repository), or a folder of records.")
    ] = "records",
    train: Annotated[
        bool, typer.Option("--train", help="Make the records anew; goes on where it was interrupted.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarse grid of short trainings, in minutes.")
    ] = False,
    num_splits: Annotated[
        int | None,
        typer.Option("--splits", min=1, help="Splits or seeds per cell (default: three; quick: one)."),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Settings of ANS-GT: shipped, or those of the paper's section 6.1 (paper).")
    ] = "shipped",
    split: Annotated[str, typer.Option(help="The split that every training uses.")] = "uniform-60-20-20",
    large: Annotated[bool, typer.Option("--large", help="A graph of 2.4 million nodes too.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Also index.html: one offline page of everything that is named.")
    ] = False,
    output: Annotated[Path, typer.Option(help="Folder of what is written.")] = Path("runs/reproduce"),
    root: RootOption = "data",  # type: ignore[assignment]
    cache_dir: CacheOption = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    workers: Annotated[
        int | None, typer.Option(help="Trainings at a time (default: one per CPU core; times one by one).")
    ] = None,
    cluster: ClusterOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Reproduce tables and figures of the paper: from stored records, or with --train anew."""
    from ansgt.device import resolve_device
    from ansgt.errors import InputError, unknown_name
    from ansgt.reproduce import ALL, resolve_items
    from ansgt.reproduce.page import write_page
    from ansgt.reproduce.records import stored_records
    from ansgt.reproduce.task import PRESETS, Setup
    from ansgt.reproduce.train import default_workers, make_records, records_folder
    from ansgt.reproduce.write import missing_words, outcome, write_item
    from ansgt.runs.executors import Workers

    if not names and not list_only:
        raise InputError("Give the name of a table or figure, or all; --list shows the names.")
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    if train and source != "records":
        raise InputError("--train makes records in --output; it cannot be combined with --from.")
    items = resolve_items(names or [ALL])
    failed: dict[str, str] = {}
    setup = Setup(root, cache_dir, resolve_device(device), preset, quick, num_splits, split, large)
    if train and not list_only:
        with executor_of(cluster, workers) as executor:
            number = workers or (default_workers() if setup.device == "cpu" else 1)
            for item in items:
                told = partial(_tell, item.name)
                failed |= make_records(item, setup, output, told, Workers(number, executor))
    folder = records_folder(output) if train else stored_records() if source == "records" else Path(source)
    if not train and not folder.is_dir():
        raise InputError(f"The folder of records {folder} does not exist.")
    found, outcomes = [], []
    for item in items:
        result = outcome(item, folder, setup)
        outcomes.append(result)
        files = [] if list_only else [str(path) for path in write_item(result, output)]
        words = missing_words(result)
        found.append(
            {
                "name": item.name,
                "place": item.place,
                "title": item.title,
                "command": result.command,
                "files": files,
                "records": len(result.used),
                "missing": list(result.missing),
                "missing_hours": round(result.hours, 2),
                "words": words,
            }
        )
    page = ""
    if html and not list_only:
        page = str(write_page(outcomes, output, f"ansgt reproduce {' '.join(names or [])} --html"))
    return {"items": found, "failed": failed, "page": page}


def _tell(name: str, progress: Any) -> None:
    tell(_line(progress), f"{name}:")


def _line(progress: Any) -> str:
    state = f"failed, {progress.error}" if progress.error else f"{progress.seconds:.0f} s"
    left = "" if progress.done == progress.total else f"; about {_duration(progress.left)} left"
    return f"{progress.done}/{progress.total} {progress.path.rsplit('/', 1)[-1]}: {state}{left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def render(result: dict[str, Any]) -> None:
    for item in result["items"]:
        say(f"{item['name']:24s} {item['place']:10s} {item['records']} records")
        for path in item["files"]:
            say(f"  {path}")
        if item["words"]:
            say(f"  {item['words']}")
    if result["page"]:
        say(result["page"])
