"""ANS-GT, its fixed mixture (HGT) and each single heuristic with the shipped settings: ten splits, two kinds of split.

    python benchmarks/results_ansgt.py --root DATA --seconds 400 --workers 14 --out $OUT

A line of results_ansgt.jsonl is one trained split: accuracies, split hash, learned probabilities, settings and
versions. Most wanted first (adaptive on both kinds, then the fixed mixture, then the single heuristics), so that
running out of time leaves whole tables. `python benchmarks/collect_results.py` turns it into results/*.json.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.pool import run_pool

DATASETS = ("squirrel", "pubmed", "chameleon", "actor", "cora", "citeseer", "texas", "cornell", "wisconsin")
VARIANTS = ("adaptive", "fixed", "1-hop", "2-hop", "ppr", "knn")
KINDS = ("uniform-60-20-20", "per-class-60-20-20")


def plan(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Tasks, most wanted first."""
    return [
        {"dataset": dataset, "split": kind, "index": index, "variant": variant}
        for variant in options.variants.split(",")
        for kind in options.kinds.split(",")
        for dataset in options.datasets.split(",")
        for index in range(options.splits)
    ]


def train_one(task: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    import tempfile

    from ansgt.pipeline import prepare_run
    from ansgt.storage import DiskCache
    from ansgt.training.fit import release_memory, train_split
    from ansgt.training.records import versions

    started = time.perf_counter()
    overrides = [f"sampling={task['variant']}", *(options.override or [])]
    shared = {"root": options.root, "device": options.device, "cache_dir": options.cache}
    data, config = prepare_run(task["dataset"], "ansgt", split=task["split"], overrides=overrides, **shared)
    split = data.split(task["split"], task["index"], config.seed)
    with tempfile.TemporaryDirectory() as folder:
        learner: Any = train_split(
            config, data.graph, split, Path(folder), DiskCache(options.cache), None, 1e9
        )
        record = json.loads((Path(folder) / "result.json").read_text())
    record |= {**task, "model": "ansgt", "p": [round(p, 4) for p in learner.p.tolist()], "seed": config.seed}
    record |= {"heuristics": learner.settings.active_heuristics, "variant_of_data": data.variant}
    record |= {
        "config": config.as_dict(),
        "versions": versions(),
        "seconds_all": time.perf_counter() - started,
    }
    del learner
    release_memory(options.device)
    return record


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--override", "-o", action="append")
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    options = parser.parse_args()
    run_pool(train_one, plan(options), options, Path(options.out) / "results_ansgt.jsonl")


if __name__ == "__main__":
    main()
