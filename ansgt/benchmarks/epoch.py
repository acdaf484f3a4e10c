"""`ansgt bench epoch`: a training pass, an epoch with evaluation, an adaptive update and the preprocessing, on real data.

Floor: `ansgt.training.flops` counts what a step must compute and move, at an H200's 500 TFLOP/s in bf16 and 4.8 TB/s; the
ratio of the measured step to it is printed. What is above it is launches and kernels that are too small. Peer: the authors'
release as measured on one H200 (FINDINGS.md section 1), with its own preset (S = 8, 4 layers, 14 + 1 + 1 tokens, batch 32).
"""

import statistics
import time
from collections.abc import Callable
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
    "cora": {"pass": 1.68, "epoch": 3.75, "update": 37.0, "preprocessing": 34.4, "run": 4150.0},
    "chameleon": {"pass": 1.61, "epoch": 3.87, "preprocessing": 45.2},
}
"""Seconds of the authors' release on one H200, its own preset; a run is 1,000 epochs with ten updates."""
TFLOP_PER_S, TB_PER_S = 500.0, 4.8
"""Of an H200, dense bf16 and memory."""


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
    repeats: Annotated[int, typer.Option(help="Passes measured; the median is reported.")] = 5,
    run_epochs: Annotated[
        int | None,
        typer.Option(help="Epochs of the run from end to end on the first data set; 0: none. 1,000 on CUDA."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Seconds per training pass, per epoch with evaluation, per update, and of the preprocessing."""
    from ansgt.errors import unknown_name
    from ansgt.training.build import resolve_device

    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    device = resolve_device(device)
    on_cuda = device.startswith("cuda")
    compiled = on_cuda if compiled is None else compiled
    epochs = (1000 if on_cuda else 0) if run_epochs is None else run_epochs
    rows = []
    for number, name in enumerate(datasets.split(",")):
        rows.append(measure(name, preset, root, device, compiled, repeats, epochs if number == 0 else 0))
    ratios = {}
    for row in rows:
        for what, seconds in PEER.get(row["dataset"], {}).items():
            if f"{what}_s" in row and (what != "run" or epochs == 1000):
                name = f"authors' release (H200, its preset) / ours: {row['dataset']} {what}"
                ratios[name] = seconds / row[f"{what}_s"]
    return {"name": "epoch", "preset": preset, "compiled": compiled, "rows": rows, "ratios": ratios}


def measure(
    dataset: str, preset: str, root: Path, device: str, compiled: bool, repeats: int, run_epochs: int
) -> dict[str, Any]:
    """One data set: medians over `repeats`, warm-up (and compilation) apart; a run from end to end if asked for."""
    import torch

    from ansgt.pipeline import prepare_run
    from ansgt.storage import DiskCache
    from ansgt.training.adaptive import AdaptiveLearner
    from ansgt.training.flops import bytes_per_step, flops_per_step

    overrides = [*PRESETS[preset], *COMMON, f"compiled={str(compiled).lower()}"]
    data, config = prepare_run(dataset, "ansgt", root=root, device=device, overrides=overrides)
    split = data.split()
    on_cuda = torch.device(config.device).type == "cuda"
    if on_cuda:
        torch.cuda.reset_peak_memory_stats()

    def build() -> AdaptiveLearner:
        return AdaptiveLearner(config, data.graph, split, DiskCache(None))

    first = timed(build, on_cuda)[0]  # with every just-in-time compilation in it
    preprocessing, learner = timed(build, on_cuda)
    warmup = timed(lambda: (learner.train_epoch(0), learner.predict_proba(split.val)), on_cuda)[0]
    outside = torch.cat([split.val, split.test])
    learner.predict_proba(outside)
    period = learner.settings.update_period
    passes = [timed(partial(learner.train_epoch, e * period), on_cuda)[0] for e in range(repeats)]
    evaluations = [timed(lambda: learner.predict_proba(outside), on_cuda)[0] for _ in range(repeats)]

    def update() -> None:
        learner._update(0)
        learner._resample()

    update()
    updates = [timed(update, on_cuda)[0] for _ in range(min(repeats, 3))]
    steps = -(-len(split.train) // learner.settings.batch_size)
    sequences = learner.settings.batch_size * learner.settings.num_augmentations
    num_rows = learner.source.builder().x.shape[0]
    work = (learner.model, learner.source.layout, sequences, num_rows)
    one = statistics.median(passes)
    floor = flops_per_step(*work).total / (TFLOP_PER_S * 1e12) + bytes_per_step(*work) / (TB_PER_S * 1e12)
    row = {
        "dataset": dataset,
        "device": torch.cuda.get_device_name() if on_cuda else "cpu",
        "pass_s": one,
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
        row |= {"run_epochs": run_epochs, **end_to_end(build, outside, run_epochs, on_cuda)}
    return row


def end_to_end(build: Callable[[], Any], nodes: Any, epochs: int, on_cuda: bool) -> dict[str, float]:
    """Preprocessing, then every epoch a training pass and the probabilities of validation and test part, an update when
    it is due. The first epoch, which compiles and captures, is in `run_s` and also told apart."""

    def run() -> tuple[float, int]:
        learner = build()
        first = timed(lambda: (learner.train_epoch(0), learner.predict_proba(nodes)), on_cuda)[0]
        for epoch in range(1, epochs):
            learner.train_epoch(epoch)
            learner.predict_proba(nodes)
        return first, len(learner.history())

    seconds, (first, updates) = timed(run, on_cuda)
    return {"run_s": seconds, "run_first_epoch_s": first, "run_updates": updates}


def timed(work: Callable[[], Any], on_cuda: bool) -> tuple[float, Any]:
    """Seconds of a call, the device's work included, and what it returned."""
    import torch

    if on_cuda:
        torch.cuda.synchronize()
    started = time.perf_counter()
    result = work()
    if on_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - started, result
