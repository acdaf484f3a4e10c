"""Compares losses step by step in float32: CUDA and CPU, captured and eager, fused layers and plain ones.

    python -m study.scripts.device_parity --root DATA [--dataset cora] [--steps 10] [--out $OUT]

Dropout is off (its random numbers differ between devices by construction); everything else is the shipped setting.
Prints and stores the largest difference of the loss over the steps. We ask for less than 1e-3 over ten steps.
"""

import argparse
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ansgt.datasets.load import Source
from ansgt.runs.prepare import prepare_run
from ansgt.runs.seeds import draw_seed, seed_building, seed_epoch
from ansgt.storage import DiskCache
from ansgt.training.adaptive import AdaptiveLearner

EXACT: dict[str, Any] = {"dropout": 0.0, "attention_dropout": 0.0, "input_dropout": 0.0, "amp": False}


@dataclass(frozen=True)
class Case:
    """What is trained, and how.

    Args:
        dataset, root, cache: the data set and where it lies.
        device: cpu or cuda.
        steps: how many.
        captured: replayed as a CUDA graph.
        fused: all layers together. No setting says so: in float32 that never pays.
    """

    dataset: str
    root: str
    cache: str
    device: str = "cuda"
    steps: int = 50
    captured: bool = False
    fused: bool = False


def losses(case: Case) -> list[float]:
    """Loss of the first steps from one seed, always over the same centres."""
    source, overrides = Source(case.root, case.cache), {**EXACT, "captured": case.captured}
    data, config = prepare_run(case.dataset, source=source, device=case.device, overrides=overrides)
    split = data.split()
    seed_building(config.seed, split.index)
    seed, cache = draw_seed(config.seed, split.index), DiskCache(case.cache)
    # weights are drawn on the CPU and moved, so both devices start from the same ones
    learner = AdaptiveLearner(config, data.graph, split, seed, cache)
    learner.model.transformer.fused = case.fused
    seed_epoch(config.seed, split.index, 0)
    learner.model.train()
    size = learner.batch_size
    nodes = learner.train_nodes
    out = []
    for step in range(case.steps):
        start = (step * size) % max(len(nodes) - size, 1)
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
    case = Case(arguments.dataset, arguments.root, arguments.cache)
    cpu = losses(replace(case, device="cpu", steps=arguments.steps))
    eager = losses(case)
    captured = losses(replace(case, captured=True))
    fused = losses(replace(case, captured=True, fused=True))
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
