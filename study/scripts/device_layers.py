"""The fused layers on a CUDA device, timed against the plain layers, and each kernel timed under several configurations.

    python -m study.scripts.device_layers [--tune] [--out $OUT]

Forward and backward of all layers (dropout 0.5, attention dropout 0.1, bfloat16), replayed as a CUDA graph. Cases: the
presets of `ansgt bench epoch` and the shipped setting of Cora. With `--tune` the configurations are compiled by as many
processes, then timed one after the other. Writes layers.json.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from ansgt.kernels import layers_passes
from ansgt.kernels.layers import Rates, fused_layers
from ansgt.models.transformer import Transformer, TransformerSettings, layer_parameters
from study.scripts.graph_timing import captured, milliseconds

CASES = {
    "authors": {"sequences": 256, "length": 17, "num_layers": 4, "width": 128},
    "paper": {"sequences": 512, "length": 26, "num_layers": 5, "width": 128},
    "cora as shipped": {"sequences": 128, "length": 13, "num_layers": 1, "width": 256},
}
RATES = Rates(hidden=0.5, attention=0.1)


def _every(option: str, value: int) -> dict[str, int]:
    return {f"{kernel}.{option}": value for kernel in ("project", "project_backward", "mlp", "mlp_backward")}


CONFIGURATIONS: list[dict[str, int]] = [
    _every("maxnreg", 168),
    _every("maxnreg", 128),
    _every("maxnreg", 96),
    {**_every("maxnreg", 128), "mlp.num_stages": 3, "mlp_backward.num_stages": 3},
    {**_every("maxnreg", 128), "mlp.num_stages": 1, "mlp_backward.num_stages": 1},
    {"SHARES": 4, "weights.num_stages": 4, "project_backward.num_stages": 2},
]
"""What is changed: `SHARES`, or an option of one of `layers_passes.KERNELS`, or of the attention kernels. Those above change
how a kernel is compiled and not in which order it adds: the digest says whether the bits stay."""


def configure(configuration: dict[str, int]) -> None:
    """Sets how `layers_passes` compiles its kernels in this process."""
    plain = layers_passes.attention_settings
    for name, value in configuration.items():
        kernel, _, option = name.partition(".")
        if name == "SHARES":
            layers_passes.SHARES = value
        elif kernel == "attention":
            changed = {option: value}
            layers_passes.attention_settings = lambda *sizes, changed=changed: plain(*sizes) | changed  # type: ignore
        else:
            layers_passes.KERNELS[kernel][option] = value


def fused_and_plain(sequences: int, length: int, num_layers: int, width: int) -> list[Callable[[], object]]:
    """Forward and backward, through the fused layers and through the layers themselves."""
    torch.manual_seed(0)
    settings = TransformerSettings(
        hidden_channels=width, num_layers=num_layers, dropout=RATES.hidden, attention_dropout=RATES.attention
    )
    net, heads = Transformer(settings).cuda().train(), settings.num_heads
    parameters = layer_parameters(net.layers)  # type: ignore[arg-type]
    h = torch.randn(sequences, length, width, device="cuda", requires_grad=True)
    queries = 1 if num_layers == 1 else length
    bias = torch.randn(sequences, heads, queries, length, device="cuda", requires_grad=True)

    def fused() -> object:
        out = fused_layers(h, bias, parameters, heads, RATES)
        return torch.autograd.grad(out.sum(), (h, bias, *parameters))

    def plain() -> object:
        out = h
        with torch.autocast("cuda", torch.bfloat16):
            for number, layer in enumerate(net.layers):
                last = number == num_layers - 1
                out, _ = layer(out, bias[:, :, :1] if last else bias, centre_only=last)
        return torch.autograd.grad(out.sum(), (h, bias, *parameters))

    return [fused, plain]


def kernels(graph: torch.cuda.CUDAGraph) -> dict[str, float]:
    """Microseconds of a call by kernel, those of Triton."""
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        for _ in range(10):
            graph.replay()
        torch.cuda.synchronize()
    means = {event.key: event.self_device_time_total / event.count for event in record.key_averages()}
    return {name: round(mean, 2) for name, mean in means.items() if name.endswith("_kernel")}


def digest(work: Callable[[], Any]) -> str:
    """Of every bit of the gradients, from one seed."""
    torch.manual_seed(0)
    parts = [part.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() for part in work()]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def resources() -> dict[str, list[list[int]]]:
    """Registers, spilled bytes and shared memory of every compiled form of a kernel."""
    found = {}
    for name in (
        "project",
        "mlp",
        "mlp_backward",
        "project_backward",
        "attend",
        "attend_backward",
        "weights",
    ):
        kernel = getattr(layers_passes, f"{name}_kernel")
        forms = [form for cache in kernel.device_caches.values() for form in cache[0].values()]
        found[name] = [[form.n_regs, form.n_spills, form.metadata.shared] for form in forms]
    return found


def compile_only(configuration: dict[str, int]) -> None:
    configure(configuration)
    for case in CASES.values():
        try:
            fused_and_plain(**case)[0]()
        except Exception as error:
            print(configuration, error)


def measure(configuration: dict[str, int] | None) -> dict[str, Any]:
    if configuration is not None:
        configure(configuration)
    row: dict[str, Any] = {"configuration": configuration or "as shipped"}
    for name, case in CASES.items():
        fused, plain = fused_and_plain(**case)
        try:
            graph = captured(fused)
            row[name] = {
                "fused_ms": milliseconds(graph),
                "kernels_us": kernels(graph),
                "digest": digest(fused),
            }
            if configuration is None:
                row[name]["plain_ms"] = milliseconds(captured(plain))
        except Exception as error:
            row[name] = {"error": str(error)[:200]}
    return row | {"resources": resources()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    rows = []
    if options.tune:
        with context.Pool(len(CONFIGURATIONS)) as pool:
            pool.map(compile_only, CONFIGURATIONS)
    for configuration in [None, *(CONFIGURATIONS if options.tune else [])]:
        with context.Pool(1) as pool:  # a process each: compiled kernels and settings are global
            rows.append(pool.apply(measure, (configuration,)))
        print(json.dumps(rows[-1]), flush=True)
        versions = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
        (options.out / "layers.json").write_text(json.dumps({"rows": rows, **versions}, indent=1))


if __name__ == "__main__":
    main()
