"""Raw files are checked before anything reads them, and copied, never written to; those that a user accepts as they are."""

import gzip
import os
import pickle
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.datasets import load
from ansgt.datasets.raw import check_raw, find_raw, is_present, pinned_checksums
from ansgt.errors import InputError


def test_a_changed_raw_file_is_refused_before_it_is_read(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "Cora", tmp_path / "root" / "Cora", copy_function=shutil.copyfile)
    target = tmp_path / "root" / "Cora" / "raw" / "ind.cora.graph"
    target.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(InputError, match=r"ind.cora.graph is not the published file.*--allow-changed-data"):
        load("cora", tmp_path / "root", cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.pt"))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files under a root, unknown to the table of checksums."""
    folder = tmp_path / "root" / "mine"
    folder.mkdir(parents=True)
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text(name)
    return sorted(folder.iterdir())


def test_files_are_found_by_pattern_and_those_with_a_star_may_be_absent(
    files: list[Path], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    assert find_raw(root, "mine", ("two.txt", "one.txt", "*.npz"), "mine") == files[::-1]
    assert is_present(root, "mine", ("one.txt", "*.npz"))
    assert not is_present(root, "mine", ("one.txt", "three.txt"))
    with pytest.raises(InputError, match=r"Data set 'mine': .*three.txt does not exist"):
        find_raw(root, "mine", ("three.txt",), "mine")


def test_the_key_is_that_of_the_content(files: list[Path], tmp_path: Path) -> None:
    root = tmp_path / "root"
    key = check_raw(root, files, allow_changed=False).key
    assert check_raw(root, files[::-1], allow_changed=False).key == key
    files[0].write_text("other")
    assert check_raw(root, files, allow_changed=False).key != key


def test_what_is_parsed_is_a_copy_of_the_checked_bytes(files: list[Path], tmp_path: Path) -> None:
    root = tmp_path / "root"
    raw = check_raw(root, files, allow_changed=False)
    assert raw.read("mine/one.txt") == b"one.txt"
    with raw.copied() as folder:
        assert sorted(path.name for path in (folder / "mine").iterdir()) == ["one.txt", "two.txt"]
        (folder / "mine" / "made").write_text("by a parser")
    assert not folder.exists()
    assert sorted(root.rglob("*")) == [root / "mine", *files]
    files[0].write_text("other")
    with pytest.raises(InputError, match=r"one.txt changed while it was read"):
        raw.read("mine/one.txt")
    with pytest.raises(InputError, match=r"one.txt changed while it was read"), raw.copied():
        pass


N, P = 6, 4
GOOD = {
    "attr_data": np.ones(N),
    "attr_indices": np.arange(N) % P,
    "attr_indptr": np.arange(N + 1),
    "attr_shape": np.array([N, P]),
    "adj_data": np.ones(N),
    "adj_indices": (np.arange(N) + 1) % N,
    "adj_indptr": np.arange(N + 1),
    "adj_shape": np.array([N, N]),
    "labels": np.arange(N) % 2,
}
BAD = {
    "column out of range": {"attr_indices": np.full(N, 10**8)},
    "negative neighbour": {"adj_indices": np.full(N, -(10**8))},
    "pointers beyond the end": {"attr_indptr": np.array([0, 1, 2, 3, 4, 5, 10**8])},
    "a shape beyond all memory": {"attr_shape": np.array([N, 10**14])},
    "labels of other nodes": {"labels": np.arange(3)},
    "text": {"labels": np.array(list("ababab"))},
    "objects": {"attr_data": np.array([None] * N)},
    "a directed matrix of another size": {"adj_shape": np.array([N + 5, N])},
}


def written(root: Path, **arrays: np.ndarray) -> Path:
    path = root / "dblp" / "raw" / "dblp.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{**GOOD, **arrays})
    return root


def test_a_file_in_this_format_is_read(tmp_path: Path) -> None:
    assert load("dblp", written(tmp_path), cache_dir=tmp_path / "cache").graph.num_edges == N


@pytest.mark.parametrize("case", BAD)
def test_sparse_raw_files_are_checked_before_scipy_follows_them(case: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load("dblp", written(tmp_path, **BAD[case]), cache_dir=tmp_path / "cache")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04" + bytes(100)])
def test_no_archive(content: bytes, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "dblp" / "raw" / "dblp.npz").write_bytes(content)
    with pytest.raises(InputError):
        load("dblp", tmp_path, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("kind", ["text", "empty", "half", "folder"])
def test_accepted_files_that_are_no_data(kind: str, root: Path, tmp_path: Path) -> None:
    names = ["out1_node_feature_label.txt", "texas_split_0.6_0.2_3.npz", "out1_graph_edges.txt"]
    for name in names[: 2 if kind == "half" else 3]:  # half of the edges are edges
        folder = tmp_path / name
        shutil.copytree(root / "texas", folder / "texas", copy_function=shutil.copyfile)
        path = folder / "texas" / "raw" / name
        content = {"text": b"a\tb\nc\n", "empty": b"", "half": path.read_bytes()[:700]}.get(kind)
        path.unlink()
        path.mkdir() if content is None else path.write_bytes(content)
        with pytest.raises(InputError):
            load("texas", folder, cache_dir=tmp_path / "cache", allow_changed=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("split/time/test.csv.gz", "-1\n"),
        ("split/time/test.csv.gz", "9\n"),
        ("raw/node-label.csv.gz", "0\n1\n2\n0\n1.5\n"),
        ("raw/num-node-list.csv.gz", ""),
        ("raw/edge.csv.gz", "0,9\n"),
        ("raw/edge.csv.gz", "0,x\n"),
    ],
)
def test_ogb_files_that_disagree(name: str, text: str, tmp_path: Path) -> None:
    content = {
        "raw/num-node-list.csv.gz": "5\n",
        "raw/edge.csv.gz": "0,1\n1,2\n3,4\n",
        "raw/node-feat.csv.gz": "\n".join(f"{i}.5,-{i}" for i in range(5)) + "\n",
        "raw/node-label.csv.gz": "0\n1\n2\n0\nnan\n",
        "split/time/train.csv.gz": "0\n1\n",
        "split/time/valid.csv.gz": "2\n",
        "split/time/test.csv.gz": "3\n",
        name: text,
    }
    for file, lines in content.items():
        path = tmp_path / "ogbn_arxiv" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(lines.encode()))
    with pytest.raises(InputError):
        load("ogbn-arxiv", tmp_path, cache_dir=tmp_path / "cache")


def test_every_pickle_that_is_read_is_pinned() -> None:
    """Planetoid's are the only ones; the others are text and arrays."""
    pinned = pinned_checksums()
    for name in ("Cora", "CiteSeer", "PubMed"):
        for part in ("x", "tx", "allx", "y", "ty", "ally", "graph"):
            assert f"{name}/raw/ind.{name.lower()}.{part}" in pinned


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("pwned",)


def test_a_changed_pickle_that_is_accepted_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cora" / "raw"
    folder.mkdir(parents=True)
    matrix = sp.csr_matrix(np.eye(3, dtype=np.float32))
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph"):
        held = matrix if "x" in part else np.eye(3) if part != "graph" else defaultdict(list, {0: [1]})
        (folder / f"ind.cora.{part}").write_bytes(pickle.dumps(held))
    (folder / "ind.cora.test.index").write_text("2\n")
    paths = sorted(folder.iterdir())
    assert len(check_raw(tmp_path, paths, allow_changed=True).digests) == 8
    for bomb in (pickle.dumps(Bomb()), pickle.dumps([np.eye(2), Bomb()], protocol=0), b"no pickle"):
        (folder / "ind.cora.graph").write_bytes(bomb)
        with pytest.raises(InputError, match="no pickle of arrays alone"):
            check_raw(tmp_path, paths, allow_changed=True)
    assert not (tmp_path / "pwned").exists()
