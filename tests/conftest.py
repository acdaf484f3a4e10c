"""Shared fixtures: where the real data is, and a cache that no other run has touched."""

import os

# Two test processes share two cores: one thread each, and none that waits by spinning. Set before torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest
import torch

if (
    not torch.cuda.is_available()
):  # kernels are tested in Triton's interpreter; read when triton is first imported
    os.environ.setdefault("TRITON_INTERPRET", "1")


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
