"""A user's own file: which combinations of masks mean what."""

from pathlib import Path

import numpy as np
import pytest

from ansgt.datasets import load
from ansgt.errors import InputError


def stored(tmp_path: Path, *parts: str) -> str:
    masks = {
        f"{part}_mask": np.arange(9) // 3 == i
        for i, part in enumerate(("train", "val", "test"))
        if part in parts
    }
    path = tmp_path / "g.npz"
    np.savez(path, x=np.eye(9), edge_index=np.array([[0, 1], [1, 2]]), y=np.arange(9) % 3, **masks)
    return str(path)


def test_two_masks_leave_nothing_to_test_on(tmp_path: Path) -> None:
    split = load(stored(tmp_path, "train", "val")).split()
    assert (split.name, split.train.tolist(), split.test.tolist()) == ("given", [0, 1, 2], [])


@pytest.mark.parametrize("parts", [("train",), ("val",), ("test",), ("train", "test"), ("val", "test")])
def test_other_combinations_are_refused(tmp_path: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="but not"):
        load(stored(tmp_path, *parts))
