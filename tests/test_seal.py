"""A cache made by somebody else, damaged, full or read-only costs time; it never runs code or changes a result."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from ansgt import seal
from ansgt.cli.datasets import statistics
from ansgt.datasets import load
from ansgt.datasets.fields import Fields, _digest
from ansgt.errors import InputError


@pytest.fixture
def cache(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds Texas and its counts, by a user whose key is `state`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    statistics("texas", root, cache_dir=tmp_path / "cache")
    return tmp_path / "cache"


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


def the(cache: Path, name: str) -> Path:
    (found,) = cache.rglob(name)
    return found


def unsealed(path: Path) -> None:
    tensors = load_file(path)
    save_file({**tensors, "y": tensors["y"].flip(0).clone()}, path)


def by_somebody_else(path: Path) -> None:
    """Whole, with a seal, and of the same source: that of another user."""
    tensors = {**load_file(path), "y": load_file(path)["y"].flip(0).clone()}
    digest = _digest(path.parent.name, tensors)
    save_file(
        tensors, path, metadata={"seal": seal.hmac.new(b"0" * 32, digest.encode(), "sha256").hexdigest()}
    )


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.unlink()
    path.write_bytes(content)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def empty(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"")


DAMAGE = [unsealed, by_somebody_else, flipped, a_folder, a_pipe, empty]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.filterwarnings("ignore:Nothing is kept")
def test_fields_of_somebody_else_do_not_count(
    damage: Callable[[Path], None], root: Path, cache: Path, tmp_path: Path
) -> None:
    expected = load("texas", root, cache_dir=tmp_path / "fresh").graph.content_hash
    damage(the(cache, "fields.safetensors"))
    assert load("texas", root, cache_dir=cache).graph.content_hash == expected


def test_fields_of_another_data_set_do_not_count(root: Path, cache: Path) -> None:
    texas = the(cache, "fields.safetensors")
    cornell = load("cornell", root, cache_dir=cache).graph.content_hash
    (other,) = (path for path in cache.rglob("fields.safetensors") if path != texas)
    other.unlink()
    shutil.copyfile(texas, other)
    assert load("cornell", root, cache_dir=cache).graph.content_hash == cornell


def test_counts_of_somebody_else_do_not_count(root: Path, cache: Path) -> None:
    expected = statistics("texas", root, cache_dir=cache)
    path = the(cache, "statistics.json")
    stored = json.loads(path.read_text())
    for content in (
        json.dumps({**stored, "counts": {**stored["counts"], "num_nodes": 7}}),
        "[]",
        "{",
        json.dumps(stored["counts"]),
    ):
        path.write_text(content)
        assert statistics("texas", root, cache_dir=cache) == expected


def test_a_pickle_in_the_cache_is_never_read(root: Path, tmp_path: Path) -> None:
    """Where PyG would look for processed files, and where an older version kept raw ones."""
    load("cora", root, cache_dir=tmp_path / "cache")
    folder = the(tmp_path / "cache", "fields.safetensors").parent
    shutil.rmtree(folder)
    bomb = pickle.dumps(Bomb(tmp_path / "pwned"))
    for place in ("raw/ind.cora.x", "raw/ind.cora.graph", "processed/data.pt", "processed/pre_filter.pt"):
        for top in (folder, tmp_path / "cache" / "downloads"):
            (top / "Cora" / place).parent.mkdir(parents=True, exist_ok=True)
            (top / "Cora" / place).write_bytes(bomb)
    torch.save({}, folder / "fields.safetensors")
    load("cora", root, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "pwned").exists()


def test_fetched_files_are_checked_before_they_are_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server, or a cache, that gives a bomb in place of Cora."""
    from torch_geometric.datasets import Planetoid

    def download(self: Any) -> None:
        for path in self.raw_paths:
            Path(path).write_bytes(pickle.dumps(Bomb(tmp_path / "pwned")))

    monkeypatch.setattr(Planetoid, "download", download)
    with pytest.raises(InputError, match="is not the published file"):
        load("cora", tmp_path, cache_dir=tmp_path / "cache", download=True)

    def honest(self: Any) -> None:
        for path in self.raw_paths:
            shutil.copyfile(root / "Cora" / "raw" / Path(path).name, path)

    monkeypatch.setattr(Planetoid, "download", honest)
    assert load("cora", tmp_path, cache_dir=tmp_path / "cache", download=True).graph.num_nodes == 2708
    assert not (tmp_path / "pwned").exists()


def test_a_cache_that_cannot_be_written_costs_time_alone(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="Nothing is kept in the cache"):
        assert load("texas", root, cache_dir=tmp_path / "file").graph.num_nodes == 183
    with pytest.warns(UserWarning, match="Nothing is kept in the cache"):
        assert statistics("texas", root, cache_dir=tmp_path / "file")["num_nodes"] == 183


def test_a_disk_that_is_full(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Fields, path: Path, source: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Fields, "write", full)
    with pytest.warns(UserWarning, match="No space left on device"):
        assert load("texas", root, cache_dir=tmp_path).graph.num_nodes == 183


def test_without_a_place_for_the_key_a_process_trusts_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert seal.is_sealed("x", seal.seal("x"))
    assert not seal.is_sealed("x", seal.seal("y"))
    assert not seal.is_sealed("x", None)


def test_the_key_is_made_once_and_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = seal.seal("x")
    path = tmp_path / "ansgt" / "cache.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]
    seal._key.cache_clear()
    assert seal.seal("x") == first
    path.write_bytes(b"short")
    seal._key.cache_clear()
    assert seal.seal("x") != first
