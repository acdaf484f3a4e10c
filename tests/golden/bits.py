"""Seven short CPU runs whose outcome must not change: equal bits before and after a change, on one machine.

python tests/golden/bits.py keep /tmp/bits     # before
python tests/golden/bits.py check /tmp/bits    # after: exits with 1 at the first difference
python tests/golden/bits.py renew              # writes expected.json: see README.md for when that is right
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = os.environ.get("ANSGT_DATA", "../shared/data")
EXPECTED = Path(__file__).parent / "expected.json"
AMBIGUOUS = 1e-3
"""Nodes whose two largest probabilities lie closer than this are left out of the comparison of classes."""


@dataclass(frozen=True)
class Case:
    """A run: arguments of `ansgt train`. Its data set is `arguments[0]`."""

    name: str
    arguments: tuple[str, ...]


PER_CLASS = ("--split", "per-class-60-20-20")
CASES = (
    Case("newman-ansgt", ("newman", "-o", "epochs=3")),
    Case("texas-ansgt", ("texas", *PER_CLASS, "-o", "epochs=5", "-o", "num_models=1")),
    Case("chameleon-ansgt", ("chameleon", "-o", "epochs=2")),
    Case("cora-ansgt-two-layers", ("cora", "-o", "epochs=1", "-o", "num_layers=2")),
    Case("citeseer-gcn", ("citeseer", "--model", "gcn", "-o", "epochs=20")),
    Case("texas-gophormer", ("texas", "--model", "gophormer", "-o", "epochs=3")),
    Case("texas-san", ("texas", "--model", "san", "-o", "epochs=3")),
)


@dataclass(frozen=True)
class Outcome:
    """What a run left: the loss of every epoch, and class probabilities [n, C]."""

    losses: list[float]
    probabilities: np.ndarray

    @property
    def classes(self) -> str:
        """A character a node: its class in base 36, or "." where two classes are nearly equal."""
        top = np.sort(self.probabilities, axis=1)
        clear = top[:, -1] - top[:, -2] > AMBIGUOUS
        predicted = self.probabilities.argmax(axis=1)
        return "".join(np.base_repr(c, 36) if ok else "." for c, ok in zip(predicted, clear, strict=True))


def run(case: Case, folder: Path, root: str) -> Outcome:
    """Trains in a process of its own, with one thread, nothing cached."""
    target = folder / case.name
    command = [sys.executable, "-m", "ansgt", "train", *case.arguments, "--device", "cpu", "--root", root]
    command += ["--run-dir", str(target), "--cache-dir", str(folder / "cache"), "--overwrite"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (target / "split-0" / "metrics.jsonl").read_text().splitlines()]
    with np.load(target / "split-0" / "predictions.npz", allow_pickle=False) as arrays:
        return Outcome([row["loss"] for row in rows], arrays["probabilities"])


def main(verb: str, folder: Path) -> int:
    outcomes, wrong = {}, 0
    with tempfile.TemporaryDirectory() as work:
        for case in CASES:
            outcome = outcomes[case.name] = run(case, Path(work), ROOT)
            path = folder / f"{case.name}.npz"
            if verb == "keep":
                folder.mkdir(parents=True, exist_ok=True)
                np.savez(path, losses=np.array(outcome.losses), probabilities=outcome.probabilities)
            elif verb == "check":
                with np.load(path) as kept:
                    same = np.array_equal(kept["losses"], outcome.losses) and np.array_equal(
                        kept["probabilities"], outcome.probabilities
                    )
                print(f"{case.name}: {'equal' if same else 'DIFFERENT'}", flush=True)
                wrong += not same
    if verb == "renew":
        expected = {name: {"losses": o.losses, "classes": o.classes} for name, o in outcomes.items()}
        EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else Path(".")))
