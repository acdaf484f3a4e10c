"""`ansgt bench epoch`: a training pass, an epoch with evaluation, an adaptive update and the preprocessing, on real data.

Lower bound ("floor" in the output): `ansgt.bench.flops` counts what a step must compute and move, at an H200's 500
TFLOP/s in bf16 and 4.8 TB/s; the ratio of the measured step to it is printed. What a step takes beyond it is spent in
launches and in kernels that are too small. Peer: the authors' release as measured on one H200, with its own preset (S = 8,
4 layers, 14 + 1 + 1 tokens, batch 32).
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

PRESETS: dict[str, list[str]] = {
    "authors": ["num_augmentations=8", "num_layers=4", "num_sampled=14", "num_supernodes=1", "num_global=1"],
    "paper": ["num_augmentations=16", "num_layers=5", "num_sampled=20", "num_supernodes=3", "num_global=2"],
}
COMMON = [
    "hidden_channels=128",
    "normalize_features=none",
    "average_epochs=0",
    "batch_size=32",
    "num_proximity=10",
    "dropout=0.5",
    "input_dropout=0.5",
    "attention_dropout=0.1",
    "label_smoothing=0",
    "redraw_every=null",
    "coarsening_rate=0.1",
    "update_period=100",
    "epochs=1000",
    "warmup_epochs=100",
    "lr=2e-4",
]
PEER = {
    "cora": {"pass": 1.68, "epoch": 2.51, "update": 37.0, "preprocessing": 34.4, "run": 2910.0},
    "chameleon": {"pass": 1.61, "epoch": 2.51, "preprocessing": 45.2},
}
"""Seconds of the authors' release on one H200, its own preset; a run is 1,000 epochs with ten updates, extrapolated.

Its epoch takes 3.75 s (Chameleon 3.87 s) and also scores the training part, which ours does not. So that like is compared
with like, the training part's share of its evaluations, 60 % by the number of nodes, is taken off here, and 1,000 times
that share off its run of 4,150 s. `study/results/peer` has what was measured.
"""
PEER_CPU = {"cora": {"pass": 12.6}}
"""CPU seconds of the same on one core (November 2026, the machine of `study/gpu.md`); ours are those of the process."""
TFLOP_PER_S, TB_PER_S = 500.0, 4.8
"""Of an H200, dense bf16 and memory."""


@dataclass(frozen=True)
class Case:
    """What is measured and where."""

    preset: str
    root: Path = Path("data")
    device: str = "cpu"
    compiled: bool = False
    repeats: int = 5
    """Passes; the median is reported."""
    half: bool | None = None
    """bfloat16 in training steps; None: as a run would."""

    def overrides(self) -> list[str]:
        """The settings that decide the speed."""
        half = [] if self.half is None else [f"amp={str(self.half).lower()}"]
        return [*PRESETS[self.preset], *COMMON, f"compiled={str(self.compiled).lower()}", *half]


def bench(
    preset: Annotated[str, typer.Option(help="authors or paper.")] = "authors",
    datasets: Annotated[str, typer.Option(help="Names, separated by commas.")] = "cora",
    root: Annotated[Path, typer.Option(envvar="ANSGT_DATA", help="Folder with the raw data sets.")] = Path(
        "data"
    ),
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    compiled: Annotated[
        bool | None, typer.Option("--compiled/--eager", help="Use torch.compile; by default on CUDA.")
    ] = None,
    half: Annotated[
        bool | None,
        typer.Option(
            "--half/--full", help="bfloat16 or float32; by default bfloat16 where the device is fast at it."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Passes measured; the median is reported.")] = 5,
    run_epochs: Annotated[
        int | None,
        typer.Option(help="Epochs of the run from end to end on the first data set; 0: none. 1,000 on CUDA."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Seconds per training pass, per epoch with evaluation, per update, and of the preprocessing."""
    from ansgt.device import multiplies_half_fast, resolve_device
    from ansgt.errors import unknown_name

    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    device = resolve_device(device)
    on_cuda = device.startswith("cuda")
    half = multiplies_half_fast(device) if half is None else half
    case = Case(preset, root, device, on_cuda if compiled is None else compiled, repeats, half)
    epochs = (1000 if on_cuda else 0) if run_epochs is None else run_epochs
    rows = [
        measure(name, case, epochs if number == 0 else 0) for number, name in enumerate(datasets.split(","))
    ]
    ratios = {name: ratio for row in rows for name, ratio in peer_ratios(row).items()}
    return {
        "name": "epoch",
        "preset": preset,
        "compiled": case.compiled,
        "half": half,
        "rows": rows,
        "ratios": ratios,
    }


def peer_ratios(row: dict[str, Any]) -> dict[str, float]:
    """Seconds of the authors' release over ours, for what both were measured on: on a CPU the CPU's seconds."""
    if row.get("device") == "cpu":
        return {
            f"authors' release (one CPU core, its preset) / ours: {row['dataset']} {part}": seconds
            / row[f"{part}_cpu_s"]
            for part, seconds in PEER_CPU.get(row["dataset"], {}).items()
        }
    return {
        f"authors' release (H200, its preset) / ours: {row['dataset']} {part}": seconds / row[f"{part}_s"]
        for part, seconds in PEER.get(row["dataset"], {}).items()
        if f"{part}_s" in row and (part != "run" or row["run_epochs"] == 1000)
    }


def measure(dataset: str, case: Case, run_epochs: int = 0) -> dict[str, Any]:
    """One data set: medians over repeats, without warm-up and compilation; a run from end to end if epochs are given."""
    import torch

    from ansgt.bench.flops import bytes_per_step, flops_per_step
    from ansgt.bench.measure import timed
    from ansgt.datasets.load import Source
    from ansgt.runs.prepare import prepare_run
    from ansgt.runs.seeds import draw_seed
    from ansgt.storage import DiskCache
    from ansgt.training.adaptive import AdaptiveLearner

    data, config = prepare_run(
        dataset, source=Source(case.root), device=case.device, overrides=case.overrides()
    )
    split, device = data.split(), config.device
    on_cuda = device.startswith("cuda")
    if on_cuda:
        torch.cuda.reset_peak_memory_stats()

    def build() -> AdaptiveLearner:
        return AdaptiveLearner(config, data.graph, split, draw_seed(config.seed, 0), DiskCache(None))

    first = timed(build, device)[0]  # with every just-in-time compilation in it
    preprocessing, learner = timed(build, device)
    warmup = timed(lambda: (learner.train_epoch(0), learner.trained.predict_proba(split.val)), device)[0]
    outside = torch.cat([split.val, split.test])
    learner.trained.predict_proba(outside)
    period = learner.settings.update_period

    def cpu_seconds(epoch: int) -> float:
        """Of a pass."""
        began = time.process_time()
        learner.train_epoch(epoch)
        return time.process_time() - began

    passes = [timed(partial(cpu_seconds, e * period), device) for e in range(case.repeats)]
    evaluations = [
        timed(lambda: learner.trained.predict_proba(outside), device)[0] for _ in range(case.repeats)
    ]

    def update() -> None:
        learner._update(0)
        learner._resample()

    update()
    updates = [timed(update, device)[0] for _ in range(min(case.repeats, 3))]
    steps = -(-len(split.train) // learner.settings.batch_size)
    sequences = learner.settings.batch_size * learner.settings.num_augmentations
    num_rows = learner.tables.x.shape[0]
    work = (learner.model, learner.tables.layout, sequences, num_rows)
    one = statistics.median(wall for wall, _ in passes)
    floor = flops_per_step(*work).total / (TFLOP_PER_S * 1e12) + bytes_per_step(*work) / (TB_PER_S * 1e12)
    row = {
        "dataset": dataset,
        "device": torch.cuda.get_device_name() if on_cuda else "cpu",
        "pass_s": one,
        "pass_cpu_s": statistics.median(cpu for _, cpu in passes),
        "epoch_s": one + statistics.median(evaluations),
        "update_s": statistics.median(updates),
        "preprocessing_s": preprocessing,
        "first_preprocessing_s": first,
        "warmup_s": warmup,
        "step_ms": 1e3 * one / steps,
        "steps": steps,
        "tflop_per_step": flops_per_step(*work).total / 1e12,
        "mb_per_step": bytes_per_step(*work) / 1e6,
        "tflop_per_s": flops_per_step(*work).total / 1e12 * steps / one,
        "floor_ms_h200": 1e3 * floor,
        "times_floor": one / steps / floor,
        "peak_memory_gb": torch.cuda.max_memory_allocated() / 2**30 if on_cuda else None,
    }
    if run_epochs:
        row |= {"run_epochs": run_epochs, **end_to_end(build, outside, run_epochs, device)}
    return row


def end_to_end(build: Callable[[], Any], nodes: Any, epochs: int, device: str) -> dict[str, float]:
    """Preprocessing, then in every epoch a training pass, the probabilities of `nodes`, and an update when it is due.

    The first epoch, which compiles and captures, is part of `run_s` and also given by itself.
    """
    from ansgt.bench.measure import timed

    def run() -> tuple[float, int]:
        learner = build()
        first = timed(lambda: (learner.train_epoch(0), learner.trained.predict_proba(nodes)), device)[0]
        for epoch in range(1, epochs):
            learner.train_epoch(epoch)
            learner.trained.predict_proba(nodes)
        return first, len(learner.history())

    seconds, (first, updates) = timed(run, device)
    return {"run_s": seconds, "run_first_epoch_s": first, "run_updates": updates}
