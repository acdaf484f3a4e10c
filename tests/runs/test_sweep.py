"""Sweeps: what commas mean, which runs there are, and that every one is the run that its settings give."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.datasets.load import Source
from ansgt.errors import InputError
from ansgt.runs.prepare import train
from ansgt.runs.statistics import Cell
from ansgt.runs.sweep import Outcome, Point, Sweep, _over_seeds, parse_seeds, swept

QUICK = ["--model", "mlp", "--device", "cpu", "-o", "epochs=5", "--workers", "1"]


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(build_app(["train"]), ["train", "newman", *QUICK, *arguments])


def test_runs_are_those_of_single_trainings(tmp_path: Path) -> None:
    arguments = ["-o", "lr=1e-3,0.1", "--seeds", "1,2", "--run-dir", str(tmp_path / "sweep")]
    done = invoke(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert [(run["settings"]["lr"], run["seed"]) for run in result["runs"]] == [
        (0.001, 1), (0.001, 2), (0.1, 1), (0.1, 2)
    ]  # fmt: skip
    single = train(
        "newman", "mlp", run_dir=tmp_path / "one", device="cpu", seed=2, overrides={"epochs": 5, "lr": 0.1}
    )
    assert result["runs"][3]["per_split"] == single["test_accuracy"]["per_split"]
    means = [row["val_accuracy"]["mean"] for row in result["settings"]]
    assert result["best"] == result["settings"][means.index(max(means))]
    assert means[1] == pytest.approx((result["runs"][2]["val_mean"] + result["runs"][3]["val_mean"]) / 2)
    stored = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert stored["runs"] == result["runs"]
    rows = list(csv.DictReader((tmp_path / "sweep" / "sweep.csv").open()))
    assert [float(row["validation"]) for row in rows] == pytest.approx([100 * mean for mean in means])
    assert r"\toprule" in (tmp_path / "sweep" / "sweep.tex").read_text()
    assert "| lr | validation |" in (tmp_path / "sweep" / "sweep.md").read_text()
    assert "holds a run; use --resume" in invoke(*arguments).stderr
    record = tmp_path / "sweep" / "lr=0.1,seed=2" / "split-0" / "result.json"
    before = record.stat().st_mtime_ns
    (tmp_path / "sweep" / "lr=0.1,seed=1" / "split-0" / "result.json").unlink()
    again = invoke(*arguments, "--resume")
    assert again.exit_code == 0, again.stderr
    assert "best on validation: lr=" in again.stdout
    assert record.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "lr=0.1,"], "empty value between its commas"),
        (["-o", "lr=0.1,1e-1"], "has a value twice"),
        (["-o", "lr=0.1,fast"], "Setting optim.lr must be a number, not 'fast'"),
        (["-o", "rate=1,2"], "Unknown setting 'rate'"),
        (["--seeds", "a"], "--seeds takes whole numbers"),
        (["--seeds", "1,1"], "names a seed twice"),
        (["--seeds", "0-5000"], "more than 1000"),
        (["--seeds", "0-999", "-o", "lr=1,2"], "has 2000 runs"),
        (["--seeds", "1", "--tensorboard"], "--log tensorboard is for a single run"),
        ([], "--workers and --cluster are for several runs"),
    ],
)
def test_refusals(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = invoke(*arguments, "--run-dir", str(tmp_path))
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert not any(tmp_path.iterdir())


def test_commas_inside_of_brackets_and_quotes_separate_nothing() -> None:
    assert swept(["heuristics=[1-hop, knn],[ppr]"]) == ({}, {"heuristics": [["1-hop", "knn"], ["ppr"]]})
    assert swept(["a='x,y'"]) == ({"a": "x,y"}, {})
    assert parse_seeds("3, 5-6") == [3, 5, 6]
    for text in ("", "1,", "a", "1-", "1" * 19):
        with pytest.raises(InputError, match="whole numbers"):
            parse_seeds(text)
    assert parse_seeds("0-999") == list(range(1000))
    with pytest.raises(InputError, match="more than 1000"):
        parse_seeds("0-1000")
    with pytest.raises(InputError, match="a seed twice"):
        parse_seeds("3-2")
    assert swept(["a=(1,2),3", "a={x: 1, y: 2}"])[1] == {"a": ["(1,2)", 3]}
    assert swept(["a='(', 2"]) == ({}, {"a": ["(", 2]})


def test_workers_elsewhere_are_given_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.npz").touch()
    (tmp_path / "s.yaml").touch()
    options = {"config": "s.yaml", "split": "public", "device": "cpu"}
    here = Sweep("g.npz", "mlp", {}, [0], Path("x"), Source("data", "cache"), options).anywhere()
    assert (here.dataset, here.run_dir) == (str(tmp_path / "g.npz"), tmp_path / "x")
    assert (here.source.root, here.source.cache_dir) == (tmp_path / "data", tmp_path / "cache")
    assert here.options == {**options, "config": tmp_path / "s.yaml"}
    named = Sweep("newman", "mlp", {}, [0], Path("x"), Source("data"), {}).anywhere()
    assert (named.dataset, named.source.cache_dir, named.options) == ("newman", None, {})


def test_a_combination_is_scored_by_all_its_runs_or_by_none() -> None:
    scores = {"accuracy": (0.5, 0.75)}
    one = Cell("mlp", "x", per_split=(0.5, 0.75), val_mean=0.5, scores=scores, val_scores={"accuracy": 0.5})
    two = replace(one, per_split=(1.0, 0.25), val_mean=0.75)
    joined = _over_seeds(
        [Outcome(Point({"lr": 1}, seed), cell) for seed, cell in enumerate((one, two))], "accuracy"
    )
    assert joined["test_accuracy"]["per_run"] == [0.5, 0.75, 1.0, 0.25]
    assert (joined["test_accuracy"]["mean"], joined["val_accuracy"]["mean"], joined["error"]) == (
        0.625,
        0.625,
        None,
    )
    lost = _over_seeds(
        [Outcome(Point({}, 0), one), Outcome(Point({}, 1), Cell("mlp", "x", error="no"))], "accuracy"
    )
    assert lost["test_accuracy"] == lost["val_score"] == {"mean": None, "std": None, "per_run": []}
    assert lost["error"] == "no"


def test_names_of_run_directories() -> None:
    assert Point({"lr": 0.1}, 3).name == "lr=0.1,seed=3"
    odd = Point({"heuristics": ["a/b", "c"]}, 0).name
    assert "/" not in odd
    assert odd != Point({"heuristics": ["a:b", "c"]}, 0).name
    assert len(Sweep("newman", "mlp", {"lr": [1, 2]}, [0, 1, 2], Path("x")).points) == 6


def test_the_best_is_the_best_by_the_metric_that_picks_epochs(tmp_path: Path) -> None:
    done = invoke("-o", "lr=1e-3,0.1", "-o", "select=log_loss", "--run-dir", str(tmp_path / "sweep"))
    assert done.exit_code == 0, done.stderr
    result = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    losses = [run["val_scores"]["log_loss"] for run in result["runs"]]
    assert result["metric"] == "log_loss"
    assert result["best"]["settings"] == result["runs"][losses.index(min(losses))]["settings"]
    assert "seed 0: log loss" in " ".join(done.stdout.split()), "columns are of the metric that was asked for"
    assert f"{min(losses):.2f} ± 0.00" in done.stdout
    assert f"{min(losses):.2f}" in (tmp_path / "sweep" / "sweep.md").read_text()
