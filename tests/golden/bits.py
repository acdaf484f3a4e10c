"""Equal bits before and after a change, on one machine.

python tests/golden/bits.py keep /tmp/bits     # before
python tests/golden/bits.py check /tmp/bits    # after: exits with 1 at the first difference
python tests/golden/bits.py renew              # writes expected.json: see README.md for when that is right
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from golden_cases import CASES, run

ROOT = os.environ.get("ANSGT_DATA", "../shared/data")
EXPECTED = Path(__file__).parent / "expected.json"


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
