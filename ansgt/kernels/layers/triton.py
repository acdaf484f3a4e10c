"""All layers of the transformer as one differentiable function of Triton kernels.

`triton_passes.py` has both passes, `triton_kernels.py` the kernels and how work is divided between them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ansgt.kernels.autograd import Differentiable, Passes
from ansgt.kernels.dropout import new_seed
from ansgt.kernels.layers import Rates, triton_passes
from ansgt.kernels.layers.triton_passes import Sizes

Seven = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def fused_layers(
    h: Tensor, bias: Tensor, parameters: Sequence[Tensor], num_heads: int, rates: Rates, dtype: torch.dtype
) -> Tensor:
    """The twin of `plain_layers`, see `ansgt.kernels.layers.fused_layers`."""
    seed = new_seed(rates.hidden or rates.attention, h.device)
    h, bias, parameters = h.contiguous(), bias.contiguous(), list(parameters)
    if not (torch.is_grad_enabled() or torch.compiler.is_compiling()):
        sizes = Sizes.of(h, bias, parameters, num_heads, dtype)
        return triton_passes.forward(sizes, h, bias, seed, rates, parameters, keep=False)[0]
    return _layers(h, bias, seed, parameters, num_heads, *rates, dtype)


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
    return triton_passes.forward(sizes, h, bias, seed, rates, parameters, keep=True)


def _like(
    h: Tensor, bias: Tensor, seed: Tensor, parameters: Sequence[Tensor], num_heads: int, *rest: Any
) -> tuple[Tensor, ...]:
    sizes = Sizes.of(h, bias, parameters, num_heads, rest[-1])
    return (h.new_empty((sizes.sequences, sizes.width)), *triton_passes.empty_tables(sizes, h, keep=True))


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
    return triton_passes.backward(sizes, grad.contiguous(), h, bias, seed, rates, tables, parameters)


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
    return grad_h, grad_bias, triton_passes.cut_gradients(sizes, matrices, vectors)


_layers = Differentiable(
    Passes("layers", _forward, _like, _backward, _backward_like, learned=(0, 1, 3), saved=_saved, cut=_cut)
)
