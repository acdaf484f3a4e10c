"""The helper with a function of its own: a list argument, a constant, and a table that only the backward pass reads."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ansgt.kernels.autograd import Differentiable, Passes


def forward(x: Tensor, factors: Sequence[Tensor], power: int) -> tuple[Tensor, Tensor]:
    """(x ** power) * all factors, and x ** (power - 1)."""
    table = x ** (power - 1)
    return table * x * factors[0] * factors[1], table


def like(x: Tensor, factors: Sequence[Tensor], power: int) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(x)


def saved(arguments: Sequence[Any], results: tuple[Tensor, ...]) -> Sequence[Any]:
    x, factors, power = arguments
    return x, results[1], list(factors), power


def backward(
    grad: Tensor, x: Tensor, table: Tensor, factors: Sequence[Tensor], power: int
) -> tuple[Tensor, Tensor]:
    """The gradient of x, and those of both factors in one tensor."""
    one, other = factors
    both = torch.stack([grad * table * x * other, grad * table * x * one])
    return grad * power * table * one * other, both


def backward_like(
    grad: Tensor, x: Tensor, table: Tensor, factors: Sequence[Tensor], power: int
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), x.new_empty((2, *x.shape))


def cut(gradients: tuple[Tensor, ...], saved: Sequence[Any]) -> Sequence[Any]:
    return gradients[0], list(gradients[1].unbind())


function = Differentiable(
    Passes("test_power", forward, like, backward, backward_like, learned=(0, 1), saved=saved, cut=cut)
)


def tensors() -> list[Tensor]:
    return [torch.tensor([2.0, 3.0]), torch.tensor([5.0, 7.0]), torch.tensor([1.0, -1.0])]


def test_value_and_gradients_by_hand() -> None:
    x, *factors = (t.requires_grad_() for t in tensors())
    out = function(x, factors, 3)
    assert out.tolist() == [40.0, -189.0]
    grads = torch.autograd.grad(out.sum(), (x, *factors))
    assert [g.tolist() for g in grads] == [[60.0, -189.0], [8.0, -27.0], [40.0, 189.0]]


def test_pytorch_agrees_with_the_gradient() -> None:
    given = [t.double().requires_grad_() for t in tensors()]
    assert torch.autograd.gradcheck(lambda x, a, b: function(x, [a, b], 2), given)


def test_a_constant_argument_gets_no_gradient() -> None:
    x, one, other = tensors()
    one.requires_grad_()
    (grad,) = torch.autograd.grad(function(x, [one, other], 1).sum(), one)
    assert grad.tolist() == [2.0, -3.0]


def test_compiled_is_one_graph_and_agrees() -> None:
    x, *factors = (t.requires_grad_() for t in tensors())
    compiled = torch.compile(lambda: function(x, factors, 3), backend="aot_eager", fullgraph=True)
    grads = [
        torch.autograd.grad(call().sum(), (x, *factors))
        for call in (compiled, lambda: function(x, factors, 3))
    ]
    assert all(torch.equal(one, other) for one, other in zip(*grads, strict=True))


def test_an_eager_call_does_not_import_the_compiler() -> None:
    """`torch._dynamo` takes seconds."""
    source = "import sys, torch; from test_autograd import function, tensors; x, *rest = tensors(); "
    source += (
        "function(x.requires_grad_(), rest, 2).sum().backward(); assert 'torch._dynamo' not in sys.modules"
    )
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", source], check=True, env=environment)
