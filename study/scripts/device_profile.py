"""The kernels of a training pass on a CUDA device: how long each takes, and one step in order with the gaps between them.

    python -m study.scripts.device_profile --root DATA [--presets authors,paper] [--out $OUT]

Cora with the presets of `ansgt bench epoch`, compiled as there. Writes profile_step.txt: one line per kernel (calls per
step, microseconds per call and per step), then the kernels of a step in the middle of the pass.
"""

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from ansgt.bench.epoch import Case
from ansgt.datasets.load import Source
from ansgt.runs.prepare import prepare_run
from ansgt.runs.seeds import draw_seed
from ansgt.storage import DiskCache
from ansgt.training.adaptive import AdaptiveLearner

Kernel = tuple[str, float, float]
"""Name, begin and end in microseconds."""


def kernels_of_a_pass(preset: str, root: str) -> tuple[list[Kernel], int]:
    """The kernels of a pass in their order, and how many steps it has."""
    case = Case(preset, Path(root), "cuda", compiled=True)
    data, config = prepare_run(
        "cora", source=Source(case.root), device=case.device, overrides=case.overrides()
    )
    split = data.split()
    seed = draw_seed(config.seed, split.index)
    learner = AdaptiveLearner(config, data.graph, split, seed, DiskCache(None))
    learner.train_epoch(0)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        learner.train_epoch(0)
        torch.cuda.synchronize()
    spans = [
        (event.name, event.time_range.start, event.time_range.end)
        for event in record.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
    ]
    return sorted(spans, key=lambda span: span[1]), -(-len(split.train) // learner.batch_size)


def told(preset: str, kernels: list[Kernel], steps: int) -> Iterator[str]:
    """The lines of one preset."""
    times: dict[str, list[float]] = defaultdict(list)
    for name, begin, end in kernels:
        times[name].append(end - begin)
    span = max(end for *_, end in kernels) - kernels[0][1]
    busy = sum(map(sum, times.values()))
    yield f"# {preset}: {len(kernels)} kernels, span {span:.0f} us, busy {busy:.0f} us"
    for name, each in sorted(times.items(), key=lambda item: -sum(item[1])):
        mean = sum(each) / len(each)
        yield f"{len(each) / steps:.2f} a step, {mean:.2f} us each, {sum(each) / steps:.2f} us a step  {name[:90]}"
    yield f"# {preset}: in order"
    one = len(kernels) // steps
    middle = one * (steps // 2)
    before = kernels[middle][1]
    for name, begin, end in kernels[middle : middle + one]:
        yield f"gap {begin - before:.2f} dur {end - begin:.2f} {name[:90]}"
        before = end


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    parser.add_argument("--presets", default="authors,paper")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    options = parser.parse_args()
    with (options.out / "profile_step.txt").open("w") as out:
        for preset in options.presets.split(","):
            for line in told(preset, *kernels_of_a_pass(preset, options.root)):
                print(line, file=out)


if __name__ == "__main__":
    main()
