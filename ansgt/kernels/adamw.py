"""AdamW with clipping and a linear schedule over one flat buffer: one pass over four arrays.

The twin is two kernels. PyTorch's fused AdamW gives a block 65,536 numbers: a model of a million has sixteen blocks on
132 processors, once per group, and the norm, the clipping and the learning rate are a dozen kernels more. Together they
took a tenth of a step.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from ansgt.kernels.choose import Kernel, choose
from ansgt.kernels.language import tl, triton


class Schedule(Protocol):
    """Learning rate per update, counted from 1: linear to `peak` at `warmup`, then linear to `end` at `total`."""

    @property
    def peak(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def warmup(self) -> int: ...
    @property
    def total(self) -> int: ...

    def value(self, step: Tensor) -> Tensor:
        """Learning rate of update `step`, on its device."""
        ...


class FlatState(NamedTuple):
    """What an update reads and writes: four flat arrays of equal length, and a count; all float32."""

    parameter: Tensor
    grad: Tensor
    exp_avg: Tensor
    exp_avg_sq: Tensor
    num_updates: Tensor
    """So far, this one included; a scalar."""


@dataclass(frozen=True)
class Update:
    """The numbers that stay the same from update to update.

    Args:
        num_decayed: the first numbers decay, so many; the others do not.
        weight_decay: decoupled weight decay.
        betas, eps: of AdamW.
        clip_norm: largest norm of the whole gradient, or None.
    """

    num_decayed: int
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.99, 0.999)
    eps: float = 1e-8
    clip_norm: float | None = None


def plain_update(state: FlatState, schedule: Schedule, update: Update) -> None:
    """The function behind `torch.optim.AdamW`; the class itself would import `torch._dynamo`, which takes seconds."""
    if update.clip_norm is not None:
        state.grad.mul_((update.clip_norm / (state.grad.norm() + 1e-6)).clamp(max=1.0))
    lr = schedule.value(state.num_updates).float()
    sizes = (update.num_decayed, state.parameter.numel() - update.num_decayed)
    arrays = [array.split(sizes) for array in state[:-1]]
    for decay, *parts in zip((update.weight_decay, 0.0), *arrays, strict=True):
        parameter, grad, exp_avg, exp_avg_sq = parts
        adamw(
            [parameter],
            [grad],
            [exp_avg],
            [exp_avg_sq],
            [],
            [state.num_updates - 1],  # which it counts up itself
            fused=True,
            amsgrad=False,
            lr=lr,
            weight_decay=decay,
            beta1=update.betas[0],
            beta2=update.betas[1],
            eps=update.eps,
            maximize=False,
        )


@torch.no_grad()
def flat_update(state: FlatState, schedule: Schedule, update: Update, kernel: Kernel = "auto") -> None:
    """One update in place; nothing about it lives on the host, so a captured CUDA graph can replay it."""
    if choose("adamw", state.parameter, kernel) == "triton":
        _triton_update(state, schedule, update)
    else:
        plain_update(state, schedule, update)


PIECES, BLOCK = 256, 1024


@triton.jit
def _squares_kernel(grad, squares, size, share, BLOCK: tl.constexpr):
    """Sum of squares of one of `PIECES` pieces of the gradient; pieces, not atomics: the same sum every time."""
    first = tl.program_id(0) * share
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, share, BLOCK):
        number = start + tl.arange(0, BLOCK)
        value = tl.load(grad + first + number, mask=(number < share) & (first + number < size), other=0.0)
        total += value * value
    tl.store(squares + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def _adamw_kernel(
    parameter,
    grad,
    exp_avg,
    exp_avg_sq,
    step,
    squares,
    size,
    num_decayed,
    peak,
    end,
    warmup,
    total,
    weight_decay,
    beta1,
    beta2,
    eps,
    clip_norm,
    CLIP: tl.constexpr,
    PIECES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = number < size
    count = tl.load(step).to(tl.float64)
    correction1 = (1.0 - tl.exp(count * tl.log(tl.cast(beta1, tl.float64)))).to(tl.float32)
    correction2 = (1.0 - tl.exp(count * tl.log(tl.cast(beta2, tl.float64)))).to(tl.float32)
    progress = tl.minimum(tl.maximum((count - warmup) / tl.maximum(total - warmup, 1), 0.0), 1.0)
    planned = peak + progress * (tl.cast(end, tl.float64) - peak)
    rate = tl.minimum(planned, peak * count / tl.maximum(warmup, 1)).to(tl.float32)
    g = tl.load(grad + number, mask=inside, other=0.0)
    if CLIP:
        norm = tl.sqrt(tl.sum(tl.load(squares + tl.arange(0, PIECES)), axis=0))
        g *= tl.minimum(clip_norm / (norm + 1e-6), 1.0)
    p = tl.load(parameter + number, mask=inside, other=0.0)
    m = tl.load(exp_avg + number, mask=inside, other=0.0)
    v = tl.load(exp_avg_sq + number, mask=inside, other=0.0)
    p *= 1.0 - tl.where(number < num_decayed, rate * weight_decay, 0.0)
    m += (1.0 - beta1) * (g - m)
    v = beta2 * v + (1.0 - beta2) * g * g
    p -= rate / correction1 * m / (tl.sqrt(v) / tl.sqrt(correction2) + eps)
    tl.store(parameter + number, p, mask=inside)
    tl.store(exp_avg + number, m, mask=inside)
    tl.store(exp_avg_sq + number, v, mask=inside)


def _triton_update(state: FlatState, schedule: Schedule, update: Update) -> None:
    """The twin of `plain_update`, with the same arguments."""
    size = state.parameter.numel()
    squares = state.parameter.new_empty(PIECES)
    clip_norm = update.clip_norm
    if clip_norm is not None:
        _squares_kernel[(PIECES,)](state.grad, squares, size, triton.cdiv(size, PIECES), BLOCK=BLOCK)
    _adamw_kernel[(triton.cdiv(size, BLOCK),)](
        *state, squares, size, update.num_decayed,
        schedule.peak, schedule.end, schedule.warmup, schedule.total, update.weight_decay, *update.betas, update.eps,
        0.0 if clip_norm is None else clip_norm, CLIP=clip_norm is not None, PIECES=PIECES, BLOCK=BLOCK,
    )  # fmt: skip
