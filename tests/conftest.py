"""Shared fixtures: where the real data is, and a cache that no other run has touched."""

import os
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)


def data_root() -> Path:
    """`$ANSGT_DATA`, else `../shared/data` beside the checkout."""
    return Path(os.environ.get("ANSGT_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def root() -> Path:
    """Folder with the real data sets; a test that asks for it skips where they are absent."""
    path = data_root()
    if not (path / "Cora").exists():
        pytest.skip(f"real data sets not found under {path} (set ANSGT_DATA)")
    return path


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")
