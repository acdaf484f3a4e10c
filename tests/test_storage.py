"""Atomic writes, states without pickle, the cache, and the lock."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ansgt.errors import BusyError, InputError
from ansgt.storage import (
    DiskCache,
    atomic_path,
    content_hash,
    folder_lock,
    load_state,
    make_folder,
    read_json,
    save_state,
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


@pytest.mark.parametrize("wrong", [np.int64(3), True, 0.5, b"x"])
def test_a_folder_of_a_cache_is_a_path(wrong: object) -> None:
    with pytest.raises(InputError, match="folder of a cache is a path"):
        DiskCache(wrong)  # type: ignore[arg-type]


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


def test_nested_state_comes_back_exactly(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "n": 3,
        "f": 0.1,
        "none": None,
        "list": [1, "a"],
    }
    save_state(tmp_path / "s", state)
    stored = load_state(tmp_path / "s")
    assert torch.equal(stored["model"]["weight"], model.weight)
    assert set(stored["optimizer"]["state"]) == {0, 1}
    assert torch.equal(
        stored["optimizer"]["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"]
    )
    assert (stored["n"], stored["f"], stored["none"], stored["list"]) == (3, 0.1, None, [1, "a"])
    torch.optim.Adam(model.parameters()).load_state_dict(stored["optimizer"])


def test_shared_and_strided_tensors(tmp_path: Path) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    save_state(tmp_path / "s", {"a": x, "b": x, "t": x.t()})
    stored = load_state(tmp_path / "s")
    assert torch.equal(stored["t"], x.t())
    assert torch.equal(stored["a"], stored["b"])


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "s"
    save_state(path, {"x": torch.ones(100)})
    content = path.read_bytes()
    for length in (0, 4, 50, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="truncated"):
            load_state(path)
    with pytest.raises(InputError, match="does not exist"):
        load_state(tmp_path / "absent")
    with pytest.raises(TypeError):
        save_state(path, {"x": object()})
