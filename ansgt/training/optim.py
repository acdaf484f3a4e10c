"""AdamW with the schedule of section 6.1, in a form that a captured CUDA graph can replay.

The learning rate is a tensor on the parameters' device, computed there from the optimizer's own step count: nothing
about an update lives on the host, so the same code runs eagerly on the CPU and inside a graph.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from ansgt.config import RunConfig
from ansgt.errors import InputError


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
    """AdamW whose learning rate follows a schedule; fused, and capturable on CUDA.

    State is made at once and only ever written in place: a CUDA graph that was captured before `load_state_dict` stays
    valid after it.

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
        self.clip_norm = clip_norm
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad and p.numel()}
        device = next(iter(self.parameters.values())).device
        self.lr = torch.tensor(schedule.peak, dtype=torch.float32, device=device)
        self._groups = _groups(model, schedule.peak, weight_decay)
        self.betas, self.eps = betas, eps
        self._state = {
            parameter: {
                "step": torch.zeros((), dtype=torch.float32, device=device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
            for parameter in self.parameters.values()
        }
        self._steps = [self._state[p]["step"] for p in self.parameters.values()]

    @property
    def num_updates(self) -> int:
        """Updates made so far (waits for the device)."""
        return int(self._steps[0])

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One update from the gradients at hand."""
        self.lr.copy_(self.schedule.value(self._steps[0] + 1))
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.parameters.values(), self.clip_norm)
        for group in self._groups:
            self._update([p for p in group["params"] if p.grad is not None], group["weight_decay"])

    def _update(self, parameters: list[nn.Parameter], weight_decay: float) -> None:
        """The function behind `torch.optim.AdamW`; the class itself would import `torch._dynamo`, which takes seconds."""
        states = [self._state[p] for p in parameters]
        adamw(
            parameters,  # type: ignore[arg-type]
            [p.grad for p in parameters],  # type: ignore[misc]
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            capturable=self.lr.is_cuda,
            amsgrad=False,
            lr=self.lr,  # type: ignore[arg-type]
            weight_decay=weight_decay,
            beta1=self.betas[0],
            beta2=self.betas[1],
            eps=self.eps,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Flat named tensors, copies: the update count and both moments of every parameter."""
        state = {"step": self._steps[0].clone()}
        for name, parameter in self.parameters.items():
            for moment in ("exp_avg", "exp_avg_sq"):
                state[f"{moment}.{name}"] = self._state[parameter][moment].clone()
        return state

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Writes a `state_dict` back, in place."""
        expected = {"step"} | {f"{m}.{n}" for n in self.parameters for m in ("exp_avg", "exp_avg_sq")}
        if set(state) != expected:
            odd = sorted(set(state) ^ expected)[0]
            raise InputError(f"The optimizer state does not fit this model: '{odd}' is on one side only.")
        for step in self._steps:
            step.copy_(state["step"])
        for name, parameter in self.parameters.items():
            for moment in ("exp_avg", "exp_avg_sq"):
                self._state[parameter][moment].copy_(state[f"{moment}.{name}"])


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


def _groups(model: nn.Module, lr: float, weight_decay: float) -> list[dict[str, Any]]:
    """The model's own groups, or one with everything; empty parameters (no global node) are left out."""
    if isinstance(model, Grouped):
        groups = [dict(group) for group in model.param_groups(lr, weight_decay)]
    else:
        groups = [{"params": list(model.parameters()), "weight_decay": weight_decay}]
    for group in groups:
        group["params"] = [p for p in group["params"] if p.requires_grad and p.numel()]
    return [group for group in groups if group["params"]]
