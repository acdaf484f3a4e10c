"""Turns results.jsonl files and run directories into one JSON file per model, data set and kind of split.

    python -m study.scripts.collect FILE.jsonl|RUN_DIR... [--into study/results/runs]

A run directory is what `ansgt train` wrote, or any folder of such directories (as `ansgt compare` writes).

A file holds settings and versions once and one row per split; a later line for the same split replaces an earlier one.
The fixed mixture and the single heuristics of `ansgt` are models of their own here: ansgt-fixed, ansgt-1-hop, ...
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansgt.runs.folder import RunFolder
from ansgt.runs.record import models_of
from study.records import RESULTS

ROW = (
    "index",
    "test_accuracy",
    "val_accuracy",
    "best_epoch",
    "epochs_run",
    "seconds",
    "split_hash",
    "prediction_hash",
)
ONCE = ("dataset", "data_variant", "split", "seed", "num_parameters", "heuristics", "config", "versions")


def cell_name(record: dict[str, Any]) -> str:
    sampling = record.get("sampling")
    return record["model"] if sampling in (None, "adaptive") else f"{record['model']}-{sampling}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS / "runs")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        for record in of_runs(file) if file.is_dir() else of_lines(file):
            if "error" in record:
                print(f"{file}: {record['error']}")
                continue
            add(record, options.into)


def of_lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text().splitlines():
        yield json.loads(line)


def of_runs(folder: Path) -> Iterator[dict[str, Any]]:
    """One record per finished split of every run below a folder."""
    for run in map(RunFolder, sorted([folder, *folder.rglob("*/")])):
        if not run.exists:
            continue
        config, info = run.config(), run.info()
        shared = {"model": config.model_name, "dataset": config.dataset, "seed": config.seed}
        shared |= {"sampling": config.settings.get("sampling"), "config": config.as_dict()}
        shared |= {"data_variant": info["variant"], "versions": info["versions"]}
        for result in run.results():
            yield {**result, **shared}


def add(record: dict[str, Any], into: Path) -> None:
    name = cell_name(record)
    path = into / f"{name}--{record['dataset']}--{record['split']}.json"
    cell = json.loads(path.read_text()) if path.exists() else {"splits": []}
    cell["model"] = name
    if record.get("learned"):
        record = record | {"heuristics": list(record["learned"])}
        record["p"] = [round(p, 4) for p in record["learned"].values()]
    cell |= {key: record[key] for key in ONCE if key in record}
    row = {key: record[key] for key in (*ROW, "p") if key in record}
    models = models_of(record)
    if models:  # their accuracies; what they learned is in p, averaged
        row["models"] = [{key: value for key, value in one.items() if key != "learned"} for one in models]
    others = [old for old in cell["splits"] if old["index"] != row["index"]]
    cell["splits"] = sorted([*others, row], key=lambda split: split["index"])
    path.write_text(json.dumps(cell, indent=1) + "\n")


if __name__ == "__main__":
    main()
