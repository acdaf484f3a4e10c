"""A file operation that fails, or a kill at it, costs time and nothing else. `make faults` tries all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faulty_run import CASES

SAMPLE = int(os.environ.get("ANSGT_FAULTS", "4"))
"""Operations tried per case and kind of fault; 0: all of them."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("how", ["error", "kill"])
@pytest.mark.parametrize("case", CASES)
def test_a_run_survives_any_file_operation(case: str, how: str, tmp_path: Path) -> None:
    script = Path(__file__).parent / "faulty_run.py"  # in a process that has computed nothing, which forks
    command = [sys.executable, str(script), str(tmp_path), case, how, str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
