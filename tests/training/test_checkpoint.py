"""Checkpoints: an exact round trip, and damaged files."""

from pathlib import Path

import pytest
import torch

from ansgt.errors import InputError
from ansgt.training.checkpoint import load_state, save_state


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
