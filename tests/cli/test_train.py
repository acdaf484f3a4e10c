"""`ansgt train` as a user calls it, and what becomes of its run."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ansgt.cli import VERBS, build_app, process_began

QUICK = ["--model", "mlp", "--device", "cpu", "-o", "epochs=5"]


def call(*arguments: str) -> dict[str, Any]:
    """Runs a verb with --json; stdout must be exactly one JSON object."""
    result = CliRunner().invoke(build_app([arguments[0]]), [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_help(name: str) -> None:
    result = CliRunner().invoke(build_app([name]), [name, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.stdout or name == "bench"


def test_train_and_evaluate(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    trained = call("train", "newman", *QUICK, "--num-splits", "2", "--run-dir", run)
    keys = {"dataset", "model", "split", "num_splits", "test_accuracy", "val_accuracy", "seconds", "run_dir"}
    assert keys <= set(trained)
    assert len(trained["test_accuracy"]["per_split"]) == 2
    assert 0 <= trained["test_accuracy"]["mean"] <= 1
    evaluated = call("evaluate", run, "--device", "cpu")
    assert evaluated["matches_record"]
    assert evaluated["test_accuracy"] == trained["test_accuracy"]


def test_own_graph_by_path(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = rng.normal(size=(40, 4)) + 3 * y[:, None]
    np.savez(tmp_path / "mine.npz", x=x, edge_index=rng.integers(0, 40, (2, 80)), y=y)
    trained = call("train", str(tmp_path / "mine.npz"), *QUICK, "--run-dir", str(tmp_path / "run"))
    assert trained["dataset"] == "mine"
    assert call("evaluate", str(tmp_path / "run"), "--device", "cpu")["matches_record"]
    edges = np.concatenate([rng.integers(0, 40, (2, 80)), [[40, 41], [0, 1]]], axis=1)
    np.savez(tmp_path / "grown.npz", x=np.concatenate([x, x[:2]]), edge_index=edges, y=np.full(42, -1))
    output = str(tmp_path / "grown.csv")
    grown = call("predict", str(tmp_path / "run"), "--graph", str(tmp_path / "grown.npz"), "--output", output)
    assert (grown["num_nodes"], grown["num_classes"]) == (42, 2)


def test_human_output_names_the_split_and_the_variant(tmp_path: Path) -> None:
    arguments = ["train", "newman", *QUICK, "--run-dir", str(tmp_path / "run")]
    result = CliRunner().invoke(build_app(["train"]), arguments)
    assert "uniform-60-20-20" in result.stdout
    assert "homophily 0.75" in result.stdout
    assert "test accuracy" in result.stdout


def test_effort_shows_what_was_trained_with_its_weight(tmp_path: Path) -> None:
    options = ["--device", "cpu", "--effort", "best", "-o", "epochs=2", "--run-dir", str(tmp_path / "run")]
    trained = call("train", "newman", "--model", "gcn", *options)
    names = [one["name"] for one in trained["experts"][0]]
    assert names == ["gcn residual", "gcn calm"]
    assert trained["num_models"] == 2
    assert sum(one["weight"] for one in trained["experts"][0]) == pytest.approx(1)
    shown = CliRunner().invoke(
        build_app(["train"]), ["train", "newman", "--model", "gcn", *options, "--overwrite"]
    )
    assert "gcn calm" in shown.stdout
    assert "in expected log loss" in shown.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--effort", "more"], "Setting effort must be one of quick, default, best"),
        (["--time-limit", "-3"], "Setting time_limit must be greater than 0"),
        (["--time-limit", "nan"], "Setting time_limit must be"),
        (["--model", "auto", "-o", "hedas=3"], "nknown setting 'hedas'"),
        (["--model", "atuo"], "nknown model 'atuo'"),
        (["--model", "auto", "--config", "x.yaml"], "A settings file says what is trained"),
    ],
)
def test_bad_efforts_are_one_sentence(options: list[str], sentence: str) -> None:
    result = CliRunner().invoke(build_app(["train"]), ["train", "newman", *options])
    assert result.exit_code == 2
    assert sentence in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.stderr


def test_splits_from_a_file_are_all_trained_and_the_record_keeps_them(tmp_path: Path) -> None:
    order, folds = np.random.default_rng(0).permutation(128), tmp_path / "folds.npz"
    parts = {"train": order[:70], "val": order[70:100], "test": order[100:]}
    turned = {part: (nodes + 1) % 128 for part, nodes in parts.items()}
    np.savez(
        folds,
        **{f"{part}_{n}": nodes for n, one in enumerate([parts, turned]) for part, nodes in one.items()},
    )
    command = ["train", "newman", *QUICK, "--split", str(folds), "--run-dir", str(tmp_path / "run")]
    trained = call(*command)
    assert trained["split"].startswith("folds-")
    assert len(trained["test_accuracy"]["per_split"]) == 2
    results = [json.loads((tmp_path / f"run/split-{n}/result.json").read_text()) for n in range(2)]
    assert len({one["split_hash"] for one in results}) == 2
    np.savez(folds, **parts)
    refused = CliRunner().invoke(build_app(["train"]), [*command, "--resume"])
    assert refused.exit_code == 2
    assert "other settings (split" in refused.stderr
    folds.unlink()
    assert call("evaluate", str(tmp_path / "run"), "--device", "cpu")["matches_record"]
    refused = CliRunner().invoke(build_app(["train"]), [*command, "--overwrite"])
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


def test_a_process_knows_when_it_was_started() -> None:
    code = "import time; time.sleep(0.3)\nfrom ansgt.cli import process_began\nprint(time.perf_counter() - process_began())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.3 <= float(told.stdout) < 600
    assert process_began() <= time.perf_counter()
