"""Runs that lose the disk or their life at a numbered file operation, in child processes of this one.

    python tests/trust/faulty_run.py FOLDER CASE error|kill SAMPLE

Every file operation below the run directory is counted through Python's audit events (open, rename, remove, mkdir, ...).
Operation number k either fails with "no space left on device" or is where SIGKILL arrives.
"""

import errno
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

# imported here, so that children need not; nothing runs before they are forked
import sklearn.metrics  # noqa: F401
from figures import store

import ansgt.coarsening
import ansgt.heuristics
import ansgt.models.baselines.gcn
import ansgt.prediction.ansgt
import ansgt.training.adaptive
import ansgt.training.full_batch  # noqa: F401
from ansgt.config import RunConfig
from ansgt.datasets import Dataset
from ansgt.runs.prepare import prepare_run
from ansgt.runs.run import Environment, run

EVENTS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.listdir",
    "os.scandir",
    "os.chmod",
    "os.truncate",
}
"""`os.replace` is audited as os.rename, unlinking as os.remove."""
TINY = {
    "num_layers": 1,
    "hidden_channels": 8,
    "num_heads": 2,
    "num_augmentations": 2,
    "num_sampled": 5,
    "update_period": 1,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gcn": ("gcn", {"epochs": 3, "hidden_channels": 4}),
    "ansgt": ("ansgt", {"epochs": 3, **TINY}),
    "two models": ("gcn", {"epochs": 2, "hidden_channels": 4, "num_models": 2}),
}


@cache
def prepared(case: str) -> tuple[Dataset, RunConfig]:
    """Data and settings of a case; reads nothing of a run's folder, so the children share it."""
    model, settings = CASES[case]
    return prepare_run("newman", model, device="cpu", num_splits=2, overrides=settings)


def train(case: str, folder: Path) -> None:
    """Trains two splits with a checkpoint after every epoch; goes on with what is there."""
    data, config = prepared(case)
    run(config, data, folder, resume=True, environment=Environment(checkpoint_seconds=0.0))


def in_child(work: Callable[[], object]) -> int:
    """Exit status of `work` in a forked process: 0, 1 for an exception, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            if "VERBOSE" in os.environ:
                traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def counted(case: str, folder: Path, at: int | None = None, how: str = "error") -> int:
    """Trains with operation number `at` failing; returns the exit status, or without `at` the number of operations."""
    count_file = folder.with_suffix(".count")

    def work() -> None:
        count, root = 0, os.fspath(folder)

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            if event in EVENTS and isinstance(arguments[0], str) and arguments[0].startswith(root):
                count += 1
                if count == at and how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                if count == at:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), arguments[0])

        sys.addaudithook(hook)
        train(case, folder)
        root = "\0"
        if at is None:
            count_file.write_text(str(count))

    status = in_child(work)
    return int(count_file.read_text()) if at is None else status


def content(folder: Path) -> dict[str, Any]:
    """Everything in a run that must not depend on faults."""
    found: dict[str, Any] = {}
    for split in sorted(folder.glob("split-*")):
        result = json.loads((split / "result.json").read_text())
        del result["seconds"], result["sha256"]
        for one in result.get("models", ()):
            one.pop("seconds", None)
        found[split.name] = result
        found[f"{split.name} weights"] = (split / "model.safetensors").read_bytes()
        with np.load(split / "predictions.npz") as arrays:
            found[f"{split.name} predictions"] = arrays["probabilities"].tobytes()
    return found


def operations(number_of: int, sample: int) -> list[int]:
    """Numbers of the operations to try: all, or some spread over the run and drawn from a seed."""
    everyone = np.arange(1, number_of + 1)
    if sample == 0 or number_of <= sample:
        return everyone.tolist()
    rng = np.random.default_rng(number_of)
    return sorted(int(part[rng.integers(len(part))]) for part in np.array_split(everyone, sample))


def main(work: Path, case: str, how: str, sample: int) -> str:
    """Tries the operations; returns what went wrong, or ""."""
    prepared(case)
    gc.freeze()  # what a child collects is its own: thrice as fast
    number_of = counted(case, work / "whole")
    expected, struck, wrong = content(work / "whole"), 0, []
    tried = operations(number_of, sample)
    for at in tried:
        folder = work / f"{how}-{at}"
        struck += counted(case, folder, at, how) != 0
        if in_child(lambda folder=folder: train(case, folder)) != 0 or content(folder) != expected:
            wrong.append(f"operation {at} of {number_of} is lost")
        wrong += [f"operation {at} left {path.name}" for path in folder.rglob(".*.tmp")]
    gc.unfreeze()
    if len(tried) == number_of:  # a sample is no figure
        what = "fail" if how == "error" else "are where SIGKILL arrives"
        lost = f"{len(wrong)} lost or otherwise" if wrong else "all resumed, bit for bit"
        store(f"make faults ({case}, {how})", f"{len(tried)} of {number_of} file operations {what}", lost)
    if number_of < 30:
        wrong.append(f"a run has only {number_of} operations")
    if struck < (len(tried) if how == "kill" else 1):  # some errors are nobody's loss
        wrong.append(f"only {struck} of {len(tried)} faults struck")
    return "; ".join(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])) or 0)
