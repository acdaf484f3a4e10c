"""AdamW with clipping and a linear schedule over one flat buffer: one pass over four arrays."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from ansgt.kernels.choose import Kernel, choose


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
        from ansgt.kernels.adamw.triton import flat_update as twin

        twin(state, schedule, update)
    else:
        plain_update(state, schedule, update)
