"""The published data sets: the table, their splits, and a cache of what was read."""

import shutil
from pathlib import Path

import pytest

from ansgt.datasets import load, readers
from ansgt.datasets.published import DATASETS
from ansgt.errors import InputError


def test_the_table_is_complete() -> None:
    nine = {"cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor", "texas", "cornell", "wisconsin"}
    others = {
        "cornell-corrected",
        "photo",
        "computers",
        "cs",
        "physics",
        "dblp",
        "minesweeper",
        "tolokers",
        "facebook",
    }
    assert set(DATASETS) == nine | others | {"ogbn-arxiv", "ogbn-products", "newman", "synthetic"}


def test_every_row_of_the_table_names_a_reader_and_files() -> None:
    for name, spec in DATASETS.items():
        if spec.files:
            assert callable(getattr(readers, spec.reader)), name
            assert any(not pattern.startswith("*") for pattern in spec.files), name


def test_stored_splits(root: Path, cache_dir: Path) -> None:
    cora = load("cora", root, cache_dir=cache_dir)
    public = cora.split("public")
    assert (len(public.train), len(public.val), len(public.test)) == (140, 500, 1000)
    sizes = {tuple(len(getattr(s, p)) for p in ("train", "val", "test")) for s in cora.stored["geom-gcn"]}
    assert len(cora.stored["geom-gcn"]) == 10
    assert all(abs(train / 2708 - 0.44) < 0.02 for train, _, _ in sizes)
    assert len(load("minesweeper", root, cache_dir=cache_dir).stored["official"]) == 10
    with pytest.raises(InputError, match="10 repetitions; number 10 does not exist"):
        cora.split("geom-gcn", index=10)
    with pytest.raises(InputError, match="Unknown split of data set 'cora' 'random'; known"):
        cora.split("random")


def test_absent_files_say_where_and_how(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ind.cora.x does not exist; put the raw files there.*--download"):
        load("cora", tmp_path, cache_dir=tmp_path)
    with pytest.raises(InputError, match="Unknown data set 'cara'; known: actor,"):
        load("cara")


def test_allow_changed(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "texas", tmp_path / "root" / "texas", copy_function=shutil.copyfile)
    path = tmp_path / "root" / "texas" / "raw" / "out1_graph_edges.txt"
    path.write_text("\n".join(path.read_text().splitlines()[:-20]) + "\n")
    changed = load("texas", tmp_path / "root", cache_dir=tmp_path / "cache", allow_changed=True)
    assert changed.graph.num_edges < 279


def test_what_was_read_is_kept_in_the_cache(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load("texas", root, cache_dir=tmp_path)
    monkeypatch.setattr(readers, "webkb", None)  # nobody reads the raw files again
    again = load("texas", root, cache_dir=tmp_path)
    assert again.graph.content_hash == first.graph.content_hash
    assert [split.hash for split in again.stored["geom-gcn"]] == [s.hash for s in first.stored["geom-gcn"]]
