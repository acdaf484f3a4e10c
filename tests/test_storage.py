"""Atomic writes, the cache, and the lock."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ansgt.errors import BusyError, InputError
from ansgt.storage import (
    DiskCache,
    atomic_path,
    content_hash,
    folder_lock,
    make_folder,
    read_json,
    write_json,
)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_json(target, {"v": 1})
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert read_json(target) == {"v": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_damaged_json_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"v": ')
    with pytest.raises(InputError, match="not valid JSON"):
        read_json(tmp_path / "a.json")
    with pytest.raises(InputError, match="does not exist"):
        read_json(tmp_path / "b.json")


def test_cache_computes_once_and_survives_damage(tmp_path: Path) -> None:
    cache, calls = DiskCache(tmp_path), []

    def compute() -> dict[str, np.ndarray]:
        calls.append(1)
        return {"v": np.arange(3)}

    for _ in range(2):
        assert cache.fetch("kind", ["key", 1], compute)["v"].tolist() == [0, 1, 2]
    assert len(calls) == 1
    next((tmp_path / "kind").iterdir()).write_bytes(b"damaged")
    cache.fetch("kind", ["key", 1], compute)
    cache.fetch("kind", ["key", 2], compute)
    DiskCache(None).fetch("kind", ["key", 1], compute)
    assert len(calls) == 4


def test_content_hash_tells_types_shapes_and_order_apart() -> None:
    values = [
        1,
        1.0,
        "1",
        np.array([1]),
        np.array([[1]]),
        np.array([1.0]),
        [1],
        [1, 1],
        {"a": 1},
        {"a": 2},
        None,
        True,
    ]
    assert len({content_hash(v) for v in values}) == len(values)
    assert content_hash([1, 2], 3) != content_hash([1], 2, 3)


def test_lock_refuses_a_second_process(tmp_path: Path) -> None:
    code = (
        "from ansgt.storage import folder_lock\nfrom ansgt.errors import BusyError\nimport sys\n"
        f"try:\n  with folder_lock({str(tmp_path)!r}): pass\nexcept BusyError as e: sys.exit(str(e))"
    )
    with folder_lock(tmp_path):
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "in use by another process" in second.stderr
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert issubclass(BusyError, InputError)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot create the folder"):
        make_folder(tmp_path / "file" / "below")
