"""A few hundred cases of the fuzzer; `make fuzz CASES=10000 SEED=0` runs more. The rest tests the fuzzer itself."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fuzz
import numpy as np
import pytest
from fuzz import CASES

from ansgt.errors import InputError

SLOWER = ("run directory", "command line", "calls", "stored rows")
READERS = [name for name in CASES if name not in SLOWER]


def ended(case: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How two cases end of which the first is the given one."""
    monkeypatch.setitem(CASES, "tried", lambda rng, folder: case() if rng.integers(1) == 0 else None)
    return [verdict.answer for verdict in fuzz.run(0, range(2), ["tried"])]


def bad(seed: int, cases: int, kinds: list[str]) -> list[str]:
    """Bad cases of a fuzzer in a process of its own: numba's threads, which earlier tests started, end a forked worker."""
    command = [sys.executable, fuzz.__file__, "--seed", str(seed), "--cases", str(cases), "--kinds", *kinds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert f"{cases} cases, seed {seed}:" in done.stdout, done.stderr[-500:]
    found = [line for line in done.stdout.splitlines() if line.startswith("bad:")]
    assert done.returncode == (1 if found else 0)
    for kind in set(kinds).intersection(SLOWER):
        accepted = re.search(rf"^{kind} +(\d+)", done.stdout, re.M)
        assert accepted, done.stdout
        assert int(accepted[1]) > 0, f"no case of {kind} was accepted, so it tests nothing"
    return found


def test_files_of_strangers() -> None:
    assert bad(seed=0, cases=300, kinds=READERS) == []


def test_calls_and_a_changed_cache() -> None:
    assert bad(seed=0, cases=60, kinds=["calls", "calls", "stored rows"]) == []


def test_command_lines() -> None:
    assert bad(seed=0, cases=30, kinds=["command line"]) == []


def test_run_directories() -> None:
    assert bad(seed=0, cases=80, kinds=["run directory"]) == []


def fail() -> None:
    raise RuntimeError("no")


def refuse_at_length() -> None:
    error = InputError("short")
    error.args = ("x" * 601,)
    raise error


def refuse() -> None:
    raise InputError("x" * 10_000)


def crash() -> None:
    os.abort()


def swallow() -> None:
    np.empty(2**30)


def hang() -> None:
    time.sleep(60)


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        (list, "fine"),
        (refuse, "refused"),
        (fail, "traceback"),
        (refuse_at_length, "long"),
        (crash, "crash"),
        (swallow, "memory"),
        (hang, "hang"),
    ],
)
def test_every_end_of_a_case_is_noticed(case: Any, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "MOST_SECONDS", 0.5 if case is hang else 60)
    assert ended(case, monkeypatch) == [answer, answer]


def test_a_case_is_made_from_its_number_alone(tmp_path: Path) -> None:
    first = [verdict.answer for verdict in fuzz.run(3, range(10, 20), READERS)]
    assert [fuzz.judge(3, number, READERS).answer for number in range(10, 20)] == first
