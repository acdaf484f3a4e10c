"""The plain layers against PyTorch's own and against the modules that production uses; the fused layers."""

import math

import pytest
import torch
from cases import DEVICE, HALF, needs_triton
from torch import Tensor

from ansgt.kernels import layers_passes
from ansgt.kernels.layers import Rates, fused_layers, plain_layers
from ansgt.models.transformer import Transformer, TransformerSettings, layer_parameters

SETTINGS = TransformerSettings(
    32, num_layers=3, num_heads=4, num_proximity=2, dropout=0.0, attention_dropout=0.0
)


@pytest.fixture
def layers() -> torch.nn.ModuleList:
    torch.manual_seed(0)
    layers = Transformer(SETTINGS).layers
    for parameter in layers.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return layers


def test_without_a_bias_it_is_pytorchs_pre_norm_encoder(layers: torch.nn.ModuleList) -> None:
    h = expected = torch.randn(2, 6, 32)
    for layer in layers:
        theirs = torch.nn.TransformerEncoderLayer(
            32, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        theirs.self_attn.in_proj_weight.data = layer.attention.in_proj.weight.data
        theirs.self_attn.in_proj_bias.data = layer.attention.in_proj.bias.data
        theirs.self_attn.out_proj.load_state_dict(layer.attention.out_proj.state_dict())
        theirs.linear1.load_state_dict(layer.ffn[0].state_dict())
        theirs.linear2.load_state_dict(layer.ffn[3].state_dict())
        theirs.norm1.load_state_dict(layer.norm1.state_dict())
        theirs.norm2.load_state_dict(layer.norm2.state_dict())
        expected = theirs(expected)
    found = plain_layers(h, torch.zeros(2, 4, 6, 6), layer_parameters(layers), 4)
    assert torch.allclose(found, expected[:, 0], atol=1e-5)


def test_the_modules_compute_the_same(layers: torch.nn.ModuleList) -> None:
    h, bias = torch.randn(2, 6, 32), torch.randn(2, 4, 6, 6)
    found = plain_layers(h, bias, layer_parameters(layers), 4)
    for number, layer in enumerate(layers):
        last = number == 2
        h, _ = layer(h, bias[:, :, :1] if last else bias, centre_only=last)
    assert torch.allclose(found, h[:, 0], atol=1e-5)


def test_rates_drop_and_keep_the_mean(layers: torch.nn.ModuleList) -> None:
    h, bias = torch.randn(400, 6, 32), torch.zeros(400, 4, 6, 6)
    clean = plain_layers(h, bias, layer_parameters(layers), 4)
    for rates in (Rates(hidden=0.2), Rates(attention=0.2)):
        noisy = plain_layers(h, bias, layer_parameters(layers), 4, rates)
        assert (noisy - clean).abs().mean() > 0.01
        assert (noisy - clean).mean().abs() < 0.02


HEADS, WIDTH = 4, 64


def case(length: int, num_layers: int, batch: int = 3) -> tuple[list[Tensor], Tensor, Tensor]:
    """Parameters, tokens and bias; all need gradients."""
    torch.manual_seed(length)
    settings = TransformerSettings(WIDTH, num_layers, HEADS, num_proximity=2)
    parameters = layer_parameters(Transformer(settings).to(DEVICE).layers)  # type: ignore[arg-type]
    for parameter in parameters:  # not the initial zeros and ones: every term must count
        parameter.data += 0.1 * torch.randn_like(parameter)
    h = torch.randn(batch, length, WIDTH, device=DEVICE, requires_grad=True)
    bias = torch.randn(batch, HEADS, 1 if num_layers == 1 else length, length, device=DEVICE)
    masked = torch.rand(batch, 1, 1, length, device=DEVICE) < 0.3
    masked[..., 0] = False
    return parameters, h, bias.masked_fill(masked, -math.inf).requires_grad_()


@needs_triton
def test_few_registers_where_there_are_many_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters, h, bias = case(5, 2)

    def gradients() -> tuple[Tensor, ...]:
        out = fused_layers(h, bias, parameters, HEADS, dtype=torch.bfloat16)
        return torch.autograd.grad(out.sum(), (h, bias, *parameters))

    expected = gradients()
    sizes = layers_passes.Sizes.of(h, bias, parameters, HEADS, torch.bfloat16)
    assert "maxnreg" not in sizes.options("mlp", sizes.rows)
    monkeypatch.setattr(layers_passes, "MANY", 0)
    assert sizes.options("mlp", sizes.rows)["maxnreg"] == layers_passes.FEW_REGISTERS
    assert "maxnreg" not in sizes.options("weights")
    for one, other in zip(gradients(), expected, strict=True):
        assert torch.equal(one, other)  # the order of the sums does not depend on it


@needs_triton
def test_without_gradients_gives_the_same() -> None:
    parameters, h, bias = case(17, 3)
    with torch.no_grad():
        free = fused_layers(h, bias, parameters, HEADS, dtype=torch.float32)
    assert torch.equal(free, fused_layers(h, bias, parameters, HEADS, dtype=torch.float32))


@needs_triton
@pytest.mark.parametrize("rates", [Rates(0.4, 0.0), Rates(0.0, 0.4), Rates(0.3, 0.3)])
def test_dropout_uses_one_mask_forward_and_backward(rates: Rates) -> None:
    """With the seed fixed the function is smooth: its gradient is the slope along any direction."""
    parameters, h, bias = case(9, 2)
    direction = [torch.randn_like(p) for p in parameters]
    upstream = torch.randn(3, WIDTH, device=DEVICE)

    def value(step: float) -> Tensor:
        torch.manual_seed(1)
        moved = [p + step * d for p, d in zip(parameters, direction, strict=True)]
        return (fused_layers(h, bias, moved, HEADS, rates, torch.float32) * upstream).sum()

    grads = torch.autograd.grad(value(0.0), parameters)
    slope = sum((g * d).sum() for g, d in zip(grads, direction, strict=True))
    with torch.no_grad():
        measured = (value(1e-3) - value(-1e-3)) / 2e-3
    assert abs(float(slope - measured)) < 0.02 * max(1.0, abs(float(measured)))


@needs_triton
def test_dropout_drops_its_share_and_changes_from_call_to_call() -> None:
    parameters, h, bias = case(13, 1, batch=16)
    with torch.no_grad():
        clean = fused_layers(h, bias, parameters, HEADS, dtype=torch.float32)
        draws = torch.stack(
            [fused_layers(h, bias, parameters, HEADS, Rates(0.0, 0.5), torch.float32) for _ in range(2)]
        )
    assert not torch.equal(draws[0], draws[1])
    assert (draws.mean() - clean.mean()).abs() < 0.1


@needs_triton
def test_half_precision_is_close() -> None:
    parameters, h, bias = case(17, 3)
    out = fused_layers(h, bias, parameters, HEADS, dtype=HALF)
    expected = plain_layers(h, bias, parameters, HEADS)
    assert (out - expected).norm() / expected.norm() < 2e-2
    upstream = torch.randn_like(out)
    got = torch.autograd.grad(out, parameters, upstream)
    wanted = torch.autograd.grad(expected, parameters, upstream)
    for one, other in zip(got, wanted, strict=True):
        assert (one - other).norm() < 5e-2 * other.norm() + 1e-3
