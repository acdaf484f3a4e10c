"""All layers of the transformer as one differentiable function on CUDA, eager and for `torch.compile`.

Tested against the layers themselves (`tests/models/test_triton_stack.py`).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ansgt.models import triton_passes as passes
from ansgt.models.triton_dropout import new_seed


def fused_layers(
    h: Tensor,
    bias: Tensor,
    parameters: Sequence[Tensor],
    num_heads: int,
    dropout: float = 0.0,
    attention_dropout: float = 0.0,
    dtype: torch.dtype = torch.bfloat16,
) -> Tensor:
    """The centre's state behind the last layer [B, d], float32.

    Args:
        h: tokens [B, T, d], float32.
        bias: [B, H, T, T]; [B, H, 1, T] if there is one layer.
        parameters: of all layers, in the order of `transformer.layer_parameters`.
        num_heads: H.
        dropout, attention_dropout: as in `TransformerLayer`.
        dtype: of the products.
    """
    seed = new_seed(dropout or attention_dropout, h.device)
    h, bias, parameters = h.contiguous(), bias.contiguous(), list(parameters)
    if torch.compiler.is_compiling():
        return _compiled(h, bias, seed, parameters, num_heads, dropout, attention_dropout, dtype)[0]
    if not torch.is_grad_enabled():
        sizes = passes.Sizes.of(h, bias, parameters, num_heads, dtype)
        return passes.forward(sizes, h, bias, seed, (dropout, attention_dropout), parameters, keep=False)[0]
    return _Eager.apply(h, bias, seed, num_heads, dropout, attention_dropout, dtype, *parameters)  # type: ignore[no-untyped-call]


class _Eager(torch.autograd.Function):
    """What runs by default; an operator of `torch.library` would import `torch._dynamo`, which takes seconds."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        h: Tensor,
        bias: Tensor,
        seed: Tensor,
        num_heads: int,
        dropout: float,
        attention_dropout: float,
        dtype: torch.dtype,
        *parameters: Tensor,
    ) -> Tensor:
        ctx.sizes = passes.Sizes.of(h, bias, parameters, num_heads, dtype)
        ctx.rates = (dropout, attention_dropout)
        out, *tables = passes.forward(ctx.sizes, h, bias, seed, ctx.rates, parameters, keep=True)
        ctx.save_for_backward(h, bias, seed, *tables, *parameters)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        h, bias, seed, *rest = ctx.saved_tensors
        tables, parameters = rest[: passes.NUM_TABLES], rest[passes.NUM_TABLES :]
        grad_h, grad_bias, flat, vectors = passes.backward(
            ctx.sizes, grad.contiguous(), h, bias, seed, ctx.rates, tables, parameters
        )
        return (
            grad_h,
            grad_bias,
            None,
            None,
            None,
            None,
            None,
            *passes.cut_gradients(ctx.sizes, flat, vectors),
        )


@torch.library.custom_op("ansgt::layers", mutates_args=())
def _compiled(
    h: Tensor,
    bias: Tensor,
    seed: Tensor,
    parameters: Sequence[Tensor],
    num_heads: int,
    dropout: float,
    attention_dropout: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    sizes = passes.Sizes.of(h, bias, parameters, num_heads, dtype)
    return passes.forward(sizes, h, bias, seed, (dropout, attention_dropout), parameters, keep=True)


@_compiled.register_fake
def _(
    h: Tensor, bias: Tensor, seed: Tensor, parameters: Sequence[Tensor], num_heads: int, *rest: Any
) -> tuple[Tensor, ...]:
    sizes = passes.Sizes.of(h, bias, parameters, num_heads, rest[-1])
    return (h.new_empty((sizes.sequences, sizes.width)), *passes.empty_tables(sizes, h, keep=True))


@torch.library.custom_op("ansgt::layers_backward", mutates_args=())
def _compiled_backward(
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
    sizes = passes.Sizes.of(h, bias, parameters, num_heads, dtype)
    return passes.backward(
        sizes, grad.contiguous(), h, bias, seed, (dropout, attention_dropout), tables, parameters
    )


@_compiled_backward.register_fake
def _(grad: Tensor, h: Tensor, bias: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    _, _, parameters, num_heads, *_, dtype = rest
    sizes = passes.Sizes.of(h, bias, parameters, num_heads, dtype)
    flat = grad.new_empty((sizes.layers, sizes.flat))
    vectors = grad.new_empty((sizes.layers, sum(sizes.vectors)))
    return h.new_empty(h.shape), bias.new_empty(bias.shape), flat, vectors


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    h, bias, seed, parameters, ctx.num_heads, ctx.dropout, ctx.attention_dropout, ctx.dtype = inputs
    ctx.save_for_backward(h, bias, seed, *output[1:], *parameters)


def _apply_backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Any, ...]:
    h, bias, seed, *rest = ctx.saved_tensors
    tables, parameters = rest[: passes.NUM_TABLES], rest[passes.NUM_TABLES :]
    rates = (ctx.dropout, ctx.attention_dropout)
    grad_h, grad_bias, flat, vectors = _compiled_backward(
        grad, h, bias, seed, tables, parameters, ctx.num_heads, *rates, ctx.dtype
    )
    sizes = passes.Sizes.of(h, bias, parameters, ctx.num_heads, ctx.dtype)
    return grad_h, grad_bias, None, passes.cut_gradients(sizes, flat, vectors), None, None, None, None


_compiled.register_autograd(_apply_backward, setup_context=_save)
