"""CUDA against CPU, captured against eager, fused layers against plain: the same losses, step by step, in float32.

    python benchmarks/device_parity.py --root DATA [--dataset cora] [--steps 10] [--out $OUT]

Dropout is off (its random numbers differ between devices by construction); everything else is the shipped setting.
Prints and stores the largest difference of the loss over the steps; issue 5 asks for 1e-3 over ten.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from ansgt.pipeline import prepare_run
from ansgt.storage import DiskCache
from ansgt.training.build import build_learner
from ansgt.training.randomness import seed_all

NO_DROPOUT = ["dropout=0.0", "attention_dropout=0.0", "input_dropout=0.0", "amp=false"]


def losses(
    dataset: str, root: str, device: str, steps: int, cache: str, captured: bool, attention: str = "auto"
) -> list[float]:
    """Loss of the first steps from one seed, always over the same centres."""
    overrides = [*NO_DROPOUT, f"captured={str(captured).lower()}", f"attention={attention}"]
    data, config = prepare_run(
        dataset, "ansgt", root=root, device=device, overrides=overrides, cache_dir=cache
    )
    seed_all(0, 0, -1)
    learner: Any = build_learner(config, data.graph, data.split(), DiskCache(cache))
    seed_all(0, 0, -1)
    # weights are drawn on the CPU and moved, so both devices start from the same ones
    learner.model.train()
    size = config.settings["batch_size"]
    nodes = learner.train_nodes
    out = []
    for step in range(steps):
        start = (step * size) % (len(nodes) - size)
        out.append(float(learner.step(nodes[start : start + size])))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    shared = (arguments.dataset, arguments.root)
    cpu = losses(*shared, "cpu", arguments.steps, arguments.cache, captured=False)
    eager = losses(*shared, "cuda", 50, arguments.cache, captured=False)
    captured = losses(*shared, "cuda", 50, arguments.cache, captured=True)
    fused = losses(*shared, "cuda", 50, arguments.cache, captured=True, attention="fused")
    record = {
        "dataset": arguments.dataset,
        "cpu": cpu,
        "eager": eager,
        "captured": captured,
        "fused": fused,
        "cpu_vs_cuda": max(abs(a - b) for a, b in zip(cpu, eager, strict=False)),
        "captured_vs_eager": max(abs(a - b) for a, b in zip(captured, eager, strict=True)),
        "fused_vs_eager": max(abs(a - b) for a, b in zip(fused, eager, strict=True)),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }
    (Path(arguments.out) / "parity.json").write_text(json.dumps(record, indent=1))
    print({key: record[key] for key in ("cpu_vs_cuda", "captured_vs_eager", "fused_vs_eager")})


if __name__ == "__main__":
    main()
