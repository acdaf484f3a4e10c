"""The schedule by hand, the optimizer against PyTorch's own, state that is restored in place, and the running mean."""

import copy
import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from ansgt.errors import InputError
from ansgt.kernels.adamw import Update
from ansgt.models.ansgt import ANSGT, ANSGTSettings
from ansgt.runs.prepare import Request, build_config
from ansgt.training.optim import LinearSchedule, ScheduledAdamW, WeightAverage, _joined, scheduled_adamw


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def backward(net: nn.Module, step: int) -> None:
    torch.manual_seed(step)
    net(torch.randn(6, 4)).square().sum().backward()


def test_schedule_of_the_paper() -> None:
    """Peak 2e-4, 100 epochs of warm-up out of 1,000, end 1e-9; 51 updates an epoch."""
    schedule = LinearSchedule.from_epochs(2e-4, 1e-9, 100, 1000, 51)
    at = [float(schedule.value(torch.tensor(t))) for t in (1, 2550, 5100, 28050, 51000, 60000)]
    assert at == pytest.approx([2e-4 / 5100, 1e-4, 2e-4, (2e-4 + 1e-9) / 2, 1e-9, 1e-9], rel=1e-6)


def test_schedule_without_decay_or_warmup() -> None:
    constant = LinearSchedule.from_epochs(0.1, None, 0, 10, 3)
    assert [float(constant.value(torch.tensor(t))) for t in (1, 30, 99)] == pytest.approx([0.1] * 3)
    for wrong in ({"peak": -1.0}, {"end": -1.0}):
        with pytest.raises(InputError, match="must not be negative"):
            LinearSchedule(**wrong)
    assert float(LinearSchedule(peak=0.0, end=0.0).value(torch.tensor(1))) == 0
    assert LinearSchedule() == LinearSchedule(peak=2e-4, end=1e-9, warmup=0, total=1)
    assert LinearSchedule.from_epochs(0.1, None, 1, 2, 0) == LinearSchedule(0.1, 0.1, 1, 2)


def test_settings_of_a_run_and_what_is_not_said() -> None:
    optim = {"lr": 0.3, "end_lr": 0.1, "warmup_epochs": 2, "weight_decay": 0.2}
    more = {"beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "clip_norm": 5.0, "epochs": 10}
    config = build_config(Request("graph", "ansgt", "given"), overrides={**optim, **more})
    one = scheduled_adamw(config, model(), num_centres=10, batch_size=4)  # three batches an epoch
    assert one.schedule == LinearSchedule(peak=0.3, end=0.1, warmup=6, total=30)
    count = sum(parameter.numel() for parameter in model().parameters())
    assert one.update == Update(count, 0.2, (0.8, 0.9), 1e-3, 5.0)
    assert ScheduledAdamW(model(), LinearSchedule()).update == Update(count, 0.01, (0.99, 0.999), 1e-8, None)


def test_gradients_of_all_processes_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    net = model()
    optimizer = ScheduledAdamW(net, LinearSchedule())
    backward(net, 0)
    own = torch.cat([p.grad.flatten() for p in optimizer.parameters.values()])
    monkeypatch.setattr(
        "ansgt.training.optim.ranks", lambda: SimpleNamespace(total=lambda grad: grad.mul_(3))
    )
    optimizer.step()
    torch.testing.assert_close(optimizer.grad, 3 * own)


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_equals_pytorchs_adamw_with_a_lambda_schedule(clip_norm: float | None) -> None:
    schedule = LinearSchedule(peak=0.05, end=1e-3, warmup=3, total=8)
    ours, theirs = model(), model()
    optimizer = ScheduledAdamW(ours, schedule, weight_decay=0.1, clip_norm=clip_norm)
    peer = torch.optim.AdamW(theirs.parameters(), lr=1.0, betas=(0.99, 0.999), eps=1e-8, weight_decay=0.1)
    for step in range(1, 11):
        peer.param_groups[0]["lr"] = float(schedule.value(torch.tensor(step)))
        optimizer.zero_grad()
        peer.zero_grad()
        backward(ours, step)
        backward(theirs, step)
        if clip_norm:
            nn.utils.clip_grad_norm_(theirs.parameters(), clip_norm)
        optimizer.step()
        peer.step()
    assert optimizer.num_updates == 10
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_resumed_equals_unbroken_and_addresses_stay() -> None:
    net = model()
    optimizer = ScheduledAdamW(net, LinearSchedule(0.05, 1e-3, 3, 8))
    where = [tensor.data_ptr() for tensor in (*net.parameters(), *optimizer._moments().values())]
    for step in range(3):
        optimizer.zero_grad()
        backward(net, step)
        optimizer.step()
    saved, weights = optimizer.state_dict(), {k: v.clone() for k, v in net.state_dict().items()}
    ends = []
    for _ in range(2):
        net.load_state_dict(weights)
        optimizer.load_state_dict(saved)
        for step in range(3, 6):
            optimizer.zero_grad()
            backward(net, step)
            optimizer.step()
        ends.append(torch.cat([p.detach().flatten().clone() for p in net.parameters()]))
    assert torch.equal(*ends)
    assert optimizer.num_updates == 6
    assert where == [tensor.data_ptr() for tensor in (*net.parameters(), *optimizer._moments().values())]
    with pytest.raises(InputError, match=r"does not fit this model: 'exp_avg\.0\.bias' is on one side only"):
        optimizer.load_state_dict({"step": saved["step"]})


def test_decay_spares_vectors_and_empty_parameters_are_left_out() -> None:
    net = ANSGT(
        6, 3, ANSGTSettings(hidden_channels=16, num_layers=2, num_heads=2, num_global=0, num_proximity=0)
    )
    groups = net.param_groups(0.1, 0.5)
    assert {p.ndim for p in groups[0]["params"]} == {2}
    assert sum(len(g["params"]) for g in groups) == len(list(net.parameters()))
    optimizer = ScheduledAdamW(net, LinearSchedule(0.1, 0.1, 0, 1), weight_decay=0.5)
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    optimizer.step()
    assert torch.equal(net.transformer.norm.weight, before["transformer.norm.weight"])
    assert torch.allclose(net.input.weight, before["input.weight"] * 0.95)
    assert "global_nodes" not in optimizer.parameters


def test_neighbours_in_memory_are_joined_and_nothing_else() -> None:
    buffer, other = torch.arange(10.0), torch.arange(5.0)
    parts = [buffer[0:3], buffer[3:7], buffer[8:10], other[0:2], other[2:5], buffer[0:0]]
    joined = _joined(parts)
    assert [len(part) for part in joined] == [7, 2, 5, 0]
    assert torch.equal(torch.cat(joined), torch.cat(parts))


def averaged(updates: float) -> tuple[ANSGT, WeightAverage]:
    """A model and the running mean of its weights."""
    model = ANSGT(3, 2, ANSGTSettings(hidden_channels=4, num_heads=2, num_layers=1))
    return model, WeightAverage(model, copy.deepcopy(model), updates)


def test_mean_follows_its_recurrence_and_the_model_is_left_alone() -> None:
    model, average = averaged(updates=2.0)
    share = 1 - math.exp(-0.5)
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in range(4):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter))
        live = {name: value.clone() for name, value in model.state_dict().items()}
        average.update()
        for name, value in live.items():
            expected[name] = (1 - share) * expected[name] + share * value
            assert torch.equal(model.state_dict()[name], value)
    for name, value in average.model.state_dict().items():
        assert torch.allclose(value, expected[name], atol=1e-6), name


def test_snapshot_takes_the_mean_back_in_place() -> None:
    model, average = averaged(updates=1.0)
    restore = average.snapshot()
    kept = [value.clone() for value in average.model.parameters()]
    places = [value.data_ptr() for value in average.model.parameters()]
    with torch.no_grad():
        model.input.weight.add_(1.0)
    average.update()
    assert not torch.equal(average.model.input.weight, model.input.weight)
    restore()
    assert all(torch.equal(a, b) for a, b in zip(average.model.parameters(), kept, strict=True))
    assert [value.data_ptr() for value in average.model.parameters()] == places
