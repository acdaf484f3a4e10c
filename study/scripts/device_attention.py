"""The Triton attention kernel on a CUDA device: its errors against float64, its time against plain attention and SDPA.

    python -m study.scripts.device_attention [--out $OUT]

Shapes of both presets of `ansgt bench epoch` (authors: 256 sequences of 17 tokens, paper: 512 of 26; 8 heads of 16).
Forward and backward of one attention layer without its projections, replayed as a CUDA graph; writes attention.json.

Lower bound of the time, paper's preset: reads of QKV, bias and the output's gradient, writes of the output and both
gradients: 512 * 26 * 128 * 2 B * (3+1+3+1+3) + 3 * 512 * 8 * 26 * 26 * 4 B = 71 MB, 0.015 ms at 4.8 TB/s; 1.1 GFLOP
forward and backward are nothing beside it.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ansgt.kernels.attention import self_attention
from ansgt.kernels.choose import Kernel
from study.scripts.graph_timing import captured
from study.scripts.graph_timing import milliseconds as graph_milliseconds

HEADS, WIDTH = 8, 16
SHAPES = {"authors": (256, 17), "paper": (512, 26)}
KERNELS: tuple[Kernel, ...] = ("plain", "sdpa", "triton")


def inputs(batch: int, length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    qkv = torch.randn(batch, length, 3 * HEADS * WIDTH, device="cuda").to(dtype).requires_grad_()
    bias = torch.randn(batch, HEADS, length, length, device="cuda")
    masked = torch.rand(batch, 1, 1, length, device="cuda") < 0.2
    masked[..., 0] = False
    bias = bias.masked_fill(masked, -torch.inf).requires_grad_()
    return qkv, bias, torch.randn(batch, length, HEADS * WIDTH, device="cuda").to(dtype)


def errors(kernel: Kernel, batch: int, length: int, dtype: torch.dtype) -> dict[str, float]:
    """Relative errors of output and gradients against float64."""
    qkv, bias, grad = inputs(batch, length, dtype)
    out = self_attention(qkv, bias, HEADS, kernel=kernel)
    got = (out, *torch.autograd.grad(out, (qkv, bias), grad))
    exact_qkv, exact_bias = (t.detach().double().requires_grad_() for t in (qkv, bias))
    reference = self_attention(exact_qkv, exact_bias, HEADS, kernel="plain")
    want = (reference, *torch.autograd.grad(reference, (exact_qkv, exact_bias), grad.double()))
    return {
        name: float((a.double() - b).norm() / b.norm())
        for name, a, b in zip(("out", "grad_qkv", "grad_bias"), got, want, strict=True)
    }


def milliseconds(kernel: Kernel, batch: int, length: int, dtype: torch.dtype, rate: float) -> float:
    """Median over replays of forward and backward captured as one graph."""
    qkv, bias, grad = inputs(batch, length, dtype)

    def both() -> None:
        torch.autograd.grad(self_attention(qkv, bias, HEADS, rate, kernel), (qkv, bias), grad)

    return graph_milliseconds(captured(both, calls=10)) / 10


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return {"error": repr(error)[:500]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "/tmp/device_attention")))
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("No CUDA device.")
    args.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for preset, (batch, length) in SHAPES.items():
        for kernel in KERNELS:
            for dtype in (torch.float32, torch.bfloat16):
                torch.manual_seed(0)
                shape = (batch, length, dtype)
                row: dict[str, Any] = {"preset": preset, "attention": kernel, "dtype": str(dtype)}
                row["errors"] = attempt(partial(errors, kernel, *shape))
                for rate in (0.0, 0.5):
                    row[f"ms_dropout_{rate}"] = attempt(partial(milliseconds, kernel, *shape, rate))
                rows.append(row)
                print(json.dumps(row), flush=True)
                (args.out / "attention.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
