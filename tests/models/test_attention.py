"""The attention modules: their kernels agree, the centre alone is the first row, the bias by hand."""

import pytest
import torch
from cases import DEVICE, needs_triton
from torch import Tensor

from ansgt.errors import InputError
from ansgt.models.attention import AttentionBias, MultiHeadAttention, key_bias


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 3, 4, 9, 8).unbind()
    mask = torch.rand(3, 9) < 0.7
    mask[:, 0] = True
    bias = torch.randn(3, 4, 9, 9) + key_bias(mask, torch.rand(3, 9))[:, None, None, :]
    return query, key, value, bias


@pytest.mark.parametrize("centre_only", [False, True])
def test_module_kernels_agree_in_value_and_gradient(centre_only: bool, inputs: tuple[Tensor, ...]) -> None:
    bias = inputs[3][:, :, :1] if centre_only else inputs[3]
    results = []
    for kernel in ("plain", "sdpa"):
        torch.manual_seed(1)
        layer = MultiHeadAttention(32, 4, kernel=kernel)
        h, b = torch.randn(3, 9, 32, requires_grad=True), bias.clone().requires_grad_()
        out, s = layer(h, b, centre_only=centre_only, significance=True)
        grads = torch.autograd.grad(out.square().sum(), (h, b, *layer.parameters()))
        results.append((out, s, *grads))
    for one, other in zip(*results, strict=True):
        assert (one - other).abs().max() < 1e-5 * max(1.0, one.abs().max().item())


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_centre_without_keys_and_values_agrees_in_value_and_gradient(
    dropout: float, inputs: tuple[Tensor, ...]
) -> None:
    """ "auto" on the CPU reads the tokens through W_Kᵀ q; with dropout both draw the same weights."""
    results = []
    for kernel in ("plain", "auto"):
        torch.manual_seed(1)
        layer = MultiHeadAttention(32, 4, dropout, kernel)
        with torch.no_grad():
            layer.in_proj.bias.normal_()
        h, b = torch.randn(3, 9, 32, requires_grad=True), inputs[3][:, :, :1].clone().requires_grad_()
        out, _ = layer(h, b, centre_only=True)
        grads = torch.autograd.grad(out.square().sum(), (h, b, *layer.parameters()))
        results.append((out, *grads))
    for one, other in zip(*results, strict=True):
        assert one.shape == other.shape
        assert (one - other).abs().max() < 1e-5 * max(1.0, one.abs().max().item())


def test_centre_only_is_the_first_row(inputs: tuple[Tensor, ...]) -> None:
    torch.manual_seed(1)
    layer, h = MultiHeadAttention(32, 4), torch.randn(3, 9, 32)
    full, s_full = layer(h, inputs[3], significance=True)
    centre, s_centre = layer(h, inputs[3][:, :, :1], centre_only=True, significance=True)
    assert (full[:, :1] - centre).abs().max() < 1e-6
    assert torch.allclose(s_full, s_centre)


def test_bias_by_hand() -> None:
    """Two heads, two channels, tokens [centre, node, global]; every entry written out."""
    bias = AttentionBias(num_proximity=2, num_heads=2)
    with torch.no_grad():
        bias.weight.copy_(torch.tensor([[1.0, 10.0], [0.0, -1.0]]))
        bias.global_bias.copy_(torch.tensor([[100.0, 200.0], [300.0, 400.0]]))
    proximity = torch.zeros(1, 3, 3, 2)
    proximity[0, 0, 1] = torch.tensor([0.5, 0.25])
    proximity[0, 1, 0] = torch.tensor([0.5, 0.75])
    keys = torch.tensor([[0.0, 2.0, 0.0]])
    expected = torch.tensor(
        [
            [[0.0, 5.0, 100.0], [8.0, 2.0, 100.0], [200.0, 202.0, 0.0]],
            [[0.0, 1.75, 300.0], [-0.75, 2.0, 300.0], [400.0, 402.0, 0.0]],
        ]
    )
    assert torch.allclose(bias(proximity, keys, num_global=1)[0], expected)
    centre = bias(proximity, keys, num_global=1, centre_only=True)
    assert torch.allclose(centre[0], expected[:, :1])


def test_bias_without_proximity_channels() -> None:
    bias = AttentionBias(num_proximity=0, num_heads=2)
    out = bias(torch.zeros(2, 4, 4, 0), torch.zeros(2, 4), num_global=1)
    assert out.shape == (2, 2, 4, 4)
    assert (out == 0).all()


def test_bad_settings_are_named() -> None:
    with pytest.raises(InputError, match="num_heads=3"):
        MultiHeadAttention(32, 3)
    with pytest.raises(InputError, match="Unknown kernel 'flash'; known: auto"):
        MultiHeadAttention(32, 4, kernel="flash")  # type: ignore[arg-type]


@needs_triton
def test_the_module_agrees_with_its_triton_twin() -> None:
    torch.manual_seed(0)
    bias = torch.randn(3, 4, 9, 9, device=DEVICE)
    results = []
    for kernel in ("plain", "triton"):
        torch.manual_seed(1)
        layer = MultiHeadAttention(64, 4, kernel=kernel).to(DEVICE)
        h = torch.randn(3, 9, 64, device=DEVICE, requires_grad=True)
        out, s = layer(h, bias, significance=True)
        results.append((out, s, *torch.autograd.grad(out.square().sum(), (h, *layer.parameters()))))
    for one, other in zip(*results, strict=True):
        assert (one - other).abs().max() < 1e-4 * max(1.0, one.abs().max().item())
