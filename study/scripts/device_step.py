"""Times variants of the training step on a CUDA device, and compares their losses.

    python -m study.scripts.device_step [--preset authors|paper|both] [--budget 220] [--out $OUT]

Synthetic resident tables at Cora's sizes (2,708 nodes + 271 super-nodes, 1,433 features, 7 classes, 1,624 training
centres, batch 32); the presets of `ansgt bench epoch`. Writes step.json (and profile.txt, kernels of the best variant)
to `--out`. A variant that fails is recorded with its exception and the others go on; after `--budget` seconds the rest
is skipped.

Lower bound of a step's time (`ansgt.bench.flops`): authors 1.39e10, paper 4.93e10 FLOP, i.e. 0.03 and 0.1 ms at 500
TFLOP/s; 48 and 59 MB, 0.012 ms at 4.8 TB/s. 2.2e9 FLOP of both encode all 2,979 rows. What a step takes beyond the
bound is spent in kernels that are too small and in passes over activations.
"""

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ansgt.bench.flops import bytes_per_step, flops_per_step
from ansgt.kernels.choose import Kernel
from ansgt.models.ansgt import ANSGT, ANSGTSettings
from ansgt.prediction.inference import AveragedInference, Execution, Significance
from ansgt.sequences.batch import SequenceLayout
from ansgt.testing import RandomSequences
from ansgt.training.optim import LinearSchedule, ScheduledAdamW
from ansgt.training.steps import CapturedStep, TrainStep, train_epoch


@dataclass(frozen=True)
class Preset:
    layout: SequenceLayout
    num_sequences: int
    num_layers: int
    num_rows: int = 2708 + 271
    num_features: int = 1433
    num_classes: int = 7
    num_train: int = 1624
    batch_size: int = 32
    num_proximity: int = 10


PRESETS = {
    "authors": Preset(SequenceLayout(14, 1, 1), 8, 4),
    "paper": Preset(SequenceLayout(20, 3, 2), 16, 5),
}
SMALL: dict[str, Any] = {
    "num_sequences": 2,
    "num_rows": 60,
    "num_features": 20,
    "num_train": 50,
    "batch_size": 16,
}


@dataclass(frozen=True)
class Variant:
    """How a step is run; `tables` is the dtype of the resident features and proximities."""

    captured: bool = False
    compiled: bool = False
    amp: bool = False
    tf32: bool = True
    kernel: Kernel = "plain"
    tables: torch.dtype = torch.float32
    dropout: float = 0.5

    @property
    def name(self) -> str:
        parts = ["compiled"] * self.compiled + ["captured" if self.captured else "eager"]
        parts += ["bf16" if self.amp else "tf32" if self.tf32 else "fp32", self.kernel]
        parts += ["bf16-tables"] * (self.tables == torch.bfloat16) + ["no-dropout"] * (self.dropout == 0)
        return " ".join(parts)


HALF = torch.bfloat16
VARIANTS = [
    Variant(captured=True, amp=True),
    Variant(captured=True, amp=True, kernel="sdpa"),
    Variant(captured=True, compiled=True, amp=True, tables=HALF),
    Variant(captured=True, compiled=True, amp=True, tables=HALF, kernel="triton"),
    Variant(captured=True, amp=True, tables=HALF, kernel="triton"),
    Variant(captured=True, amp=True, tables=HALF),
    Variant(captured=True, compiled=True, amp=True, tables=HALF, kernel="sdpa"),
    Variant(captured=True, compiled=True),
    Variant(captured=True),
    Variant(captured=True, tf32=False),
    Variant(captured=True, amp=True, tables=HALF, dropout=0.0),
    Variant(amp=True),
    Variant(amp=True, kernel="sdpa"),
    Variant(tf32=False),
]


class Bench:
    """One preset's tables and everything that is measured on them."""

    def __init__(self, preset: Preset, device: torch.device) -> None:
        self.preset, self.device = preset, device
        p = preset
        self.tables = RandomSequences(
            p.num_rows, p.num_features, p.num_classes, p.layout, p.num_sequences, p.num_proximity, 0.1, device
        )
        self.nodes = torch.arange(p.num_train, device=device)

    def build(self, dtype: torch.dtype) -> RandomSequences:
        """The tables with features and proximities in another dtype; indices are shared."""
        tables = copy(self.tables)
        tables.x, tables.proximity = self.tables.x.to(dtype), self.tables.proximity.to(dtype)
        return tables

    def step(self, variant: Variant) -> TrainStep | CapturedStep:
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = variant.tf32
        torch.backends.cudnn.allow_tf32 = variant.tf32
        p, rate = self.preset, variant.dropout
        settings = ANSGTSettings(
            num_layers=p.num_layers,
            num_global=p.layout.num_global,
            num_proximity=p.num_proximity,
            dropout=rate,
            attention_dropout=rate,
            input_dropout=rate,
            kernel=variant.kernel,
        )
        model = ANSGT(p.num_features, p.num_classes, settings).to(self.device)
        optimizer = ScheduledAdamW(model, LinearSchedule(2e-4, 1e-9, 100, 10_000))
        step = TrainStep(
            model, optimizer, self.build(variant.tables), amp=variant.amp, compiled=variant.compiled
        )
        return CapturedStep(step) if variant.captured else step

    def measure(self, variant: Variant, repeats: int = 7) -> dict[str, Any]:
        """Seconds of a pass over the training centres (median), warm-up apart."""
        step = self.step(variant)
        generator = torch.Generator().manual_seed(0)
        self.reset_memory()
        warmup = self.clock(lambda: train_epoch(step, self.nodes, self.preset.batch_size, generator))
        passes = [
            self.clock(lambda: train_epoch(step, self.nodes, self.preset.batch_size, generator))
            for _ in range(repeats)
        ]
        loss = float(step.mean_loss())
        steps = -(-self.preset.num_train // self.preset.batch_size)
        seconds = sorted(passes)[len(passes) // 2]
        return {
            "variant": variant.name,
            "warmup_s": warmup,
            "pass_s": seconds,
            "step_ms": 1e3 * seconds / steps,
            "passes_s": passes,
            "loss": loss,
            "peak_bytes": torch.cuda.max_memory_allocated() if self.device.type == "cuda" else None,
        }

    def losses(self, variant: Variant, num_steps: int) -> list[float]:
        step = self.step(replace(variant, dropout=0.0))
        step.model.train()
        torch.manual_seed(1)
        order = torch.randint(0, self.preset.num_train, (num_steps, self.preset.batch_size))
        return [float(step(centres.to(self.device))) for centres in order]

    def agreement(self, one: Variant, other: Variant, num_steps: int = 50) -> dict[str, Any]:
        """Largest difference of the loss over some steps without dropout."""
        first, second = self.losses(one, num_steps), self.losses(other, num_steps)
        gap = max(abs(a - b) for a, b in zip(first, second, strict=True))
        return {
            "one": one.name,
            "other": other.name,
            "steps": num_steps,
            "max_difference": gap,
            "last": first[-1],
        }

    def cpu_agreement(self, num_steps: int = 10) -> dict[str, Any]:
        """Largest difference of the loss between CUDA and the CPU over some steps in float32."""
        cpu = Bench(self.preset, torch.device("cpu"))
        first = cpu.losses(Variant(tf32=False), num_steps)
        second = self.losses(Variant(tf32=False), num_steps)
        return {
            "steps": num_steps,
            "max_difference": max(abs(a - b) for a, b in zip(first, second, strict=True)),
        }

    def inference(self, captured: bool, chunk_size: int) -> dict[str, Any]:
        """Seconds for probabilities of 1,084 nodes (Cora's validation and test) and significance of the training part."""
        model = self.step(Variant()).model
        build = self.build(HALF)
        nodes = torch.arange(self.preset.num_rows, device=self.device)[-1084:]
        execution = Execution(amp=self.device.type == "cuda", captured=captured)
        predict = AveragedInference(model, build, chunk_size, execution)
        explain = Significance(model, self.build(torch.float32), chunk_size, captured)
        calls = {"predict_s": lambda: predict(nodes), "significance_s": lambda: explain(self.nodes)}
        out: dict[str, Any] = {"captured": captured, "chunk_size": chunk_size}
        for key, call in calls.items():
            self.clock(call)
            out[key] = sorted(self.clock(call) for _ in range(7))[3]
        return out

    def lower_bound(self) -> dict[str, Any]:
        p, model = self.preset, self.step(Variant()).model
        sequences = p.batch_size * p.num_sequences
        flops = flops_per_step(model, p.layout, sequences, p.num_rows)
        moved = bytes_per_step(model, p.layout, sequences, p.num_rows, feature_bytes=2, proximity_bytes=2)
        return {"flops": asdict(flops), "flops_total": flops.total, "bytes": moved}

    def profile(self, variant: Variant) -> str:
        """Kernels of ten steps, longest first."""
        from torch.profiler import ProfilerActivity, profile

        step = self.step(variant)
        centres = self.nodes[: self.preset.batch_size]
        for _ in range(5):
            step(centres)
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as records:
            for _ in range(10):
                step(centres)
            torch.cuda.synchronize()
        return records.key_averages().table(
            sort_by="self_cuda_time_total", row_limit=60, max_name_column_width=90
        )

    def clock(self, call: Callable[[], object]) -> float:
        self.wait()
        start = time.perf_counter()
        call()
        self.wait()
        return time.perf_counter() - start

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def reset_memory(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()


class Report:
    """Collects results, writes them after each, and stops starting new ones when the time is up."""

    def __init__(self, folder: Path, budget: float) -> None:
        self.folder, self.end = folder, time.perf_counter() + budget
        self.content: dict[str, Any] = {"torch": torch.__version__, "python": platform.python_version()}
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, section: str, label: str, call: Callable[[], Any]) -> Any:
        rows = self.content.setdefault(section, {})
        if time.perf_counter() > self.end:
            rows[label] = {"skipped": "out of time"}
            return None
        start = time.perf_counter()
        try:
            rows[label] = call()
        except Exception as error:
            rows[label] = {"error": repr(error)[:500], "trace": traceback.format_exc()[-2000:]}
        print(
            f"{section:18} {label:52} {summary(rows[label])}  [{time.perf_counter() - start:.1f} s]",
            flush=True,
        )
        (self.folder / "step.json").write_text(json.dumps(self.content, indent=1))
        return rows[label]


def summary(row: dict[str, Any]) -> str:
    keys = (
        "step_ms",
        "pass_s",
        "warmup_s",
        "loss",
        "max_difference",
        "predict_s",
        "significance_s",
        "flops_total",
        "error",
    )
    return "  ".join(
        f"{k}={row[k]:.4g}" if isinstance(row[k], float) else f"{k}={row[k]}" for k in keys if k in row
    )


def run_preset(
    name: str, preset: Preset, device: torch.device, report: Report, variants: list[Variant]
) -> None:
    bench = Bench(preset, device)
    report.add(name, "lower bound", bench.lower_bound)
    for variant in variants:
        report.add(name, variant.name, partial(bench.measure, variant))
    cuda = device.type == "cuda"
    for captured, chunk in [(False, 128), (cuda, 128), (cuda, 512)]:
        label = f"inference {'captured' if captured else 'eager'} {chunk}"
        report.add(name, label, partial(bench.inference, captured, chunk))


def check(preset: Preset, device: torch.device, report: Report) -> None:
    """Captured against eager and CUDA against CPU, at the size of the first preset."""
    bench, exact = Bench(preset, device), Variant(tf32=False)
    if device.type == "cuda":
        pairs = {
            "captured": replace(exact, captured=True),
            "captured sdpa": replace(exact, captured=True, kernel="sdpa"),
            "triton": replace(exact, kernel="triton"),
            "compiled captured": replace(exact, captured=True, compiled=True),
        }
        for label, other in pairs.items():
            report.add("agreement", label, partial(bench.agreement, exact, other))
        report.add("agreement", "cuda against cpu", bench.cpu_agreement)
    else:
        report.add("agreement", "sdpa", lambda: bench.agreement(exact, replace(exact, kernel="sdpa"), 5))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=[*PRESETS, "both"], default="both")
    parser.add_argument(
        "--budget", type=float, default=220.0, help="seconds after which no new variant starts"
    )
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "/tmp/device_step")))
    parser.add_argument(
        "--small", action="store_true", help="tiny sizes, to try the script itself (also without CUDA)"
    )
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and not args.small:
        sys.exit("No CUDA device; --small tries the script on the CPU.")
    report = Report(args.out, args.budget)
    report.content["device"] = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    names = list(PRESETS) if args.preset == "both" else [args.preset]
    presets = {n: replace(PRESETS[n], **SMALL) if args.small else PRESETS[n] for n in names}
    variants = (
        VARIANTS
        if device.type == "cuda"
        else [v for v in VARIANTS if not (v.captured or v.compiled or v.amp)]
    )
    first, rest = variants[:4], variants[4:]
    for name, preset in presets.items():
        run_preset(name, preset, device, report, first)
    check(next(iter(presets.values())), device, report)
    if device.type == "cuda":
        bench = Bench(presets[names[-1]], device)
        text = report.add("profile", "kernels", lambda: {"text": bench.profile(VARIANTS[2])})
        (args.out / "profile.txt").write_text((text or {}).get("text", ""))
    for name, preset in presets.items():
        bench = Bench(preset, device)
        for variant in rest:
            report.add(name, variant.name, partial(bench.measure, variant))


if __name__ == "__main__":
    main()
