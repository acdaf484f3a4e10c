"""Reports, pictures, explanations, event logs: computed from records, readable without anything else."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.report.figures import plot_training, plot_weights
from ansgt.report.html import complete_histories
from ansgt.report.predictions import write_predictions
from ansgt.training import open_run

TINY = [
    "num_layers=1",
    "hidden_channels=16",
    "num_heads=2",
    "num_augmentations=2",
    "epochs=6",
    "update_period=2",
]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real, small ANS-GT run of two splits, through the command line."""
    folder = tmp_path_factory.mktemp("run") / "newman"
    overrides = [part for setting in TINY for part in ("-o", setting)]
    arguments = [
        "train",
        "newman",
        "--device",
        "cpu",
        "--num-splits",
        "2",
        "--run-dir",
        str(folder),
        *overrides,
    ]
    result = CliRunner().invoke(build_app(["train"]), arguments)
    assert result.exit_code == 0, result.stderr
    return folder


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_report_is_one_page_with_its_pictures_inside(run_dir: Path) -> None:
    result = CliRunner().invoke(build_app(["report"]), ["report", str(run_dir), "--json"])
    assert result.exit_code == 0, result.stderr
    page = (run_dir / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert not re.findall(r"(?:src|href)='?https?:", page)
    accuracy = np.mean([r["test_accuracy"] for r in open_run(run_dir).results()])
    assert f"{100 * accuracy:.2f} ±" in page
    assert "uniform-60-20-20" in page
    assert is_png(run_dir / "weights.png")
    assert json.loads(result.stdout)["pictures"] == [str(run_dir / "weights.png")]


def test_figures_from_records(run_dir: Path, tmp_path: Path) -> None:
    run = open_run(run_dir)
    histories = complete_histories(run, 2)
    assert [len(rows) for rows in histories] == [3, 3]
    plot_weights(histories, tmp_path / "w.png", "title")
    plot_weights(histories[:1], tmp_path / "w.svg", "title")
    plot_training([run.metrics(0)], tmp_path / "t.png", "title")
    assert is_png(tmp_path / "w.png")
    assert is_png(tmp_path / "t.png")
    assert "<svg" in (tmp_path / "w.svg").read_text()


def test_explain_as_text_json_and_picture(run_dir: Path, tmp_path: Path) -> None:
    picture = tmp_path / "why.png"
    arguments = ["explain", str(run_dir), "--node", "7", "--device", "cpu", "--top", "5"]
    text = CliRunner().invoke(build_app(["explain"]), arguments)
    assert text.exit_code == 0, text.stderr
    assert "node 7: class" in text.stdout
    done = CliRunner().invoke(build_app(["explain"]), [*arguments, "--picture", str(picture), "--json"])
    result = json.loads(done.stdout)
    assert len(result["attended"]) == 5
    assert {"node", "significance", "label", "distance", "heuristics"} <= set(result["attended"][0])
    assert is_png(picture)
    for bad, message in ((["--node", "500"], "Node 500 does not exist"), (["--split", "9"], "Split 9")):
        failed = CliRunner().invoke(build_app(["explain"]), ["explain", str(run_dir), "--node", "1", *bad])
        assert failed.exit_code == 2
        assert message in failed.stderr


def test_ansgt_runs_evaluate_to_what_the_record_says(run_dir: Path) -> None:
    done = CliRunner().invoke(
        build_app(["evaluate"]), ["evaluate", str(run_dir), "--device", "cpu", "--json"]
    )
    assert json.loads(done.stdout)["matches_record"]


def test_predictions_round_trip(tmp_path: Path) -> None:
    probabilities = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
    write_predictions(tmp_path / "p.csv", probabilities, np.array([1, -1]))
    assert (tmp_path / "p.csv").read_text() == "node,prediction,label,p0,p1\n0,1,1,0.25,0.75\n1,0,-1,1,0\n"


def test_event_log(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is an extra")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    overrides = [part for setting in TINY for part in ("-o", setting)]
    folder = tmp_path / "run"
    arguments = ["train", "newman", "--device", "cpu", "--run-dir", str(folder), "--tensorboard", *overrides]
    assert CliRunner().invoke(build_app(["train"]), arguments).exit_code == 0
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    assert {"split-0/loss", "split-0/val_accuracy", "split-0/probability/knn"} <= set(
        events.Tags()["scalars"]
    )
    assert len(events.Scalars("split-0/loss")) == 6
