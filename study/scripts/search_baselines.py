"""Equal-budget search for the settings of the baselines: the same number of trials for every model and data set.

    python -m study.scripts.search_baselines --datasets texas,wisconsin --root DATA --trials 20 --workers 2
    python -m study.scripts.search_baselines --best          # the winners as YAML, from the log

Trial 0 is the shipped file (published values); trials 1.. are drawn without repetition from the model's space below
with a seed of their own, so that trial i of a cell is the same whoever runs it. A trial's score is the mean validation
accuracy over `--num-splits` splits; the test part is never looked at. Every trial is one line of JSON in
study/results/search/<split>.jsonl (taken out of the archive if need be). Trials that are in the log are skipped, so a
search may be stopped and continued, or spread over machines and the logs concatenated.
"""

import argparse
import itertools
import json
import multiprocessing
import random
import tempfile
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from ansgt.datasets.load import Source
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.run import Environment, run
from ansgt.storage import DiskCache, default_cache_dir
from study.records import SEARCHES, read_log, unpacked_log

Space = dict[str, list[Any]]
"""Setting -> the values it may take."""

GNN_OPTIM: Space = {"optim.lr": [0.002, 0.01, 0.05, 0.1], "optim.weight_decay": [0.0, 5e-5, 5e-4, 5e-3]}
TRANSFORMER_OPTIM: Space = {"optim.lr": [3e-4, 1e-3, 3e-3], "optim.weight_decay": [1e-3, 1e-2, 1e-1]}
DROPOUTS: Space = {"model.dropout": [0.0, 0.3, 0.5, 0.7], "model.input_dropout": [0.0, 0.5, 0.8]}
FEATURES: Space = {"data.normalize_features": ["row", "none"]}
GNN: Space = {**GNN_OPTIM, **DROPOUTS, **FEATURES}
TRANSFORMER: Space = {
    **TRANSFORMER_OPTIM,
    **DROPOUTS,
    **FEATURES,
    "model.hidden_channels": [64, 128],
    "model.num_layers": [1, 2, 3],
}

SPACES: dict[str, Space] = {
    "mlp": {**GNN, "model.hidden_channels": [64, 256]},
    "gcn": {**GNN, "model.hidden_channels": [64, 256]},
    "gat": {**GNN, "model.hidden_channels": [8, 32], "model.attention_dropout": [0.0, 0.5]},
    "sage": {**GNN, "model.hidden_channels": [64, 256]},
    "jknet": {**GNN, "model.hidden_channels": [32, 64], "model.mode": ["cat", "max"]},
    "appnp": {**GNN, "model.alpha": [0.1, 0.2, 0.5, 0.9], "model.hidden_channels": [64, 256]},
    "geomgcn": {**GNN, "model.hidden_channels": [16, 32], "model.embedding": ["isomap", "poincare"]},
    "h2gcn": {**GNN, "model.num_rounds": [1, 2], "model.activation": [False, True]},
    "gprgnn": {
        **GNN_OPTIM,
        **FEATURES,
        "model.dropout": [0.3, 0.5, 0.7],
        "model.alpha": [0.1, 0.2, 0.5, 0.9, 1.0],
        "model.propagation_dropout": [0.0, 0.5, 0.7],
    },
    "acmgcn": {
        **GNN_OPTIM,
        **FEATURES,
        "model.dropout": [0.1, 0.3, 0.5, 0.7],
        "model.variant": [False, True],
        "model.residual": [False, True],
    },
    "gt": {**TRANSFORMER, "model.num_eigenvectors": [4, 8, 16]},
    "san": {**TRANSFORMER, "model.gamma": [1e-5, 1e-2, 1e-1]},
    "graphormer": {**TRANSFORMER, "model.max_distance": [3, 8, 20]},
    "gophormer": {
        **TRANSFORMER,
        "model.num_layers": [1, 2],
        "model.fanout": [3, 5, 10],
        "model.depth": [1, 2],
        "model.consistency_weight": [0.0, 0.5],
    },
}
"""Model -> setting -> values. Every model gets the same number of trials, however large its space."""


def trial_settings(model: str, dataset: str, trial: int) -> dict[str, Any]:
    """The settings of a trial; {} for trial 0, the shipped file."""
    if trial == 0:
        return {}
    space = SPACES[model]
    size = 1
    for values in space.values():
        size *= len(values)
    if trial > size:
        raise ValueError(f"The space of {model} has only {size} points.")
    generator = random.Random(f"{model}/{dataset}")
    draw: list[int] = []
    while len(draw) < trial:
        number = generator.randrange(size)
        draw += [number] if number not in draw else []
    chosen = {}
    for key, values in space.items():
        number, at = divmod(number, len(values))
        chosen[key] = values[at]
    return chosen


def as_texts(settings: dict[str, Any]) -> list[str]:
    """Settings as a line of the log has them, `key=value`."""
    return [f"{key}={json.dumps(value)}" for key, value in settings.items()]


def run_trial(job: dict[str, Any]) -> dict[str, Any]:
    """Trains one trial; returns its line of the log. Only validation accuracies are read from the records."""
    torch.set_num_threads(job.pop("threads"))
    source = Source(job.pop("root"), job.pop("cache_dir"))
    started = time.perf_counter()
    settings = trial_settings(job["model"], job["dataset"], job["trial"])
    line = {**job, "overrides": as_texts(settings)}
    try:
        data, config = prepare_run(
            job["dataset"],
            job["model"],
            source=source,
            split=job["split"],
            num_splits=job["num_splits"],
            seed=job["seed"],
            device=job["device"],
            overrides=settings,
        )
        environment = Environment(DiskCache(source.cache_dir or default_cache_dir()))
        with tempfile.TemporaryDirectory() as folder:
            run(config, data, folder, environment=environment)
            scores = [result["val_accuracy"] for result in RunFolder(Path(folder)).results()]
        line |= {"val_accuracy": sum(scores) / len(scores), "val_per_split": scores, "error": None}
    except Exception as error:
        line |= {"val_accuracy": None, "error": f"{type(error).__name__}: {error}".splitlines()[0]}
    return {**line, "seconds": round(time.perf_counter() - started, 2)}


def key_of(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("model", "dataset", "trial", "num_splits", "seed"))


def best_trials(lines: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """(model, dataset) -> the line with the best validation accuracy; ties go to the earlier trial."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for line in sorted(lines, key=lambda entry: entry["trial"]):
        if line["val_accuracy"] is not None:
            at = (line["model"], line["dataset"])
            if at not in best or line["val_accuracy"] > best[at]["val_accuracy"]:
                best[at] = line
    return best


def print_best(split: str) -> None:
    """The winners as the sections of a settings file."""
    lines = read_log(SEARCHES / f"{split}.jsonl")
    for (model, dataset), line in sorted(best_trials(lines).items()):
        trials = [e for e in lines if (e["model"], e["dataset"]) == (model, dataset)]
        first = next((e["val_accuracy"] for e in trials if e["trial"] == 0), None)
        print(
            f"# {model}: trial {line['trial']} of {len(trials)}, val {line['val_accuracy']:.4f}, shipped {first}"
        )
        sections: dict[str, list[str]] = {}
        for override in line["overrides"]:
            key, _, value = override.partition("=")
            section, _, name = key.partition(".")
            sections.setdefault(section, []).append(f"{name}: {value}")
        print(f"{dataset}:")
        for section, values in sections.items():
            print(f"  {section}: {{{', '.join(values)}}}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default=",".join(SPACES))
    parser.add_argument("--datasets", default="texas,cornell,wisconsin")
    parser.add_argument("--split", default="per-class-60-20-20")
    parser.add_argument("--num-splits", type=int, default=3)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--root", default="data")
    parser.add_argument("--cache-dir", default=None)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of a worker")
    parser.add_argument("--max-seconds", type=float, default=float("inf"), help="start no trial after this")
    parser.add_argument("--skip-cells", default="", help="model/dataset, separated by commas: not run")
    parser.add_argument("--best", action="store_true", help="print the winners from the log and stop")
    args = parser.parse_args()
    if args.best:
        print_best(args.split)
        return
    search(args)


def search(args: argparse.Namespace) -> None:
    """All trials that the log does not hold yet, trial 0 of every cell first, so that a stopped search is still equal."""
    log_file = unpacked_log(f"{args.split}.jsonl")
    done = {key_of(line) for line in read_log(log_file) if line["error"] is None}
    common = {name: getattr(args, name) for name in ("split", "num_splits", "seed", "device")}
    machine = {name: getattr(args, name) for name in ("threads", "root", "cache_dir")}
    cells = itertools.product(range(args.trials), args.datasets.split(","), args.models.split(","))
    jobs = [{"model": m, "dataset": d, "trial": t, **common, **machine} for t, d, m in cells]
    left_out = set(args.skip_cells.split(","))
    jobs = [j for j in jobs if key_of(j) not in done and f"{j['model']}/{j['dataset']}" not in left_out]
    deadline = time.monotonic() + args.max_seconds
    print(f"{len(jobs)} trials to do, {len(done)} in the log")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.workers, mp_context=context) as pool, log_file.open("a") as log:
        waiting: set[Future[dict[str, Any]]] = set()
        queue = iter(jobs)
        for number in itertools.count(1):
            while len(waiting) < 2 * args.workers and time.monotonic() < deadline:
                job = next(queue, None)
                if job is None:
                    break
                waiting.add(pool.submit(run_trial, job))
            if not waiting:
                break
            future = next(as_completed(waiting))
            waiting.remove(future)
            line = future.result()
            log.write(json.dumps(line) + "\n")
            log.flush()
            score = line["error"] or f"val {line['val_accuracy']:.4f}"
            print(
                f"{number} {line['model']} {line['dataset']} trial {line['trial']}: {score}, {line['seconds']} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
