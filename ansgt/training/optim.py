"""AdamW with the schedule of section 6.1 and a running mean of the weights, as a captured CUDA graph can replay them.

The learning rate is computed on the parameters' device from the optimizer's own step count: nothing about an update lives
on the host, so the same code runs eagerly and inside a graph.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.kernels.adamw import FlatState, Update, flat_update
from ansgt.models.ansgt import ANSGT
from ansgt.prediction.capture import Restore
from ansgt.ranks import ranks


@dataclass(frozen=True)
class LinearSchedule:
    """Linear warm-up to the peak, then linear decay to the end (section 6.1), counted in updates.

    Args:
        peak: largest learning rate, reached at update `warmup`.
        end: learning rate of update `total` and of all after it.
        warmup: updates of warm-up; the first has peak / warmup, not 0.
        total: updates in all.

    >>> schedule = LinearSchedule(peak=1.0, end=0.0, warmup=2, total=4)
    >>> [round(float(schedule.value(torch.tensor(t))), 3) for t in (1, 2, 3, 4, 5)]
    [0.5, 1.0, 0.5, 0.0, 0.0]
    """

    peak: float = 2e-4
    end: float = 1e-9
    warmup: int = 0
    total: int = 1

    @classmethod
    def from_epochs(
        cls, peak: float, end: float | None, warmup_epochs: int, epochs: int, steps_per_epoch: int
    ) -> "LinearSchedule":
        """From epochs; `end=None` keeps the peak to the last update."""
        steps = max(steps_per_epoch, 1)
        return cls(peak, peak if end is None else end, warmup_epochs * steps, epochs * steps)

    def __post_init__(self) -> None:
        if self.peak < 0 or self.end < 0:
            raise InputError(f"Learning rates must not be negative: peak {self.peak}, end {self.end}.")

    def value(self, step: Tensor) -> Tensor:
        """Learning rate of update `step` (1, 2, ...), a tensor on the device of `step`; no host round trip."""
        step = step.double()
        progress = ((step - self.warmup) / max(self.total - self.warmup, 1)).clamp(0, 1)
        decayed = self.peak + progress * (self.end - self.peak)
        return torch.minimum(decayed, self.peak * step / self.warmup) if self.warmup else decayed


@runtime_checkable
class Grouped(Protocol):
    """A model that says which of its parameters decay."""

    def param_groups(self, lr: float, weight_decay: float) -> Iterable[dict[str, Any]]: ...


class ScheduledAdamW:
    """AdamW whose learning rate follows a schedule; a captured CUDA graph can replay it.

    The parameters are moved into one flat buffer, of which they become views, and so are the moments: an update is one
    pass over four arrays whatever the model is made of (`ansgt.kernels.adamw`). State is made at once and only ever
    written in place: a CUDA graph that was captured before `load_state_dict` stays valid after it. A parameter without
    gradient counts as one whose gradient is zero.

    Args:
        model: whose parameters to update, on their final device; may offer `param_groups`.
        schedule: learning rate per update.
        weight_decay: decoupled weight decay.
        betas, eps: as printed in section 6.1.
        clip_norm: largest norm of the whole gradient, or None.
    """

    def __init__(
        self,
        model: nn.Module,
        schedule: LinearSchedule,
        *,
        weight_decay: float = 0.01,
        betas: tuple[float, float] = (0.99, 0.999),
        eps: float = 1e-8,
        clip_norm: float | None = None,
    ) -> None:
        self.schedule = schedule
        decayed, rest = _decayed_and_rest(model, schedule.peak, weight_decay)
        names = {parameter: name for name, parameter in model.named_parameters()}
        self.parameters: dict[str, nn.Parameter] = {names[p]: p for p in (*decayed, *rest)}
        num_decayed = sum(p.numel() for p in decayed)
        self.update = Update(num_decayed, weight_decay, betas, eps, clip_norm)
        self.flat = _flattened(list(self.parameters.values()))
        self.grad, self.exp_avg, self.exp_avg_sq = (torch.zeros_like(self.flat) for _ in range(3))
        self.count = torch.zeros((), dtype=torch.float32, device=self.flat.device)

    @property
    def num_updates(self) -> int:
        """Updates made so far (waits for the device)."""
        return int(self.count)

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One update from the gradients at hand, added up over all processes that share a batch."""
        self.count += 1
        grads = (torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters.values())
        torch.cat(_joined([grad.reshape(-1) for grad in grads]), out=self.grad)
        ranks().total(self.grad)
        state = FlatState(self.flat, self.grad, self.exp_avg, self.exp_avg_sq, self.count)
        flat_update(state, self.schedule, self.update)

    def state_dict(self) -> dict[str, Tensor]:
        """Flat named tensors, copies: the update count and both moments of every parameter."""
        return {"step": self.count.clone(), **{n: moment.clone() for n, moment in self._moments().items()}}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Writes a `state_dict` back, in place."""
        moments = self._moments()
        expected = {"step", *moments}
        if set(state) != expected:
            odd = sorted(set(state) ^ expected)[0]
            raise InputError(f"The optimizer state does not fit this model: '{odd}' is on one side only.")
        self.count.copy_(state["step"])
        for name, moment in moments.items():
            moment.copy_(state[name])

    def _moments(self) -> dict[str, Tensor]:
        """Both moments of every parameter, as views."""
        sizes = [parameter.numel() for parameter in self.parameters.values()]
        named: dict[str, Tensor] = {}
        for moment, flat in (("exp_avg", self.exp_avg), ("exp_avg_sq", self.exp_avg_sq)):
            for (name, parameter), part in zip(self.parameters.items(), flat.split(sizes), strict=True):
                named[f"{moment}.{name}"] = part.view(parameter.shape)
        return named


def scheduled_adamw(config: RunConfig, model: nn.Module, num_centres: int, batch_size: int) -> ScheduledAdamW:
    """The optimizer of a run: its settings, with warm-up and decay counted in the batches of `num_centres` centres."""
    optim, steps = config.optim, -(-num_centres // batch_size)
    schedule = LinearSchedule.from_epochs(
        optim.lr, optim.end_lr, optim.warmup_epochs, config.train.epochs, steps
    )
    return ScheduledAdamW(
        model,
        schedule,
        weight_decay=optim.weight_decay,
        betas=(optim.beta1, optim.beta2),
        eps=optim.eps,
        clip_norm=optim.clip_norm,
    )


def _decayed_and_rest(
    model: nn.Module, lr: float, weight_decay: float
) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The parameters that decay and those that do not, by the model's own word; empty ones (no global node) are left out."""
    groups: Iterable[dict[str, Any]] = [{"params": model.parameters(), "weight_decay": weight_decay}]
    if isinstance(model, Grouped):
        groups = model.param_groups(lr, weight_decay)
    decayed: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for group in groups:
        used = [p for p in group["params"] if p.requires_grad and p.numel()]
        (decayed if group["weight_decay"] else rest).extend(used)
    return decayed, rest


@torch.no_grad()
def _flattened(parameters: list[nn.Parameter]) -> Tensor:
    """One buffer with all parameters, which become views of it."""
    flat = torch.cat([parameter.reshape(-1) for parameter in parameters])
    parts = flat.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.data = part.view(parameter.shape)
    return flat


def _joined(parts: list[Tensor]) -> list[Tensor]:
    """The same numbers in fewer pieces: neighbours that lie end to end in one buffer become one view of it."""
    joined: list[Tensor] = []
    end = None
    for part in parts:
        storage = part.untyped_storage().data_ptr()
        if joined and end == (storage, part.storage_offset()):
            last = joined[-1]
            joined[-1] = last.as_strided((last.numel() + part.numel(),), (1,))
        else:
            joined.append(part)
        end = (storage, part.storage_offset() + part.numel())
    return joined


class WeightAverage:
    """Exponential moving average of a model's weights, in a second model that predicts in its place.

    With a few dozen training nodes the weights swing from epoch to epoch, and the epoch that validation picks is partly
    luck; their mean moves slowly. Written in place, so that a captured step may contain `update`.

    Args:
        live: the model under training.
        mean: the model that holds the mean; equal to `live` at the start.
        updates: time constant; a weight that is u updates old counts exp(-u / updates).
    """

    def __init__(self, live: ANSGT, mean: ANSGT, updates: float) -> None:
        self.model: ANSGT = mean.requires_grad_(False)
        self.share = -math.expm1(-1.0 / updates)
        self._mean: list[Tensor] = list(mean.parameters())
        self._live: list[Tensor] = list(live.parameters())

    @torch.no_grad()
    def update(self) -> None:
        """Takes the present weights into the mean."""
        torch._foreach_lerp_(self._mean, self._live, self.share)

    @torch.no_grad()
    def snapshot(self) -> Restore:
        """What takes the mean back to now, in place."""
        kept = [value.clone() for value in self._mean]
        return lambda: torch._foreach_copy_(self._mean, kept)
