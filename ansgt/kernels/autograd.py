"""A forward and a backward pass as one differentiable function, eager and for `torch.compile`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Results = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True)
class Passes:
    """What an operation says about itself. All functions take positional arguments, annotated as `torch.library` wants them.

    Args:
        name: of the operator, behind "ansgt::".
        forward: arguments -> result, or (result, *tables) with more that the backward pass reads.
        like: arguments -> empty tensors in the shape of what `forward` returns.
        backward: (gradient of the result, *saved) -> gradients.
        backward_like: empty tensors in the shape of what `backward` returns.
        learned: places of the arguments whose gradients `backward` returns, in their order.
        saved: (arguments, results) -> what `backward` takes behind the result's gradient; by default all arguments.
        cut: (gradients, saved) -> one gradient per place in `learned`, where `backward` returns several in one tensor.
    """

    name: str
    forward: Callable[..., Results]
    like: Callable[..., Results]
    backward: Callable[..., Results]
    backward_like: Callable[..., Results]
    learned: tuple[int, ...]
    saved: Callable[[Sequence[Any], tuple[Tensor, ...]], Sequence[Any]] = lambda arguments, results: arguments
    cut: Callable[[tuple[Tensor, ...], Sequence[Any]], Sequence[Any]] = lambda gradients, saved: gradients

    def gradients(self, results: Results, saved: Sequence[Any], count: int) -> list[Any]:
        """One gradient or None for each of `count` arguments."""
        by_place = dict(zip(self.learned, self.cut(_tuple(results), saved), strict=True))
        return [by_place.get(place) for place in range(count)]


class Differentiable:
    """The result of `passes.forward`, with `passes.backward` behind it; an argument may be a list of tensors."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        forward = torch.library.custom_op(f"ansgt::{passes.name}", passes.forward, mutates_args=())
        backward = torch.library.custom_op(f"ansgt::{passes.name}_backward", passes.backward, mutates_args=())
        forward.register_fake(passes.like)
        backward.register_fake(passes.backward_like)

        def save(ctx: Any, inputs: tuple[Any, ...], output: Results) -> None:
            ctx.count = len(inputs)
            _save(ctx, passes.saved(inputs, _tuple(output)))

        def apply_backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Any, ...]:
            saved = _saved(ctx)
            return tuple(passes.gradients(backward(grad, *saved), saved, ctx.count))

        forward.register_autograd(apply_backward, setup_context=save)
        self._operator = forward

    def __call__(self, *arguments: Any) -> Tensor:
        if torch.compiler.is_compiling():
            return _tuple(self._operator(*arguments))[0]
        flat, lengths = _flattened(arguments)
        return _Eager.apply(self.passes, lengths, *flat)  # type: ignore[no-untyped-call, no-any-return]


class _Eager(torch.autograd.Function):
    """What runs by default; an operator of `torch.library` would import `torch._dynamo`, which takes seconds."""

    @staticmethod
    def forward(ctx: Any, passes: Passes, lengths: list[int | None], *flat: Any) -> Tensor:
        arguments = _nested(flat, lengths)
        results = _tuple(passes.forward(*arguments))
        ctx.passes, ctx.count = passes, len(arguments)
        ctx.argument_lengths = lengths
        _save(ctx, passes.saved(arguments, results))
        return results[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        saved = _saved(ctx)
        results = ctx.passes.backward(grads[0], *saved)
        gradients = ctx.passes.gradients(results, saved, ctx.count)
        flat: list[Any] = [None, None]
        for gradient, length in zip(gradients, ctx.argument_lengths, strict=True):
            flat += [gradient] if length is None else gradient or [None] * length
        return tuple(flat)


def _tuple(results: Results) -> tuple[Tensor, ...]:
    return (results,) if isinstance(results, Tensor) else tuple(results)


def _flattened(values: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
    """All values in one list, and the lengths of those that were lists themselves."""
    flat: list[Any] = []
    lengths: list[int | None] = []
    for value in values:
        is_list = isinstance(value, list | tuple)
        flat += value if is_list else [value]
        lengths.append(len(value) if is_list else None)
    return flat, lengths


def _nested(flat: Sequence[Any], lengths: Sequence[int | None]) -> list[Any]:
    """The inverse of `_flattened`."""
    values: list[Any] = []
    start = 0
    for length in lengths:
        values.append(flat[start] if length is None else list(flat[start : start + length]))
        start += 1 if length is None else length
    return values


def _save(ctx: Any, values: Sequence[Any]) -> None:
    """Tensors where autograd watches over them, all else as it is."""
    flat, ctx.lengths = _flattened(values)
    ctx.places = [place for place, value in enumerate(flat) if isinstance(value, Tensor)]
    ctx.save_for_backward(*(flat[place] for place in ctx.places))
    ctx.others = [None if isinstance(value, Tensor) else value for value in flat]


def _saved(ctx: Any) -> list[Any]:
    flat = list(ctx.others)
    for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
        flat[place] = tensor
    return _nested(flat, ctx.lengths)
