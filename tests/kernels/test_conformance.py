"""Every Triton twin computes what its plain function does, forward and backward; eager, and through `torch.compile`.

What is particular to one twin is in the file of its name.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import BACKEND, DEVICE, needs_triton
from torch import Tensor

from ansgt.kernels.adamw import FlatState, Update, flat_update
from ansgt.kernels.attention import self_attention
from ansgt.kernels.bias import pair_bias
from ansgt.kernels.choose import OPERATIONS
from ansgt.kernels.dropout import input_dropout
from ansgt.kernels.layers import LayerParameters, fused_layers, plain_layers
from ansgt.kernels.pairs import pair_attention
from ansgt.kernels.product import product
from ansgt.kernels.tokens import first_states
from ansgt.linalg import to_torch
from ansgt.training.optim import LinearSchedule

pytestmark = needs_triton
Function = Callable[..., Tensor]


@dataclass(frozen=True)
class Case:
    """Both implementations of an operation, as functions of the tensors that have a gradient, if any."""

    plain: Function
    twin: Function
    learned: Sequence[Tensor] = ()
    tolerance: float = 1e-5
    """Of the result, relative to its largest entry or 1; of a gradient ten times as much."""


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def masked(bias: Tensor) -> Tensor:
    """The bias with some keys masked, but never the first."""
    hidden = torch.rand(bias.shape[0], bias.shape[-1], generator=torch.Generator().manual_seed(1)) < 0.3
    hidden[:, 0] = False
    places = hidden.view(len(hidden), *[1] * (bias.ndim - 2), -1).to(DEVICE)
    return bias.masked_fill(places, -math.inf)


def attention(length: int, width: int = 16) -> Case:
    heads = 4
    qkv, bias = drawn(3, length, 3 * heads * width), masked(drawn(3, heads, length, length))
    plain, twin = (partial(self_attention, num_heads=heads, kernel=kernel) for kernel in ("plain", "triton"))
    return Case(plain, twin, (qkv, bias))


def layers(length: int, num_layers: int, width: int, multiplier: float) -> Case:
    heads, d, f = 4, width, int(width * multiplier)
    shapes = LayerParameters(
        (3 * d, d), (d, d), (f, d), (d, f), (d,), (d,), (3 * d,), (d,), (d,), (d,), (f,), (d,)
    )  # type: ignore[arg-type]
    parameters = []
    for layer in range(num_layers):
        for number, (name, shape) in enumerate(zip(shapes._fields, shapes, strict=True)):
            values = drawn(*shape, seed=100 * layer + number)  # type: ignore[misc]
            scaled = values / math.sqrt(shape[-1]) if len(shape) == 2 else 0.1 * values  # type: ignore[arg-type]
            parameters.append(1 + scaled if name.startswith("gain") else scaled)
    h, bias = drawn(3, length, d), masked(drawn(3, heads, 1 if num_layers == 1 else length, length))

    def plain(h: Tensor, bias: Tensor, *parameters: Tensor) -> Tensor:
        return plain_layers(h, bias, parameters, heads)

    def twin(h: Tensor, bias: Tensor, *parameters: Tensor) -> Tensor:
        return fused_layers(h, bias, parameters, heads, dtype=torch.float32)

    return Case(plain, twin, (h, bias, *parameters), tolerance=2e-5)


def bias(length: int, channels: int, heads: int, num_global: int, rows: int) -> Case:
    proximity, keys = drawn(3, length, length, channels), masked(drawn(3, length))

    def function(kernel: str, weight: Tensor, scalars: Tensor) -> Tensor:
        return pair_bias(proximity, weight, scalars, keys, num_global, rows, kernel)  # type: ignore[arg-type]

    learned = drawn(heads, channels), drawn(heads, 2)
    return Case(partial(function, "plain"), partial(function, "triton"), learned)


def tokens(
    counts: tuple[int, int, int],
    rows: int,
    width: int,
    has_kinds: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Case:
    length, num_global = 1 + sum(counts), counts[2]
    index = torch.randint(0, rows, (5, length), generator=torch.Generator().manual_seed(width))
    index[:, length - num_global :] = rows + torch.arange(num_global)
    index = index.to(DEVICE)

    def function(kernel: str, rows: Tensor, globals: Tensor, *kinds: Tensor) -> Tensor:
        kind = kinds[0] if kinds else None
        return first_states(rows, globals, kind, index, (1, *counts), kernel)  # type: ignore[arg-type]

    learned = [drawn(rows, width).to(dtype), drawn(num_global, width), drawn(4, width, seed=1)]
    tolerance = 1e-6 if dtype == torch.float32 else 1e-3
    return Case(
        partial(function, "plain"), partial(function, "triton"), learned[: 3 if has_kinds else 2], tolerance
    )


def pairs(num_nodes: int, heads: int, width: int, kinds: int) -> Case:
    generator = torch.Generator().manual_seed(0)
    code = torch.randint(0, kinds, (num_nodes, num_nodes), generator=generator, dtype=torch.uint8).to(DEVICE)
    learned = [drawn(heads, num_nodes, width, seed=seed) for seed in range(3)] + [drawn(heads, kinds, seed=3)]

    def twin(*learned: Tensor) -> Tensor:
        from ansgt.kernels.pairs import triton_pair_attention as twin

        return twin(*learned, code, "ieee")  # type: ignore[call-arg, arg-type]

    return Case(partial(pair_attention, code=code, kernel="plain"), twin, learned)


def sparse(rows: int, inner: int, columns: int, density: float) -> Case:
    rng = np.random.default_rng(rows)
    csr = sp.csr_array(sp.random_array((rows, inner), density=density, rng=rng, dtype=np.float32))
    matrix, x = to_torch(csr).to(DEVICE), drawn(inner, columns)
    return Case(*(partial(product, matrix, x, kernel) for kernel in ("plain", "triton")))  # type: ignore[arg-type]


def adamw(size: int, warmup: int, clip_norm: float | None) -> Case:
    schedule = LinearSchedule(0.05, 1e-3, warmup, total=4)
    update = Update(num_decayed=size // 3, weight_decay=0.3, betas=(0.9, 0.999), clip_norm=clip_norm)

    def function(kernel: str) -> Tensor:
        """Parameters and moments after four updates, one below the other."""
        state = FlatState(drawn(size), *torch.zeros(3, size, device=DEVICE), torch.zeros((), device=DEVICE))
        for step in range(4):
            state.num_updates.add_(1)
            state.grad.copy_(drawn(size, seed=1 + step))
            flat_update(state, schedule, update, kernel)  # type: ignore[arg-type]
        return torch.stack([state.parameter, state.exp_avg, state.exp_avg_sq])

    return Case(partial(function, "plain"), partial(function, "triton"))


def dropped(size: int, rate: float) -> Case:
    """Masks are drawn differently; what is not dropped must agree, and everything is once in a hundred draws."""
    x = drawn(size)

    def function(kernel: str) -> Tensor:
        torch.manual_seed(0)
        draws = torch.stack([input_dropout(x, rate, kernel=kernel) for _ in range(100)])  # type: ignore[arg-type]
        return torch.where(x > 0, draws.max(dim=0).values, draws.min(dim=0).values)

    return Case(partial(function, "plain"), partial(function, "triton"))


CASES: dict[str, list[Callable[[], Case]]] = {
    "attention": [
        *(partial(attention, length) for length in (5, 1, 16, 26, 32, 40)),
        partial(attention, 9, 32),
    ],
    "layers": [
        partial(layers, 5, 2, 128, 2.0),
        partial(layers, 1, 1, 64, 1.0),
        partial(layers, 13, 1, 64, 2.0),
        partial(layers, 13, 1, 256, 2.0),
        partial(layers, 17, 3, 64, 1.0),
        partial(layers, 40, 2, 64, 3.0),
    ],
    "bias": [
        partial(bias, *sizes, rows)
        for sizes in ((13, 10, 8, 2), (1, 1, 1, 0), (17, 3, 20, 1), (5, 20, 2, 0))
        for rows in {1, sizes[0]}
    ],
    "tokens": [
        partial(tokens, *sizes, has_kinds, dtype)
        for sizes in (((4, 2, 1), 7, 16), ((0, 0, 0), 3, 5), ((9, 0, 2), 40, 64), ((3, 1, 0), 1, 8))
        for has_kinds in (True, False)
        for dtype in (torch.float32, torch.bfloat16)
    ],
    "pairs": [partial(pairs, 64, 2, 16, 7), partial(pairs, 5, 1, 16, 2), partial(pairs, 150, 2, 32, 22)],
    "product": [
        partial(sparse, 5, 7, 3, 0.5),
        partial(sparse, 3, 4, 512 + 9, 0.4),
        partial(sparse, 4, 4, 1, 0.0),
        partial(sparse, 1, 1, 1, 1.0),
        partial(sparse, 0, 3, 2, 0.0),
        partial(sparse, 3, 2, 0, 1.0),
    ],
    "adamw": [partial(adamw, 700, 3, 0.5), partial(adamw, 1, 0, None), partial(adamw, 5000, 1, 1e6)],
    "input_dropout": [partial(dropped, 300, 0.25), partial(dropped, 2000, 0.5)],
}
"""Per operation its shapes, the first of them the one that is compiled."""


def close(found: Tensor, expected: Tensor, tolerance: float) -> None:
    assert found.shape == expected.shape
    assert torch.equal(found.isinf(), expected.isinf())
    found, expected = (torch.nan_to_num(t.detach().float(), neginf=0.0) for t in (found, expected))
    scale = max(1.0, float(expected.abs().amax())) if expected.numel() else 1.0
    assert torch.allclose(found, expected, rtol=0.0, atol=tolerance * scale)


def leaves(case: Case) -> list[Tensor]:
    return [tensor.detach().clone().requires_grad_() for tensor in case.learned]


def gradients(out: Tensor, learned: Sequence[Tensor]) -> list[Tensor]:
    """Of a random sum of the result; zeros where nothing depends on an argument."""
    upstream = drawn(*out.shape, seed=9)
    found = torch.autograd.grad(out, learned, upstream, allow_unused=True)
    return [torch.zeros_like(t) if grad is None else grad for t, grad in zip(learned, found, strict=True)]


def named(cases: dict[str, list[Callable[[], Case]]]) -> list[object]:
    return [
        pytest.param(make, id=f"{name}-{number}")
        for name, of_it in cases.items()
        for number, make in enumerate(of_it)
    ]


@pytest.mark.parametrize("make", named(CASES))
def test_the_twin_computes_what_the_plain_function_does(make: Callable[[], Case]) -> None:
    case = make()
    mine, theirs = leaves(case), leaves(case)
    found, expected = case.twin(*mine), case.plain(*theirs)
    close(found, expected, case.tolerance)
    if case.learned:
        for one, other in zip(gradients(found, mine), gradients(expected, theirs), strict=True):
            assert one.dtype == other.dtype
            close(one, other, 10 * case.tolerance)


DIFFERENTIABLE = {name: CASES[name][:1] for name in ("attention", "layers", "bias", "tokens", "pairs")}


@pytest.mark.parametrize("make", named(DIFFERENTIABLE))
def test_a_compiled_twin_gives_the_same_as_an_eager_one(make: Callable[[], Case]) -> None:
    case = make()
    compiled = torch.compile(case.twin, dynamic=False, backend=BACKEND, fullgraph=True)
    one, other = leaves(case), leaves(case)
    found, expected = compiled(*one), case.twin(*other)
    close(found, expected, 1e-6)
    wanted = gradients(expected, other)
    assert all(grad.abs().amax() > 1e-3 for grad in wanted)
    for got, want in zip(gradients(found, one), wanted, strict=True):
        close(got, want, 1e-6)


def test_every_twin_is_among_the_cases() -> None:
    assert set(CASES) == {name for name, rules in OPERATIONS.items() if rules.on_cuda == "triton"}
