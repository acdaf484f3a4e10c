"""What `ansgt` sets for its process, and when it keeps out."""

import os
import platform

import pytest

from ansgt.cli import keep_freed_memory, wait_quietly


def test_what_the_user_set_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    wait_quietly()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    assert not keep_freed_memory()


def test_glibc_accepts_the_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES"]:
        monkeypatch.delenv(name)
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
