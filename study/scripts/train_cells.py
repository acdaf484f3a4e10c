"""Trains models with their shipped settings over splits, many at a time on one device, and keeps one line per split.

    python -m study.scripts.train_cells --root DATA --seconds 400 --workers 14 --out $OUT \\
        --cells ansgt@cora@uniform-60-20-20 ansgt:fixed@cora@uniform-60-20-20 gcn@cora@per-class-60-20-20

A cell is model[:sampling]@data set@split; `sampling` is ANS-GT's switch (adaptive, fixed, or one heuristic). Cells are
trained in the order given, so that running out of time costs the last ones. A line of results.jsonl is one trained
split: accuracies, split hash, seed, learned probabilities, settings and versions. `study.scripts.collect` turns such
files into study/results/runs/*.json, and `make results` those into study/results.md.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from ansgt.config import parse_override
from ansgt.datasets.load import Source
from ansgt.device import release_memory
from ansgt.runs.prepare import prepare_run
from ansgt.runs.record import versions
from ansgt.storage import DiskCache
from study.scripts.one_split import train_once
from study.scripts.pool import add_pool_options, run_pool


def plan(cells: list[str], splits: int) -> list[dict[str, Any]]:
    """One task per split in the order of the cells, and before them one of every graph and kind of split.

    Those first ones fill the caches on disk (heuristics, compiled code), which otherwise all workers would at once.
    """
    tasks = []
    for cell in cells:
        model, dataset, split = cell.split("@")
        model, _, sampling = model.partition(":")
        task: dict[str, Any] = {
            "model": model,
            "sampling": sampling or None,
            "dataset": dataset,
            "split": split,
        }
        tasks += [{**task, "index": index} for index in range(splits)]
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    for task in tasks:
        kinds.setdefault((task["model"], task["dataset"], task["split"]), task)
    return [*kinds.values(), *(task for task in tasks if task not in kinds.values())]


def train_one(task: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    started = time.perf_counter()
    overrides = dict(map(parse_override, options.override or []))
    if task["sampling"]:
        overrides["sampling"] = task["sampling"]
    data, config = prepare_run(
        task["dataset"],
        task["model"],
        source=Source(options.root, options.cache),
        split=task["split"],
        device=options.device,
        overrides=overrides,
    )
    split = data.split(task["split"], task["index"], config.seed)
    trained = train_once(config, data.graph, split, DiskCache(options.cache))
    record = trained.result | task | {"seed": config.seed, "data_variant": data.variant}
    record |= {"config": config.as_dict()}
    record |= {"versions": versions(), "seconds_all": time.perf_counter() - started}
    release_memory(options.device)
    return record


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", nargs="+", required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--override", "-o", action="append")
    add_pool_options(parser)
    options = parser.parse_args()
    run_pool(train_one, plan(options.cells, options.splits), options, Path(options.out) / "results.jsonl")


if __name__ == "__main__":
    main()
