"""Settings and configs, run directories, command lines."""

import contextlib
import json
import multiprocessing
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from fuzz_graphs import NAMES, good_graph, mutate_graph
from fuzz_mutations import (
    Case,
    Refused,
    Rng,
    Wrong,
    evil_value,
    mutate_array,
    mutate_bytes,
    mutate_tree,
    pick,
)
from typer.testing import CliRunner

from ansgt.cli import VERBS, build_app
from ansgt.config import RunConfig
from ansgt.runs.folder import RunFolder, by_model
from ansgt.runs.prepare import Request, build_config, train
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.storage import read_json, write_json

SETTINGS = {
    "default": {
        "model": {"hidden_channels": 64, "num_layers": 2, "dropout": 0.5},
        "optim": {"lr": 0.01, "weight_decay": 0.0, "clip_norm": None, "eps": 1e-8, "beta1": 0.9},
        "train": {"epochs": 3, "patience": None, "select": "loss", "num_models": 1},
        "data": {"normalize_features": "none", "size_columns": True},
    },
    "newman": {"optim": {"lr": 0.1}},
}
YAML_TEXTS = (
    "a: &a [*a]", "!!python/object/apply:os.system [ls]", "a: 2024-99-99", "[" * 3000, "? [a]\n: 1", "a: !!binary x",
    "train: {epochs: 2024-01-01}", "train: {epochs: 1_000}", "train: {epochs: 0x" + "f" * 5000 + "}", "\x00",
    "\t", "---\n---",
    "optim: {lr: !!float nope}", "optim: {lr: 1}\noptim: {lr: 2}", "<<: [1]", "train: &t {<<: *t}",
    "default: [1]", "%TAG ! x",
)  # fmt: skip


def check_config(config: RunConfig) -> None:
    text = json.dumps(config.as_dict(), allow_nan=False)
    if RunConfig.from_dict(json.loads(text)).as_dict() != config.as_dict():
        raise Wrong("a config that does not come back from its file")


def settings_file(rng: Rng, folder: Path) -> None:
    path, model = folder / "s.yaml", pick(rng, ("gcn", "mlp", "ansgt", "gat"))
    how = rng.random()
    tree = SETTINGS if rng.random() < 0.7 else SETTINGS["default"]
    if how < 0.6:
        for _ in range(int(rng.integers(1, 3))):
            tree = mutate_tree(rng, tree)
        content = yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")
    elif how < 0.8:
        content = mutate_bytes(rng, yaml.safe_dump(tree).encode())
    elif how < 0.95:
        content = pick(rng, YAML_TEXTS).encode()
    else:
        content = rng.bytes(200)
    path.write_bytes(content)
    overrides = {}
    if rng.random() < 0.2:
        overrides = {
            pick(rng, ("lr", "optim.lr", "train.epochs", "speed", "a.b", "", "x" * 900)): evil_value(rng)
        }
    check_config(build_config(Request("newman", model, "uniform-60-20-20"), path, overrides))


@cache
def finished() -> tuple[Path, dict[str, Any]]:
    """A small run on a graph file, and what evaluating it gives; made once, before the workers are.

    In a fresh process of its own: forked children of one that has computed may not compute.
    """
    folder = Path(tempfile.mkdtemp(prefix="ansgt-fuzz-"))
    child = multiprocessing.get_context("spawn").Process(target=small_run, args=(folder,))
    child.start()
    child.join()
    return folder / "run", read_json(folder / "evaluated.json")


def small_run(folder: Path) -> None:
    """Trains in `folder/run`, and writes what evaluating it gives."""
    np.savez(folder / "g.npz", **good_graph(np.random.default_rng(0)))
    quick = {"epochs": 2, "hidden_channels": 4}
    train(str(folder / "g.npz"), "mlp", run_dir=folder / "run", device="cpu", overrides=quick)
    write_json(folder / "evaluated.json", evaluate_run(FinishedRun.open(folder / "run", device="cpu")))


def config_file(rng: Rng, folder: Path) -> None:
    tree = RunFolder(finished()[0]).config().as_dict()
    path = folder / "config.json"
    if rng.random() < 0.7:
        for _ in range(int(rng.integers(1, 3))):
            tree = mutate_tree(rng, tree)
        path.write_bytes(json.dumps(tree).encode())
    else:
        path.write_bytes(mutate_bytes(rng, json.dumps(tree).encode()))
    check_config(RunConfig.from_dict(read_json(path)))


def run_directory(rng: Rng, folder: Path) -> None:
    source, expected = finished()
    target = folder / "run"
    shutil.copytree(source, target)
    files = sorted(path for path in target.rglob("*") if path.is_file() and path.name != ".lock")
    for path in (pick(rng, files) for _ in range(int(rng.integers(1, 3)))):
        if not path.is_file():
            continue
        how = rng.random()
        if how < 0.1:
            path.unlink()
        elif how < 0.15:
            path.unlink()
            path.mkdir()
        elif path.suffix == ".json" and how < 0.7:
            path.write_text(json.dumps(mutate_tree(rng, read_json(source / path.relative_to(target)))))
        elif path.suffix == ".npz" and how < 0.7:
            with np.load(source / path.relative_to(target)) as stored:
                arrays = {key: stored[key] for key in stored.files}
            key = pick(rng, arrays)
            arrays[key] = mutate_array(rng, arrays[key])
            np.savez(path, **arrays)
        else:
            path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    run = FinishedRun.open(target, device="cpu")
    result = json.loads(json.dumps(evaluate_run(run)))
    for index in range(run.config.num_splits):
        split = run.folder.split(index)
        by_model(split.metrics())
        by_model(split.history())
        split.predictions()
    if {**result, "run_dir": ""} != {**expected, "run_dir": ""} and result["matches_record"]:
        raise Wrong("a damaged record gives another result")


WORDS = (
    "newman", "g.npz", "none.npz", "run", ".", "", "--json", "--help", "--model", "mlp", "gcn", "gnc",
    "--split", "given", "--seed",
    "-1", "0", "99999999999999999999", "nan", "--num-splits", "2", "--device", "cpu", "tpu", "cuda:9", "-o",
    "lr=nan", "epochs=1",
    "epochs=0", "dropout=2", "=", "a=b", "lr", "--config", "s.yaml", "[/red]", "[bold]", "$x$", "--run-dir",
    "r", "x" * 3000,
    "--output", "p.csv", "p.txt", "--graph", "--node", "--top", "--ratio", "\x1b[31m", "\udcff",
    "newman-0.5", "newman-nan", "--resume",
    "--overwrite", "--method", "9" * 5000, "--root", "--cache-dir",
)  # fmt: skip


EXPERTS: tuple[list[str], ...] = (
    [], [], ["--effort", "quick"], ["--effort", "best"], ["--effort", "much"], ["--time-limit", "1"], ["--time-limit", "-1"],
    ["--time-limit", "nan"], ["--time-limit", "1e-9"], ["--effort", "best", "-o", "num_models=2"], ["--effort", ""],
)  # fmt: skip
BUDGETS: tuple[list[str], ...] = (
    ["--trials", "1"], ["--trials", "2", "--metric", "roc_auc"], ["--trials", "0"], ["--minutes", "nan"],
    ["--minutes", "-1"], ["--minutes", "1e-9"], ["--trials", "1", "--metric", "x"], ["--trials", "1", "--workers", "-1"], [],
)  # fmt: skip
GRAPHS = (["g.npz"], ["newman"], ["tables"], ["tables/edges.csv"], ["synthetic-30"], [])
STARTS: dict[str, tuple[list[str], ...]] = {
    "train": GRAPHS,
    "coarsen": GRAPHS,
    "prepare": GRAPHS,
    "tune": GRAPHS,
    "datasets": (["--root", "."],),
    "settings": ([], ["ansgt"], ["gcn"]),
    "compare": (
        ["--models", "mlp", "--datasets", "newman", "--num-splits", "1", "--workers", "1", "-o", "epochs=1"],
    ),
    "reproduce": (["--list"], ["--list", "all"], ["--list", "--from", "run"]),
    "bench": (["scale", "--no-peer", "--epochs", "1", "--sizes"], ["coarsening", "--quick", "--root", "."]),
}
"""Verb -> words that a good command may begin with; of the others it is a run."""


def command_line(rng: Rng, folder: Path) -> None:
    source, _ = finished()
    shutil.copytree(source, folder / "run")
    arrays = mutate_graph(rng) if rng.random() < 0.3 else good_graph(rng)
    np.savez(folder / "g.npz", **{key: value for key, value in arrays.items() if key in NAMES})
    (folder / "s.yaml").write_text(pick(rng, YAML_TEXTS))
    (folder / "tables").mkdir()
    (folder / "tables" / "edges.csv").write_text("source,target\n0,1\n1,2\n2,3\n")
    verb = pick(rng, VERBS)
    arguments = [verb]
    if verb in STARTS:
        arguments += pick(rng, STARTS[verb])
    elif rng.random() < 0.8:
        arguments.append("run")
    if verb == "explain" and rng.random() < 0.7:
        arguments.append("3")
    if verb == "train":
        arguments += ["--model", pick(rng, ("mlp", "gcn")), "--device", "cpu", "-o", "epochs=1"]
        arguments += pick(rng, EXPERTS)
    if verb == "tune":
        arguments += ["--model", pick(rng, ("mlp", "auto")), "--device", "cpu", "-o", "epochs=1", "--study"]
        arguments += [pick(rng, ("new", "run", "g.npz", ".")), *pick(rng, BUDGETS)]
    for _ in range(int(rng.integers(0, 4))):
        arguments.insert(int(rng.integers(1, len(arguments) + 1)), pick(rng, WORDS))
    with contextlib.chdir(folder):
        os.environ["ANSGT_CACHE"] = str(folder / "cache")
        done = CliRunner().invoke(build_app([verb]), arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if "Traceback" in done.stderr:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    if done.exit_code not in (0, 1, 2):
        raise Wrong(f"exit code {done.exit_code}")
    if done.exit_code == 0 and "--json" in arguments and "--help" not in arguments:
        json.loads(done.stdout)
    if done.exit_code:
        said = [line for line in done.stderr.splitlines() if line.startswith(("error:", "interrupted:"))]
        if len(said) != 1 or done.stdout:
            raise Wrong(f"refused with {len(said)} sentences and {len(done.stdout)} characters on stdout")
        raise Refused(said[0])


RUNS: dict[str, Case] = {
    "settings file": settings_file,
    "config file": config_file,
    "run directory": run_directory,
    "command line": command_line,
}
