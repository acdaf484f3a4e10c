"""The Triton attention kernel on a CUDA device: right against float64, and timed against the plain path and SDPA.

    python benchmarks/device_attention.py [--out $OUT]

Shapes of both presets of issue 7 (authors 256 sequences of 17 tokens, paper 512 of 26; 8 heads of 16). Forward and
backward of one attention layer without its projections, replayed as a CUDA graph; writes attention.json.

Floor, paper preset: reads of QKV, bias and the output's gradient, writes of the output and both gradients: 512 * 26 *
128 * 2 B * (3+1+3+1+3) + 3 * 512 * 8 * 26 * 26 * 4 B = 71 MB, 0.015 ms at 4.8 TB/s; 1.1 GFLOP forward and backward
are nothing beside it.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1]))

from ansgt.models.attention import plain_attention
from benchmarks.graph_timing import captured
from benchmarks.graph_timing import milliseconds as graph_milliseconds

HEADS, WIDTH = 8, 16
SHAPES = {"authors": (256, 17), "paper": (512, 26)}
Attention = Callable[[Tensor, Tensor, float], Tensor]


def split(qkv: Tensor) -> list[Tensor]:
    return [part.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2) for part in qkv.chunk(3, dim=-1)]


def plain(qkv: Tensor, bias: Tensor, rate: float) -> Tensor:
    return plain_attention(*split(qkv), bias, rate).transpose(1, 2).flatten(2)


def sdpa(qkv: Tensor, bias: Tensor, rate: float) -> Tensor:
    out = F.scaled_dot_product_attention(*split(qkv), bias.to(qkv.dtype), rate)
    return out.transpose(1, 2).flatten(2)


def triton(qkv: Tensor, bias: Tensor, rate: float) -> Tensor:
    from ansgt.models.triton_attention import short_attention

    return short_attention(qkv, bias, HEADS, rate)


ATTENTIONS: dict[str, Attention] = {"plain": plain, "sdpa": sdpa, "triton": triton}


def inputs(batch: int, length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    qkv = torch.randn(batch, length, 3 * HEADS * WIDTH, device="cuda").to(dtype).requires_grad_()
    bias = torch.randn(batch, HEADS, length, length, device="cuda")
    masked = torch.rand(batch, 1, 1, length, device="cuda") < 0.2
    masked[..., 0] = False
    bias = bias.masked_fill(masked, -torch.inf).requires_grad_()
    return qkv, bias, torch.randn(batch, length, HEADS * WIDTH, device="cuda").to(dtype)


def errors(attention: Attention, batch: int, length: int, dtype: torch.dtype) -> dict[str, float]:
    """Relative errors of output and gradients against float64."""
    qkv, bias, grad = inputs(batch, length, dtype)
    out = attention(qkv, bias, 0.0)
    got = (out, *torch.autograd.grad(out, (qkv, bias), grad))
    exact = tuple(t.detach().double().requires_grad_() for t in (qkv, bias))
    reference = plain(*exact, 0.0)
    want = (reference, *torch.autograd.grad(reference, exact, grad.double()))
    return {
        name: float((a.double() - b).norm() / b.norm())
        for name, a, b in zip(("out", "grad_qkv", "grad_bias"), got, want, strict=True)
    }


def milliseconds(attention: Attention, batch: int, length: int, dtype: torch.dtype, rate: float) -> float:
    """Median over replays of forward and backward captured as one graph."""
    qkv, bias, grad = inputs(batch, length, dtype)

    def both() -> None:
        torch.autograd.grad(attention(qkv, bias, rate), (qkv, bias), grad)

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
        for name, attention in ATTENTIONS.items():
            for dtype in (torch.float32, torch.bfloat16):
                torch.manual_seed(0)
                shape = (batch, length, dtype)
                row: dict[str, Any] = {"preset": preset, "attention": name, "dtype": str(dtype)}
                row["errors"] = attempt(lambda a=attention, s=shape: errors(a, *s))
                for rate in (0.0, 0.5):
                    call = lambda a=attention, s=shape, r=rate: milliseconds(a, *s, r)  # noqa: E731
                    row[f"ms_dropout_{rate}"] = attempt(call)
                rows.append(row)
                print(json.dumps(row), flush=True)
                (args.out / "attention.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
