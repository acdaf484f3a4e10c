"""Cells of a comparison: paired splits, cells that fail, runs that are read and not trained again."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ansgt.errors import InputError
from ansgt.runs.comparison import Comparison
from ansgt.runs.statistics import Cell


def plan(folder: Path, *overrides: str, models: tuple[str, ...] = ("mlp", "gcn")) -> Comparison:
    few = ("epochs=3", "hidden_channels=4", *overrides)
    return Comparison(
        models,
        ("newman",),
        "uniform-60-20-20",
        num_splits=2,
        run_dir=folder,
        device="cpu",
        workers=1,
        overrides=few,
    )


def test_cells_come_in_order_share_their_splits_and_are_read_again(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []

    def on_cell(cell: Cell, done: int, total: int) -> None:
        seen.append((cell.model, done, total))

    cells = plan(tmp_path).run(on_cell)
    assert [cell.model for cell in cells] == ["mlp", "gcn"]
    assert seen == [("mlp", 1, 2), ("gcn", 2, 2)]
    assert cells[0].split_hashes == cells[1].split_hashes
    assert all((cell.peak_bytes or 0) > 2**20 for cell in cells) or sys.platform != "linux"
    assert len(set(cells[0].split_hashes)) == 2
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    assert plan(tmp_path).run() == cells
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")} == times


def test_a_cell_that_fails_says_why_and_leaves_the_rest(tmp_path: Path) -> None:
    one_split = replace(plan(tmp_path, "alpha=0.2", models=("gcn", "appnp")), num_splits=1)
    broken, whole = one_split.run()
    assert broken.error is not None
    assert "alpha" in broken.error
    assert "Error" not in broken.error
    assert broken.dataset == "newman"
    assert whole.error is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ()}, "must each name at least one"),
        ({"models": ("gnc",)}, "gcn"),
        ({"num_splits": 0}, "num_splits must be positive"),
        ({"datasets": ("nowhere.npz",)}, "does not exist"),
        ({"device": "tpu"}, "device"),
        ({"split": "halves"}, "halves"),
        ({"datasets": ("newman", "newman")}, "two data sets that are called 'newman'"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_trained(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        replace(plan(tmp_path / "runs"), **change).check()
    assert not (tmp_path / "runs").exists()


def test_what_is_not_said_and_where_a_worker_elsewhere_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Comparison(("gcn",), ("newman", "g.npz"), "s.json")
    assert (asked.num_splits, asked.seed, asked.device, asked.workers) == (10, 0, "auto", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.npz").touch()
    here = asked._anywhere()
    assert (here.datasets, here.split) == (("newman", str(tmp_path / "g.npz")), "s.json")
    assert (here.root, here.run_dir) == (tmp_path / "data", tmp_path / "runs" / "compare")
    assert here.cache_dir is None
    (tmp_path / "s.json").touch()
    there = replace(asked, cache_dir="c")._anywhere()
    assert (there.split, there.cache_dir) == (str(tmp_path / "s.json"), tmp_path / "c")


def test_a_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        plan(tmp_path / "file" / "runs").run()
