"""All layers of the transformer as one differentiable function of Triton kernels: tables, launches, the order of everything.

`layers_kernels.py` has the kernels and how work is divided between them. The last layer computes the centre alone behind its
attention: its tables are compact, one row per sequence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor

from ansgt.kernels.attention import (
    FORWARD_REGISTERS,
    attend_backward_kernel,
    attend_kernel,
    attention_settings,
)
from ansgt.kernels.autograd import Differentiable, Passes
from ansgt.kernels.choose import dot_precision
from ansgt.kernels.dropout import new_seed
from ansgt.kernels.language import folded, triton
from ansgt.kernels.layers import LayerParameters, Rates
from ansgt.kernels.layers_kernels import (
    SITES,
    mlp_backward_kernel,
    mlp_kernel,
    project_backward_kernel,
    project_kernel,
    weights_kernel,
)

NUM_MATRICES = 4
MATRICES, VECTORS = LayerParameters._fields[:NUM_MATRICES], LayerParameters._fields[NUM_MATRICES:]
PER_LAYER = len(LayerParameters._fields)
EPS = 1e-5
SHARES = 4
"""Into how many pieces the rows are cut for the weights' gradient."""
KERNELS: dict[str, dict[str, int]] = {
    "project": {"ROWS": 64, "num_warps": 4},
    "project_backward": {"ROWS": 32, "PIECE": 64, "num_warps": 4, "num_stages": 3},
    "mlp": {"ROWS": 16, "PIECE": 64, "num_warps": 4, "num_stages": 2},
    "mlp_backward": {"ROWS": 16, "PIECE": 64, "num_warps": 4, "num_stages": 2},
    "weights": {"PIECE": 64, "num_warps": 8, "num_stages": 3},
}
"""Rows a program takes, columns it multiplies at a time, how it is compiled; `study.scripts.device_layers` tries others."""
MANY, FEW_REGISTERS = 400, 128
"""Programs that an H200 (132 processors) does not hold at once, three per processor; with so few registers it holds four."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a call: B sequences of T tokens, L layers of width d with an FFN of width f."""

    sequences: int
    length: int
    layers: int
    width: int
    hidden: int
    heads: int
    bias_rows: int
    dtype: torch.dtype

    @classmethod
    def of(
        cls, h: Tensor, bias: Tensor, parameters: Sequence[Tensor], num_heads: int, dtype: torch.dtype
    ) -> "Sizes":
        layers, hidden = len(parameters) // PER_LAYER, parameters[2].shape[0]
        return cls(h.shape[0], h.shape[1], layers, h.shape[2], hidden, num_heads, bias.shape[2], dtype)

    @property
    def rows(self) -> int:
        return self.sequences * self.length

    @property
    def left(self) -> int:
        """Columns of the gradients: dQKV, dO', dU, dY."""
        return 5 * self.width + self.hidden

    @property
    def right(self) -> int:
        """Columns of the operands: X1, O, X2, G."""
        return 3 * self.width + self.hidden

    def is_last(self, layer: int) -> bool:
        return layer == self.layers - 1

    def rows_behind(self, layer: int) -> int:
        """Rows behind the attention of a layer: all, or one per sequence."""
        return self.sequences if self.is_last(layer) else self.rows

    def stride(self, layer: int) -> int:
        return self.length if self.is_last(layer) else 1

    def queries(self, layer: int) -> int:
        return 1 if self.is_last(layer) else self.length

    @cached_property
    def matrices(self) -> list[tuple[int, int]]:
        d, f = self.width, self.hidden
        return [(3 * d, d), (d, d), (f, d), (d, f)]

    @property
    def flat(self) -> int:
        """Numbers in a layer's matrices."""
        return sum(a * b for a, b in self.matrices)

    @property
    def vectors(self) -> list[int]:
        """Lengths of a layer's vectors, in the order of `VECTORS`."""
        d, f = self.width, self.hidden
        return [d, d, 3 * d, d, d, d, f, d]

    @property
    def tile(self) -> int:
        """Edge of a tile of a weight's gradient."""
        return 128 if self.width % 128 == 0 and self.hidden % 128 == 0 else 64

    def programs(self, kernel: str, rows: int) -> int:
        return int(triton.cdiv(rows, KERNELS[kernel]["ROWS"]))

    def options(self, kernel: str, rows: int | None = None) -> dict[str, Any]:
        """Of a kernel over `rows` rows, if it gains from more of its programs at a time."""
        options = dict(KERNELS[kernel])
        if rows is not None and self.width <= 128 and self.programs(kernel, rows) > MANY:
            options.setdefault("maxnreg", FEW_REGISTERS)
        if self.dtype == torch.float32 and "PIECE" in options:  # twice the bytes: half of them at a time
            options["PIECE"] //= 2
        return {"WIDTH": self.width, "PRECISION": dot_precision(self.dtype), **options}


def _half(parameters: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The matrices of all layers in the products' dtype, end to end: two kernels instead of one per matrix."""
    matrices = [p for i, p in enumerate(parameters) if i % PER_LAYER < len(MATRICES)]
    return torch.cat([matrix.detach().reshape(-1) for matrix in matrices]).to(dtype)


def _layers(sizes: Sizes, half: Tensor, parameters: Sequence[Tensor]) -> Iterator[dict[str, Tensor]]:
    """Matrices (as parts of `half`) and vectors of every layer, by name."""
    lengths = [a * b for a, b in sizes.matrices]
    for layer, joined in enumerate(half.view(sizes.layers, -1)):
        vectors = parameters[layer * PER_LAYER + len(MATRICES) : (layer + 1) * PER_LAYER]
        yield dict(zip(MATRICES, joined.split(lengths), strict=True)) | dict(
            zip(VECTORS, vectors, strict=True)
        )


def empty_tables(sizes: Sizes, like: Tensor, keep: bool) -> tuple[Tensor, ...]:
    """Right, QKV, U, H1, H and the matrices; of one layer, to be overwritten, where nothing needs to be kept."""
    d, kept = sizes.width, sizes.layers if keep else 1
    shapes = [(kept, sizes.right, sizes.dtype), (kept, 3 * d, sizes.dtype), (kept, sizes.hidden, sizes.dtype)]
    shapes += [(kept, d, torch.float32), (sizes.layers - 1, d, torch.float32)]
    tables = [like.new_empty((layers, sizes.rows, width), dtype=kind) for layers, width, kind in shapes]
    return (*tables, like.new_empty(sizes.layers * sizes.flat, dtype=sizes.dtype))


def forward(
    sizes: Sizes,
    h: Tensor,
    bias: Tensor,
    seed: Tensor,
    rates: Rates,
    parameters: Sequence[Tensor],
    keep: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The last state, and the tables that the backward pass reads."""
    d, f, n = sizes.width, sizes.hidden, sizes.rows
    right, qkv, pre, middle, states, _ = empty_tables(sizes, h, keep)
    half = _half(parameters, sizes.dtype)
    out = torch.empty((sizes.sequences, d), device=h.device)
    dropout = {"rate": rates.hidden, "DROPOUT": rates.hidden > 0.0}
    state = h
    for layer, part in enumerate(_layers(sizes, half, parameters)):
        at, rows = layer % len(right), sizes.rows_behind(layer)
        project_kernel[(sizes.programs("project", n), 3 * d // min(d, 128))](
            state, part["gain1"], part["shift1"], part["in_proj"], part["in_bias"], right[at], qkv[at], n, EPS,
            RIGHT=sizes.right, COLUMNS=min(d, 128), **sizes.options("project"),
        )  # fmt: skip
        attend_kernel[(sizes.sequences * sizes.heads,)](
            qkv[at], bias, right[at][:, d:], seed, layer * SITES,
            out_stride=sizes.right, maxnreg=FORWARD_REGISTERS, **_attention(sizes, layer, rates.attention),
        )  # fmt: skip
        following = out if sizes.is_last(layer) else states[layer]
        mlp_kernel[(sizes.programs("mlp", rows),)](
            state, part["gain2"], part["shift2"], part["out_proj"], part["out_bias"],
            part["up"], part["up_bias"], part["down"], part["down_bias"],
            right[at], middle[at], pre[at], following, seed, layer * SITES, rows, sizes.stride(layer), eps=EPS,
            HIDDEN=f, RIGHT=sizes.right, **dropout, **sizes.options("mlp", rows),
        )  # fmt: skip
        state = following
    return out, right, qkv, pre, middle, states, half


def backward(
    sizes: Sizes,
    grad: Tensor,
    h: Tensor,
    bias: Tensor,
    seed: Tensor,
    rates: Rates,
    tables: Sequence[Tensor],
    parameters: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of tokens and bias, and of the parameters as `cut_gradients` takes them."""
    right, qkv, pre, middle, states, half = tables
    d, f, n = sizes.width, sizes.hidden, sizes.rows
    device = grad.device
    left = torch.empty((sizes.layers, n, sizes.left), dtype=sizes.dtype, device=device)
    grad_attended = torch.empty((n, d), dtype=sizes.dtype, device=device)
    grad_middle = torch.empty((n, d), device=device)
    programs = [sizes.programs(kernel, n) for kernel in ("project_backward", "mlp_backward")]
    sums = torch.zeros((max(*programs, sizes.sequences), sizes.layers, sum(sizes.vectors)), device=device)
    grad_bias = torch.zeros(bias.shape, device=device)
    dropout = {"rate": rates.hidden, "DROPOUT": rates.hidden > 0.0}
    for layer, part in reversed(list(enumerate(_layers(sizes, half, parameters)))):
        rows, state = sizes.rows_behind(layer), states[layer - 1] if layer else h
        mlp_backward_kernel[(sizes.programs("mlp_backward", rows),)](
            grad, part["gain2"], part["out_proj"], part["up"], part["down"], middle[layer], pre[layer], left[layer],
            grad_attended, grad_middle, sums[:, layer], sums.stride(0), seed, layer * SITES, rows, eps=EPS,
            HIDDEN=f, LEFT=sizes.left, **dropout, **sizes.options("mlp_backward", rows),
        )  # fmt: skip
        attend_backward_kernel[(sizes.sequences * sizes.heads,)](
            qkv[layer], bias, seed, layer * SITES, grad_attended, left[layer], grad_bias,
            sums[:, layer, 2 * d :], sums.stride(0), grad_stride=sizes.left, ADD=True,
            **_attention(sizes, layer, rates.attention),
        )  # fmt: skip
        grad = torch.empty((n, d), device=device)
        project_backward_kernel[(sizes.programs("project_backward", n),)](
            state, part["gain1"], part["in_proj"], left[layer], grad_middle, grad, sums[:, layer], sums.stride(0),
            n, sizes.stride(layer), EPS, LEFT=sizes.left, **sizes.options("project_backward", n),
        )  # fmt: skip
    tiles = _tiles(sizes, device)
    pieces = torch.empty((SHARES, sizes.layers, sizes.flat), device=device)
    weights_kernel[(len(tiles), SHARES, sizes.layers)](
        left, right, tiles, pieces, n, sizes.sequences, sizes.flat,
        LEFT=sizes.left, RIGHT=sizes.right, TILE=sizes.tile, **sizes.options("weights"),
    )  # fmt: skip
    grad = grad.view(sizes.sequences, sizes.length, d)
    return grad, grad_bias.to(bias.dtype), folded(pieces), folded(sums)


def _attention(sizes: Sizes, layer: int, rate: float) -> dict[str, Any]:
    queries = sizes.queries(layer)
    return attention_settings(
        sizes.length, sizes.width, sizes.heads, rate, sizes.dtype, queries, sizes.bias_rows
    )


def cut_gradients(sizes: Sizes, matrices: Tensor, vectors: Tensor) -> list[Tensor]:
    """The parameters' gradients, in their order, as views of two arrays with one row per layer."""
    grads: list[Tensor] = []
    for layer in range(sizes.layers):
        parts = matrices[layer].split([a * b for a, b in sizes.matrices])
        grads += [part.view(shape) for part, shape in zip(parts, sizes.matrices, strict=True)]
        grads += vectors[layer].split(sizes.vectors)
    return grads


@cache
def _tiles(sizes: Sizes, device: torch.device) -> Tensor:
    """What every program of `weights_kernel` computes [., 4], int32."""
    rows, place, first_left, first_right = [], 0, 0, 0
    for height, width in sizes.matrices:
        for one in range(0, height, sizes.tile):
            for two in range(0, width, sizes.tile):
                rows.append([first_left + one, first_right + two, place + one * width + two, width])
        place, first_left, first_right = place + height * width, first_left + height, first_right + width
    return torch.tensor(rows, dtype=torch.int32, device=device)


Seven = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def fused_layers(
    h: Tensor, bias: Tensor, parameters: Sequence[Tensor], num_heads: int, rates: Rates, dtype: torch.dtype
) -> Tensor:
    """The twin of `plain_layers`, see `ansgt/kernels/layers.py`."""
    seed = new_seed(rates.hidden or rates.attention, h.device)
    h, bias, parameters = h.contiguous(), bias.contiguous(), list(parameters)
    if not (torch.is_grad_enabled() or torch.compiler.is_compiling()):
        sizes = Sizes.of(h, bias, parameters, num_heads, dtype)
        return forward(sizes, h, bias, seed, rates, parameters, keep=False)[0]
    return _fused(h, bias, seed, parameters, num_heads, *rates, dtype)


def _forward(
    h: Tensor,
    bias: Tensor,
    seed: Tensor,
    parameters: Sequence[Tensor],
    num_heads: int,
    dropout: float,
    attention_dropout: float,
    dtype: torch.dtype,
) -> Seven:
    sizes, rates = Sizes.of(h, bias, parameters, num_heads, dtype), Rates(dropout, attention_dropout)
    return forward(sizes, h, bias, seed, rates, parameters, keep=True)


def _like(
    h: Tensor, bias: Tensor, seed: Tensor, parameters: Sequence[Tensor], num_heads: int, *rest: Any
) -> tuple[Tensor, ...]:
    sizes = Sizes.of(h, bias, parameters, num_heads, rest[-1])
    return (h.new_empty((sizes.sequences, sizes.width)), *empty_tables(sizes, h, keep=True))


def _saved(arguments: Sequence[Any], results: tuple[Tensor, ...]) -> Sequence[Any]:
    h, bias, seed, parameters, *rest = arguments
    return h, bias, seed, list(results[1:]), list(parameters), *rest


def _backward(
    grad: Tensor,
    h: Tensor,
    bias: Tensor,
    seed: Tensor,
    tables: Sequence[Tensor],
    parameters: Sequence[Tensor],
    num_heads: int,
    dropout: float,
    attention_dropout: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    sizes, rates = Sizes.of(h, bias, parameters, num_heads, dtype), Rates(dropout, attention_dropout)
    return backward(sizes, grad.contiguous(), h, bias, seed, rates, tables, parameters)


def _backward_like(
    grad: Tensor, h: Tensor, bias: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    _, _, parameters, num_heads, *_, dtype = rest
    sizes = Sizes.of(h, bias, parameters, num_heads, dtype)
    flat = grad.new_empty((sizes.layers, sizes.flat))
    vectors = grad.new_empty((sizes.layers, sum(sizes.vectors)))
    return h.new_empty(h.shape), bias.new_empty(bias.shape), flat, vectors


def _cut(gradients: tuple[Tensor, ...], saved: Sequence[Any]) -> Sequence[Any]:
    grad_h, grad_bias, matrices, vectors = gradients
    h, bias, _, _, parameters, num_heads, _, _, dtype = saved
    sizes = Sizes.of(h, bias, parameters, num_heads, dtype)
    return grad_h, grad_bias, cut_gradients(sizes, matrices, vectors)


_fused = Differentiable(
    Passes("layers", _forward, _like, _backward, _backward_like, learned=(0, 1, 3), saved=_saved, cut=_cut)
)
