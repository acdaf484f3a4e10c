"""The plain update against `torch.optim.AdamW`."""

import pytest
import torch
from torch import nn

from ansgt.kernels.adamw import FlatState, Update, plain_update
from ansgt.training.optim import LinearSchedule


@pytest.mark.parametrize(("size", "warmup", "clip_norm"), [(1, 0, None), (700, 3, 0.5), (5000, 1, 1e6)])
def test_equals_pytorchs(size: int, warmup: int, clip_norm: float | None) -> None:
    torch.manual_seed(size)
    num_decayed = size // 3
    flat = torch.randn(size)
    theirs = [flat[:num_decayed].clone().requires_grad_(), flat[num_decayed:].clone().requires_grad_()]
    groups = [{"params": theirs[:1], "weight_decay": 0.3}, {"params": theirs[1:], "weight_decay": 0.0}]
    peer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.999))
    state = FlatState(flat, torch.zeros(size), torch.zeros(size), torch.zeros(size), torch.zeros(()))
    update = Update(num_decayed, weight_decay=0.3, betas=(0.9, 0.999), clip_norm=clip_norm)
    schedule = LinearSchedule(0.05, 1e-3, warmup, total=4)
    for step in range(1, 5):
        grad = torch.randn(size)
        theirs[0].grad, theirs[1].grad = grad[:num_decayed].clone(), grad[num_decayed:].clone()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(theirs, clip_norm)
        for group in peer.param_groups:
            group["lr"] = float(schedule.value(torch.tensor(step)))
        peer.step()
        state.num_updates.add_(1)
        state.grad.copy_(grad)
        plain_update(state, schedule, update)
    assert (flat - torch.cat([t.detach() for t in theirs])).abs().max() < 1e-5
