"""The flat AdamW kernels against PyTorch's AdamW; where: `triton_cases.py`."""

import pytest
import torch
from torch import nn
from triton_cases import DEVICE

from ansgt.training.optim import LinearSchedule
from ansgt.training.triton_adamw import flat_adamw


@pytest.mark.parametrize(("size", "warmup", "clip_norm"), [(1, 0, None), (700, 3, 0.5), (5000, 1, 1e6)])
def test_equals_pytorchs(size: int, warmup: int, clip_norm: float | None) -> None:
    torch.manual_seed(size)
    num_decayed = size // 3
    flat = torch.randn(size, device=DEVICE)
    theirs = [flat[:num_decayed].clone().requires_grad_(), flat[num_decayed:].clone().requires_grad_()]
    groups = [{"params": theirs[:1], "weight_decay": 0.3}, {"params": theirs[1:], "weight_decay": 0.0}]
    peer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.999))
    moments = [torch.zeros_like(flat) for _ in range(2)]
    count, schedule = torch.zeros((), device=DEVICE), LinearSchedule(0.05, 1e-3, warmup, total=4)
    for step in range(1, 5):
        grad = torch.randn(size, device=DEVICE)
        theirs[0].grad, theirs[1].grad = grad[:num_decayed].clone(), grad[num_decayed:].clone()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(theirs, clip_norm)
        for group in peer.param_groups:
            group["lr"] = float(schedule.value(torch.tensor(step)))
        peer.step()
        count += 1
        flat_adamw(
            flat,
            grad,
            *moments,
            count,
            schedule,
            num_decayed=num_decayed,
            weight_decay=0.3,
            betas=(0.9, 0.999),
            eps=1e-8,
            clip_norm=clip_norm,
        )
    assert (flat - torch.cat([t.detach() for t in theirs])).abs().max() < 1e-5
