"""Trains models with their shipped settings over splits, many at a time on one device, and keeps a line per split.

    python benchmarks/results.py --root DATA --seconds 400 --workers 14 --out $OUT \\
        --cells ansgt@cora@uniform-60-20-20 ansgt:fixed@cora@uniform-60-20-20 gcn@cora@per-class-60-20-20

A cell is model[:sampling]@data set@split; `sampling` is ANS-GT's switch (adaptive, fixed, or one heuristic). Cells are
trained in the order given, so that running out of time costs the last ones. A line of results.jsonl is one trained split:
accuracies, split hash, seed, learned probabilities, settings and versions. `benchmarks/collect.py` turns such files into
results/*.json, and those into docs/results.md.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.pool import add_pool_options, run_pool


def plan(cells: list[str], splits: int) -> list[dict[str, Any]]:
    """Tasks, a split each, in the order of the cells; before them one of every graph and kind of split.

    Those first ones fill the caches on disk (heuristics, compiled code), which otherwise all workers would at once.
    """
    tasks = []
    for cell in cells:
        model, dataset, split = cell.split("@")
        model, _, sampling = model.partition(":")
        task = {"model": model, "sampling": sampling or None, "dataset": dataset, "split": split}
        tasks += [{**task, "index": index} for index in range(splits)]
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    for task in tasks:
        kinds.setdefault((task["model"], task["dataset"], task["split"]), task)
    return [*kinds.values(), *(task for task in tasks if task not in kinds.values())]


def train_one(task: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    from ansgt.pipeline import prepare_run
    from ansgt.storage import DiskCache
    from ansgt.training.fit import release_memory, train_split
    from ansgt.training.records import versions

    started = time.perf_counter()
    overrides = list(options.override or [])
    if task["sampling"]:
        overrides.append(f"sampling={task['sampling']}")
    shared = {"root": options.root, "device": options.device, "cache_dir": options.cache}
    data, config = prepare_run(
        task["dataset"], task["model"], split=task["split"], overrides=overrides, **shared
    )
    split = data.split(task["split"], task["index"], config.seed)
    with tempfile.TemporaryDirectory() as folder:
        train_split(config, data.graph, split, Path(folder), DiskCache(options.cache), None, 1e9)
        record = json.loads((Path(folder) / "result.json").read_text())
    record |= {**task, "seed": config.seed, "data_variant": data.variant, "config": config.as_dict()}
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
