"""`ansgt predict`: per-node probabilities as CSV and NPZ."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import ansgt
from ansgt.cli import build_app


def call(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(build_app([arguments[0]]), [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_csv_and_npz_hold_the_same(tiny_run: Path, tmp_path: Path) -> None:
    for suffix in ("csv", "npz"):
        target = tmp_path / f"out.{suffix}"
        assert call("predict", str(tiny_run), "--output", str(target))["num_nodes"] == 128
    table = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    with np.load(tmp_path / "out.npz") as arrays:
        assert np.allclose(table[:, 3:], arrays["probabilities"], rtol=1e-4, atol=1e-6)
        assert np.array_equal(table[:, 1], arrays["prediction"])


def test_bad_outputs_are_refused(tiny_run: Path) -> None:
    failed = CliRunner().invoke(build_app(["predict"]), ["predict", str(tiny_run), "--output", "p.txt"])
    assert failed.exit_code == 2
    assert "must end in .csv, .npz or .parquet" in failed.stderr


def tables(folder: Path) -> Path:
    """Edges, features and labels of 30 nodes with names, as files."""
    rng = np.random.default_rng(0)
    names = [f"paper-{i}" for i in range(30)]
    lines = [f"{names[a]},{names[b]}" for a, b in rng.integers(0, 30, (70, 2))]
    (folder / "edges.csv").write_text("\n".join(["source,target", *lines]))
    rows = [f"{name},{'' if i % 7 == 0 else i % 2 + 0.1 * i},{'xy'[i % 2]}" for i, name in enumerate(names)]
    (folder / "features.csv").write_text("\n".join(["node,size,kind", *rows]))
    labels = [f"{name},{('cat', 'dog')[i % 2] if i < 24 else ''}" for i, name in enumerate(names)]
    (folder / "labels.csv").write_text("\n".join(["node,label", *labels]))
    return folder


def test_from_files_to_names_and_classes_in_one_command(tmp_path: Path) -> None:
    folder, target = tables(tmp_path), tmp_path / "out.csv"
    given = ",".join(str(folder / f"{name}.csv") for name in ("edges", "features", "labels"))
    run = tmp_path / "run"
    options = ["--model", "mlp", "-o", "epochs=5", "--device", "cpu", "--run-dir", str(run)]
    call("train", given, *options, "--predictions", str(target))
    head, first, *rest = target.read_text().splitlines()
    assert head == "node,prediction,label,p_cat,p_dog"
    assert first.split(",")[0] == "paper-0"
    assert first.split(",")[1] in ("cat", "dog")
    assert len(rest) == 29
    assert call("train", str(folder), *options, "--overwrite", "--predictions", str(target))["predictions"]
    assert target.read_text().splitlines()[0] == head

    some = tmp_path / "names.txt"
    some.write_text("paper-3\n\npaper-29\n")
    assert call("predict", str(run), "--nodes", str(some), "--output", str(target))["num_nodes"] == 2
    assert [line.split(",")[0] for line in target.read_text().splitlines()] == ["node", "paper-3", "paper-29"]

    for name, line in (("edges", "latest,paper-3"), ("features", "latest,1.5,z")):
        (tmp_path / f"new-{name}.csv").write_text((folder / f"{name}.csv").read_text() + f"\n{line}")
    some.write_text("latest\n")
    grown = f"{tmp_path}/new-edges.csv,{tmp_path}/new-features.csv"
    call("predict", str(run), "--graph", grown, "--nodes", str(some), "--output", str(target))
    assert target.read_text().splitlines()[1].startswith("latest,")


def test_a_graph_file_without_labels(tiny_run: Path, tmp_path: Path) -> None:
    data = ansgt.load_dataset("newman")
    np.savez(tmp_path / "new.npz", x=data.x.numpy(), edge_index=data.edge_index.numpy())
    (tmp_path / "names.txt").write_text("5\n17\n")
    options = [
        "--graph",
        str(tmp_path / "new.npz"),
        "--nodes",
        str(tmp_path / "names.txt"),
        "--device",
        "cpu",
    ]
    assert call("predict", str(tiny_run), *options, "--output", str(tmp_path / "new.csv"))["num_nodes"] == 2
    call(
        "predict",
        str(tiny_run),
        "--nodes",
        str(tmp_path / "names.txt"),
        "--output",
        str(tmp_path / "old.csv"),
    )
    new, old = (np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1) for name in ("new", "old"))
    assert new[:, 0].tolist() == old[:, 0].tolist() == [5, 17]
    assert np.allclose(new[:, 3:], old[:, 3:], atol=1e-4)
    assert new[:, 2].tolist() == [-1, -1]


def test_lists_of_nodes_that_cannot_be_used(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "unknown.txt").write_text("999\n")
    for name, message in (
        ("absent.txt", "cannot be read"),
        ("empty.txt", "is empty"),
        ("unknown.txt", "'999'"),
    ):
        arguments = ["predict", str(tiny_run), "--nodes", str(tmp_path / name)]
        failed = CliRunner().invoke(build_app(["predict"]), arguments)
        assert failed.exit_code == 2
        assert message in failed.stderr.replace("\n", " ")
