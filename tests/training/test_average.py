"""The running mean of the weights: its recurrence, its copy, and the way back."""

import math

import torch

from ansgt.models.ansgt import ANSGT
from ansgt.training.average import WeightAverage


def test_mean_follows_its_recurrence_and_the_model_is_left_alone() -> None:
    model = ANSGT(3, 2, hidden_channels=4, num_heads=2, num_layers=1)
    average = WeightAverage(model, updates=2.0)
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
    model = ANSGT(3, 2, hidden_channels=4, num_heads=2, num_layers=1)
    average = WeightAverage(model, updates=1.0)
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
