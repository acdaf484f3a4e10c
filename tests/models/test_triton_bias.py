"""The bias kernel against `AttentionBias`; where: `triton_cases.py`."""

import pytest
import torch
from triton_cases import DEVICE

from ansgt.models.attention import AttentionBias
from ansgt.models.triton_bias import pair_bias


@pytest.mark.parametrize("centre_only", [False, True])
@pytest.mark.parametrize(
    ("length", "channels", "heads", "num_global"),
    [(1, 1, 1, 0), (13, 10, 8, 2), (17, 3, 20, 1), (5, 20, 2, 0)],
)
def test_equals_the_module(
    length: int, channels: int, heads: int, num_global: int, centre_only: bool
) -> None:
    torch.manual_seed(length)
    module = AttentionBias(channels, heads).to(DEVICE)
    module.global_bias.data.normal_()
    proximity = torch.randn(3, length, length, channels, device=DEVICE)
    key_bias = torch.randn(3, length, device=DEVICE).masked_fill(
        torch.rand(3, length, device=DEVICE) < 0.2, -torch.inf
    )
    parameters = (module.weight, module.global_bias)
    expected = module(proximity, key_bias, num_global, centre_only)
    got = pair_bias(proximity, *parameters, key_bias, num_global, centre_only)
    assert got.shape == expected.shape
    assert torch.equal(got.isinf(), expected.isinf())
    assert torch.allclose(got, expected, atol=1e-5)
    upstream = torch.randn_like(expected)
    wanted = torch.autograd.grad(expected, parameters, upstream, allow_unused=True)
    for one, other in zip(torch.autograd.grad(got, parameters, upstream), wanted, strict=True):
        assert torch.allclose(one, torch.zeros_like(one) if other is None else other, atol=1e-4)
