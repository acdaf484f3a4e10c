"""`ansgt compare` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app

QUICK = ["--device", "cpu", "-o", "epochs=5", "--num-splits", "2", "--workers", "1"]


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(build_app(["compare"]), ["compare", *arguments, "--json"])


def call(*arguments: str) -> dict[str, Any]:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_cells_differences_and_files(tmp_path: Path) -> None:
    args = ["--models", "mlp,gcn", "--datasets", "newman,newman-0.25", "--run-dir", str(tmp_path), *QUICK]
    result = call(*args, "--reference", "mlp")
    cells = {(c["model"], c["dataset"]): c for c in result["cells"]}
    assert len(cells) == 4
    keys = {
        "model",
        "dataset",
        "mean",
        "std",
        "per_split",
        "seconds",
        "error",
        "num_parameters",
        "peak_bytes",
    }
    for cell in cells.values():
        assert keys <= set(cell)
        assert cell["error"] is None
        assert len(cell["per_split"]) == 2
        assert cell["mean"] == pytest.approx(sum(cell["per_split"]) / 2)
    one, other = cells["gcn", "newman"], cells["mlp", "newman"]
    assert one["split_hashes"] == other["split_hashes"]
    (gap,) = (d for d in result["differences"] if d["dataset"] == "newman")
    assert (gap["model"], gap["reference"]) == ("gcn", "mlp")
    assert gap["mean"] == pytest.approx(one["mean"] - other["mean"])
    assert json.loads((tmp_path / "compare.json").read_text())["cells"] == result["cells"]
    for name in ("compare.md", "compare.csv", "compare.png"):
        assert (tmp_path / name).stat().st_size > 0


def test_finished_cells_are_not_trained_again(tmp_path: Path) -> None:
    args = ["--datasets", "newman", "--run-dir", str(tmp_path), *QUICK]
    first = call("--models", "mlp", *args)
    record = tmp_path / "newman" / "mlp" / "split-0" / "result.json"
    stamp = record.stat().st_mtime_ns
    (tmp_path / "newman" / "mlp" / "split-1" / "result.json").unlink()  # as if killed in the second split
    second = call("--models", "mlp,gcn", *args)
    assert record.stat().st_mtime_ns == stamp
    assert second["cells"][0]["per_split"] == first["cells"][0]["per_split"]
    assert second["cells"][1]["error"] is None


def test_a_cell_that_fails_says_why_and_the_rest_goes_on(tmp_path: Path) -> None:
    result = call(
        "--models", "mlp,appnp", "--datasets", "newman", "--run-dir", str(tmp_path), *QUICK, "-o", "alpha=0.5"
    )
    failed, fine = result["cells"]
    assert "Unknown setting 'alpha'" in failed["error"]
    assert failed["mean"] is None
    assert fine["error"] is None
    assert "Unknown setting 'alpha'" in (tmp_path / "compare.md").read_text()


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """Twelve nodes: too few for ANS-GT's default N."""
    rng = np.random.default_rng(0)
    path = tmp_path / "small.npz"
    edges = np.array([[0, 1, 3], [1, 2, 4]])
    np.savez(path, x=rng.random((12, 4), dtype=np.float32), edge_index=edges, y=np.arange(12) % 2)
    return path


def test_a_file_whose_cell_fails_keeps_its_column(tmp_path: Path, small_file: Path) -> None:
    args = ["--datasets", str(small_file), "--run-dir", str(tmp_path / "run"), *QUICK]
    failed, fine = call("--models", "ansgt,mlp", *args)["cells"]
    assert failed["dataset"] == fine["dataset"] == "small"
    assert "num_sampled" in failed["error"]
    assert fine["error"] is None


def test_two_files_of_one_name_are_refused(tmp_path: Path, small_file: Path) -> None:
    other = tmp_path / "elsewhere" / small_file.name
    other.parent.mkdir()
    other.write_bytes(small_file.read_bytes())
    result = invoke(
        "--models", "mlp", "--datasets", f"{small_file},{other}", "--run-dir", str(tmp_path), *QUICK
    )
    assert result.exit_code == 2
    assert "called 'small'" in result.stderr


def test_workers_give_the_same_result(tmp_path: Path) -> None:
    args = ["--models", "mlp,gcn", "--datasets", "newman", *QUICK]
    alone = call(*args, "--run-dir", str(tmp_path / "one"))
    both = call(*args, "--run-dir", str(tmp_path / "two"), "--workers", "2")
    assert [c["per_split"] for c in alone["cells"]] == [c["per_split"] for c in both["cells"]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--models", "gnc", "--datasets", "newman"], "Unknown model 'gnc'"),
        (["--models", "gcn", "--datasets", "kora"], "kora"),
        (["--models", ",", "--datasets", "newman"], "at least one"),
        (["--models", "mlp", "--datasets", "newman", "--reference", "gcn"], "reference 'gcn'"),
        (["--models", "mlp", "--datasets", "newman", "--split", "half"], "half"),
        (["--models", "mlp", "--datasets", "newman", "--num-splits", "0"], "num_splits"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    result = invoke("--run-dir", str(tmp_path), "--device", "cpu", "-o", "epochs=1", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_another_metric_is_read_from_the_same_records(tmp_path: Path) -> None:
    args = ["--models", "mlp,gcn", "--datasets", "newman", "--run-dir", str(tmp_path), *QUICK]
    by_accuracy, by_loss = call(*args), call(*args, "--metric", "log_loss")
    for one, other in zip(by_accuracy["cells"], by_loss["cells"], strict=True):
        assert one["per_split"] == one["scores"]["accuracy"]
        assert other["per_split"] == one["scores"]["log_loss"]
        assert other["val_mean"] == one["val_scores"]["log_loss"]
    means = {cell["model"]: cell["mean"] for cell in by_loss["cells"]}
    assert by_loss["reference"] == min(means, key=means.__getitem__)  # the less, the better
    text = (tmp_path / "compare.md").read_text()
    assert "Test log loss, mean ± std over the splits; less is better" in text
    assert "| a constant guess, accuracy % |" in text
    shown = CliRunner().invoke(build_app(["compare"]), ["compare", *args, "--metric", "macro_f1"])
    assert "test macro-F1 %" in shown.stdout
    assert "mlp on newman: macro-F1" in shown.stderr
    assert "accuracy of a constant guess, in percent" in shown.stdout
    assert invoke(*args, "--metric", "f2").exit_code == 2
