"""Shared fixtures: where the real data is, and a cache that no other run has touched."""

import os

# Two test processes share two cores: one thread each, and none that waits by spinning. Set before torch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numba.core.dispatcher import Dispatcher

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


TINY = {
    "num_layers": 1,
    "hidden_channels": 16,
    "num_heads": 2,
    "num_augmentations": 2,
    "epochs": 6,
    "update_period": 2,
}
"""Settings of the smallest ANS-GT that updates its bandit."""


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a real, small ANS-GT run of two splits; for reading alone."""
    from ansgt.runs.prepare import train

    folder = tmp_path_factory.mktemp("run") / "newman"
    train("newman", run_dir=folder, device="cpu", num_splits=2, overrides=TINY)
    return folder


@pytest.fixture
def scored() -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [300, 4], and labels of which the likeliest class is right more often than not [300]."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(4), size=300).astype(np.float32)
    label = np.where(rng.random(300) < 0.6, probabilities.argmax(axis=1), rng.integers(0, 4, 300))
    return probabilities, label


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Runs work with its compiled loops in Python, which checks every index; compiled ones write past an array's end."""

    def run(work: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patch, np.errstate(over="ignore"):
            for module in [one for name, one in sys.modules.items() if name.startswith("ansgt.")]:
                for name, value in list(vars(module).items()):
                    if isinstance(value, Dispatcher):
                        patch.setattr(module, name, value.py_func)
            return work()

    return run
