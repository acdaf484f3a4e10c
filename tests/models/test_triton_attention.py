"""The Triton kernel against the plain path; where: `triton_cases.py`."""

import math

import pytest
import torch
from torch import Tensor
from triton_cases import DEVICE, INTERPRETED

from ansgt.models.attention import MultiHeadAttention, plain_attention
from ansgt.models.triton_attention import short_attention

HEADS, WIDTH = 4, 16


def inputs(length: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    torch.manual_seed(length)
    qkv = torch.randn(3, length, 3 * HEADS * WIDTH, device=DEVICE).to(dtype)
    bias = torch.randn(3, HEADS, length, length, device=DEVICE)
    masked = torch.rand(3, 1, 1, length, device=DEVICE) < 0.3
    masked[..., 0] = False
    return qkv.requires_grad_(), bias.masked_fill(masked, -math.inf).requires_grad_()


def plain(qkv: Tensor, bias: Tensor) -> Tensor:
    parts = (p.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2) for p in qkv.chunk(3, dim=-1))
    return plain_attention(*parts, bias).transpose(1, 2).flatten(2)


@pytest.mark.parametrize("length", [1, 5, 16, 26, 32, 40])
def test_equals_plain_forward_and_backward(length: int) -> None:
    qkv, bias = inputs(length)
    out, expected = short_attention(qkv, bias, HEADS), plain(qkv, bias)
    assert (out - expected).abs().max() < 1e-5
    upstream = torch.randn_like(out)
    for one, other in zip(
        torch.autograd.grad(out, (qkv, bias), upstream),
        torch.autograd.grad(expected, (qkv, bias), upstream),
        strict=True,
    ):
        assert (one - other).abs().max() < 1e-4
    assert (
        torch.autograd.grad(short_attention(qkv, bias, HEADS).sum(), bias)[0][bias == -math.inf] == 0
    ).all()


def test_half_precision_is_close() -> None:
    dtype = torch.float16 if INTERPRETED else torch.bfloat16  # the interpreter's dot cannot do bfloat16
    qkv, bias = inputs(26, dtype)
    out = short_attention(qkv, bias, HEADS)
    assert out.dtype == dtype
    expected = plain(qkv.float(), bias)
    assert (out.float() - expected).norm() / expected.norm() < 1e-2


def test_dropout_has_the_right_mean_and_a_consistent_gradient() -> None:
    """With V = 1 the output is the sum of kept weights / (1 - rate); the gradient of V must use the same mask."""
    qkv, bias = inputs(26)
    value = torch.ones(3, 26, HEADS * WIDTH, device=DEVICE)
    qkv = torch.cat([qkv.detach()[..., : 2 * HEADS * WIDTH], value], dim=-1).requires_grad_()
    out = short_attention(qkv, bias, HEADS, 0.5)
    assert abs(out.mean().item() - 1.0) < 0.05
    assert out.std().item() > 0.05
    (grad,) = torch.autograd.grad(out.sum(), qkv)
    # out is linear in V, so <grad_V, V> = out
    assert torch.allclose((grad[..., 2 * HEADS * WIDTH :] * value).sum(), out.sum(), rtol=1e-4)
    torch.manual_seed(5)
    again = [short_attention(qkv, bias, HEADS, 0.5) for _ in range(2)]
    assert not torch.equal(*again)


def test_module_agrees_with_plain() -> None:
    bias = inputs(9)[1]
    results = []
    for kernel in ("plain", "triton"):
        torch.manual_seed(1)
        layer = MultiHeadAttention(HEADS * WIDTH, HEADS, attention=kernel).to(DEVICE)
        h = torch.randn(3, 9, HEADS * WIDTH, device=DEVICE, requires_grad=True)
        out, s = layer(h, bias, significance=True)
        results.append((out, s, *torch.autograd.grad(out.square().sum(), (h, *layer.parameters()))))
    for one, other in zip(*results, strict=True):
        assert (one - other).abs().max() < 1e-4 * max(1.0, one.abs().max().item())
