"""The fused layers against the layers themselves; where: `triton_cases.py`."""

import math

import pytest
import torch
from torch import Tensor
from triton_cases import DEVICE, INTERPRETED

from ansgt.errors import InputError
from ansgt.models import triton_passes
from ansgt.models.transformer import Transformer, layer_parameters
from ansgt.models.triton_stack import fused_layers

HEADS, WIDTH = 4, 64


def case(
    length: int, num_layers: int, multiplier: float = 2.0, batch: int = 3, width: int = WIDTH
) -> tuple[Transformer, Tensor, Tensor]:
    torch.manual_seed(length)
    net = Transformer(width, num_layers, HEADS, 2, ffn_multiplier=multiplier, attention="plain").to(DEVICE)
    for parameter in net.parameters():  # not the initial zeros and ones: every term must count
        parameter.data += 0.1 * torch.randn_like(parameter)
    h = torch.randn(batch, length, width, device=DEVICE, requires_grad=True)
    bias = torch.randn(batch, HEADS, 1 if num_layers == 1 else length, length, device=DEVICE)
    masked = torch.rand(batch, 1, 1, length, device=DEVICE) < 0.3
    masked[..., 0] = False
    return net, h, bias.masked_fill(masked, -math.inf).requires_grad_()


def plain(net: Transformer, h: Tensor, bias: Tensor) -> Tensor:
    for number, layer in enumerate(net.layers):
        last = number == len(net.layers) - 1
        h, _ = layer(h, bias[:, :, :1] if last else bias, centre_only=last)
    return h[:, 0]


@pytest.mark.parametrize(
    ("length", "num_layers", "width", "multiplier"),
    [
        (1, 1, 64, 1.0),
        (13, 1, 64, 2.0),
        (13, 1, 256, 2.0),
        (5, 2, 128, 2.0),
        (17, 3, 64, 1.0),
        (40, 2, 64, 3.0),
    ],
)
def test_equals_the_layers_forward_and_backward(
    length: int, num_layers: int, width: int, multiplier: float
) -> None:
    net, h, bias = case(length, num_layers, multiplier, width=width)
    parameters = layer_parameters(net.layers)
    out = fused_layers(h, bias, parameters, HEADS, dtype=torch.float32)
    expected = plain(net, h, bias)
    assert (out - expected).abs().max() < 1e-4
    upstream = torch.randn_like(out)
    wanted = torch.autograd.grad(expected, (h, bias, *parameters), upstream)
    got = torch.autograd.grad(out, (h, bias, *parameters), upstream)
    for number, (one, other) in enumerate(zip(got, wanted, strict=True)):
        assert one.shape == other.shape
        scale = other.abs().max().clamp(min=1.0)
        assert (one - other).abs().max() / scale < 1e-4, f"argument {number}"


def test_few_registers_where_there_are_many_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    net, h, bias = case(5, 2)
    parameters = layer_parameters(net.layers)

    def gradients() -> tuple[Tensor, ...]:
        out = fused_layers(h, bias, parameters, HEADS, dtype=torch.bfloat16)
        return torch.autograd.grad(out.sum(), (h, bias, *parameters))

    expected = gradients()
    sizes = triton_passes.Sizes.of(h, bias, parameters, HEADS, torch.bfloat16)
    assert "maxnreg" not in sizes.options("mlp", sizes.rows)
    monkeypatch.setattr(triton_passes, "MANY", 0)
    assert sizes.options("mlp", sizes.rows)["maxnreg"] == triton_passes.FEW_REGISTERS
    assert "maxnreg" not in sizes.options("weights")
    for one, other in zip(gradients(), expected, strict=True):
        assert torch.equal(one, other)  # the order of the sums does not depend on it


def test_without_gradients_gives_the_same() -> None:
    net, h, bias = case(17, 3)
    parameters = layer_parameters(net.layers)
    with torch.no_grad():
        free = fused_layers(h, bias, parameters, HEADS, dtype=torch.float32)
    assert torch.equal(free, fused_layers(h, bias, parameters, HEADS, dtype=torch.float32))


@pytest.mark.parametrize("rates", [(0.4, 0.0), (0.0, 0.4), (0.3, 0.3)])
def test_dropout_uses_one_mask_forward_and_backward(rates: tuple[float, float]) -> None:
    """With the seed fixed the function is smooth: its gradient is the slope along any direction."""
    net, h, bias = case(9, 2)
    parameters = [p.detach().clone().requires_grad_() for p in layer_parameters(net.layers)]
    direction = [torch.randn_like(p) for p in parameters]
    upstream = torch.randn(3, WIDTH, device=DEVICE)

    def value(step: float) -> Tensor:
        torch.manual_seed(1)
        moved = [p + step * d for p, d in zip(parameters, direction, strict=True)]
        return (fused_layers(h, bias, moved, HEADS, *rates, dtype=torch.float32) * upstream).sum()

    grads = torch.autograd.grad(value(0.0), parameters)
    slope = sum((g * d).sum() for g, d in zip(grads, direction, strict=True))
    with torch.no_grad():
        measured = (value(1e-3) - value(-1e-3)) / 2e-3
    assert abs(float(slope - measured)) < 0.02 * max(1.0, abs(float(measured)))


def test_dropout_drops_its_share_and_changes_from_call_to_call() -> None:
    net, h, bias = case(13, 1, batch=16)
    parameters = layer_parameters(net.layers)
    with torch.no_grad():
        clean = fused_layers(h, bias, parameters, HEADS, dtype=torch.float32)
        draws = torch.stack(
            [fused_layers(h, bias, parameters, HEADS, 0.0, 0.5, dtype=torch.float32) for _ in range(2)]
        )
    assert not torch.equal(draws[0], draws[1])
    assert (draws.mean() - clean.mean()).abs() < 0.1


def test_half_precision_is_close() -> None:
    dtype = torch.float16 if INTERPRETED else torch.bfloat16  # the interpreter's dot cannot do bfloat16
    net, h, bias = case(17, 3)
    parameters = layer_parameters(net.layers)
    out, expected = fused_layers(h, bias, parameters, HEADS, dtype=dtype), plain(net, h, bias)
    assert (out - expected).norm() / expected.norm() < 2e-2
    upstream = torch.randn_like(out)
    got = torch.autograd.grad(out, parameters, upstream)
    wanted = torch.autograd.grad(expected, parameters, upstream)
    for one, other in zip(got, wanted, strict=True):
        assert (one - other).norm() < 5e-2 * other.norm() + 1e-3


def test_the_model_takes_the_fused_layers_and_agrees() -> None:
    torch.manual_seed(0)
    nets = [
        Transformer(WIDTH, 2, HEADS, 3, num_global=1, attention=kind).to(DEVICE)
        for kind in ("plain", "fused")
    ]
    nets[1].load_state_dict(nets[0].state_dict())
    h = torch.randn(4, 7, WIDTH, device=DEVICE)
    proximity, keys = torch.rand(4, 7, 7, 3, device=DEVICE), torch.zeros(4, 7, device=DEVICE)
    plainly, fused = (net(h, proximity, keys)[0] for net in nets)
    assert (plainly - fused).abs().max() < 1e-4
    upstream = torch.randn_like(fused)  # not the squares' sum: a LayerNorm keeps that constant
    for out in (plainly, fused):
        (out * upstream).sum().backward()
    for (name, one), other in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        assert (one.grad - other.grad).abs().max() < 1e-3, name  # type: ignore[operator]


def test_compiled_agrees_with_eager() -> None:
    torch.manual_seed(0)
    net = Transformer(WIDTH, 2, HEADS, 3, num_global=1, attention="fused").to(DEVICE)
    h = torch.randn(4, 7, WIDTH, device=DEVICE, requires_grad=True)
    proximity, keys = torch.rand(4, 7, 7, 3, device=DEVICE), torch.zeros(4, 7, device=DEVICE)

    upstream = torch.randn(4, WIDTH, device=DEVICE)

    def loss() -> Tensor:
        return (net(h, proximity, keys)[0] * upstream).sum()

    inputs = (h, *net.parameters())
    eager, compiled = (
        loss(),
        torch.compile(loss, dynamic=False, backend="aot_eager" if INTERPRETED else "inductor")(),
    )
    assert torch.allclose(eager, compiled, rtol=1e-4, atol=1e-4)
    wanted = torch.autograd.grad(eager, inputs)
    assert all(grad.abs().max() > 1e-2 for grad in wanted)
    for one, other in zip(torch.autograd.grad(compiled, inputs), wanted, strict=True):
        assert (one - other).abs().max() < 1e-3


@pytest.mark.parametrize(
    "wrong", [{"hidden_channels": 48}, {"per_layer_bias": True}, {"ffn_multiplier": 0.5}]
)
def test_what_does_not_fit_is_refused_by_name(wrong: dict[str, float]) -> None:
    fitting = {"hidden_channels": 64, "num_layers": 2, "num_heads": 2, "num_proximity": 1}
    net = Transformer(**fitting | wrong, attention="fused").to(DEVICE)  # type: ignore[arg-type]
    width = int(wrong.get("hidden_channels", 64))
    h, proximity, keys = (
        torch.zeros(shape, device=DEVICE) for shape in ((1, 3, width), (1, 3, 3, 1), (1, 3))
    )
    with pytest.raises(InputError, match="attention='fused'"):
        net(h, proximity, keys)
