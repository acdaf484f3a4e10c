"""Makes records of `ansgt reproduce` many at a time on one device: one line per trained split, joined into records later.

    python -m study.scripts.train_records --root DATA --seconds 400 --workers 14 --out $OUT
    python -m study.scripts.train_records --collect OUT/records.jsonl

The splits of all items are trained in turns: first of every cell the first split, so that running out of time costs the last
ones. `--items` picks items; those whose records are times are made only when they are named, and with one worker.
`--collect` writes study/results/reproduce/; a record of fewer splits says so by their number.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansgt.device import release_memory
from ansgt.reproduce import resolve_items
from ansgt.reproduce.records import run_record
from ansgt.reproduce.task import Setup, Task, TrainedTask, provenance
from ansgt.runs.folder import RunFolder
from ansgt.runs.record import run_info
from ansgt.runs.run import Environment, Job, train_split
from ansgt.storage import write_json
from study.records import RESULTS
from study.scripts.pool import add_pool_options, run_pool

ITEMS = (
    "table-ogb",
    "fig-weights",
    "table-coarsening",
    "fig-sensitivity-cora",
    "fig-sensitivity-actor",
    "fig-sensitivity-citeseer",
    "fig-motivation",
)
"""In the order of their value."""
PAPER_DATASETS = ("cora", "texas")
"""Trained with section 6.1's settings too; an epoch of these takes longest, so they come first."""


Key = tuple[str, str, int]
"""Preset, path of the record, and which of its splits (or seeds): what one process does at a time."""


def all_tasks(names: Sequence[str], setup: Setup, paper: Sequence[str]) -> dict[tuple[str, str], Task]:
    """Section 6.1's first, then those of the items; by preset and path."""
    long = replace(setup, preset="paper")
    [accuracy] = resolve_items(["table-accuracy"])
    first = [
        task
        for task in accuracy.tasks(long)
        if isinstance(task, TrainedTask) and task.model == "ansgt" and task.dataset in paper
    ]
    rest = [task for item in resolve_items(names) for task in item.tasks(setup)]
    return {**{("paper", t.path): t for t in first}, **{(setup.preset, t.path): t for t in rest}}


def plan(tasks: Mapping[tuple[str, str], Task]) -> list[Key]:
    """All splits of section 6.1's, then the first split of every cell, the second of every cell, and so on.

    Pubmed, the largest graph of the tables, comes last of its turn.
    """
    keys = [(*key, index) for key, task in tasks.items() for index in range(number_of(task))]
    return sorted(keys, key=lambda key: (-1 if key[0] == "paper" else key[2], "--pubmed" in key[1]))


def number_of(task: Task) -> int:
    return task.num_splits if isinstance(task, TrainedTask) else 1


def setup_of(options: argparse.Namespace) -> Setup:
    return Setup(
        Path(options.root),
        Path(options.cache),
        options.device,
        quick=options.quick,
        num_splits=options.splits,
    )


def make_part(key: Key, options: argparse.Namespace) -> dict[str, Any]:
    """A record with one row."""
    preset, path, index = key
    task = all_tasks(options.items, setup_of(options), options.paper)[preset, path]
    setup = replace(setup_of(options), preset=preset)
    with tempfile.TemporaryDirectory() as folder:
        where = provenance()
        content = (
            trained_part(task, setup, index, RunFolder(Path(folder)))
            if isinstance(task, TrainedTask)
            else task.measure(setup, Path(folder))
        )
    release_memory(setup.device)
    return {"path": task.path, "asked": task.asked(setup), **where, **content}


def trained_part(task: TrainedTask, setup: Setup, index: int, folder: RunFolder) -> dict[str, Any]:
    runs = task.runs(setup)
    (data, config), split_index = (runs[index], 0) if len(runs) > 1 else (runs[0], index)
    split = data.split(config.split, split_index, config.seed)
    folder.start(replace(config, num_splits=split_index + 1), run_info(data), resume=False, overwrite=False)
    environment = Environment(setup.cache, checkpoint_seconds=float("inf"))
    train_split(Job(config, data.graph, split, folder.split(split_index), environment))
    record = run_record(folder, history=task.history)
    [row] = record["splits"]
    return {**record, "splits": [{**row, "index": index}]}


def collect(lines: Iterable[str], into: Path, commit: str | None = None) -> list[Path]:
    """Joins the lines of each record and writes it; a split that is there twice counts once.

    Args:
        into: folder of the records.
        commit: of the code, where the machine had no repository to ask, or an older one.
    """
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for line in lines:
        part = json.loads(line)
        if "error" in part:
            print(part["task"], part["error"][:200])
            continue
        [row] = part.get("splits", [{"index": 0}])
        found.setdefault(part.pop("path"), {})[row["index"]] = part
    for path, parts in found.items():
        ordered = [parts[index] for index in sorted(parts)]
        rows = [row for part in ordered for row in part.get("splits", [])]
        record = {**ordered[0], **({"splits": rows} if rows else {})}
        write_json(into / f"{path}.json", {**record, "commit": commit or record.get("commit")})
    return [into / f"{path}.json" for path in found]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", nargs="+", default=list(ITEMS))
    parser.add_argument("--name", default="records", help="of the file of lines")
    parser.add_argument("--collect", nargs="+", type=Path)
    parser.add_argument("--commit", help="of the code that made the lines, where the machine could not say")
    parser.add_argument(
        "--paper", nargs="*", default=list(PAPER_DATASETS), help="trained with section 6.1 too"
    )
    parser.add_argument("--splits", type=int)
    parser.add_argument("--done", nargs="*", type=Path, default=[], help="files of lines to go on from")
    parser.add_argument("--quick", action="store_true")
    add_pool_options(parser)
    options = parser.parse_args()
    if options.collect:
        lines = [line for path in options.collect for line in path.read_text().splitlines()]
        print(f"{len(collect(lines, RESULTS, options.commit))} records")
        return
    parts = [json.loads(line) for path in options.done for line in path.read_text().splitlines()]
    done = {(part["path"], row["index"]) for part in parts if "error" not in part for row in part["splits"]}
    keys = plan(all_tasks(options.items, setup_of(options), options.paper))
    tasks = [key for key in keys if key[1:] not in done]
    run_pool(make_part, list(tasks), options, Path(options.out) / f"{options.name}.jsonl")


if __name__ == "__main__":
    main()
