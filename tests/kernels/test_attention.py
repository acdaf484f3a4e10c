"""Plain attention against an independent computation, head by head and token by token; what is particular to its twin."""

import math

import pytest
import torch
import torch.nn.functional as F
from cases import DEVICE, HALF, needs_triton
from torch import Tensor

from ansgt.kernels.attention import attention_weights, plain_attention, self_attention, short_attention
from ansgt.kernels.choose import Kernel
from ansgt.models.attention import key_bias


def reference(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """The definition in float64, one head and one query at a time; masked keys are left out, not weighted 0."""
    out = torch.zeros(query.shape, dtype=torch.float64)
    for b, h, i in torch.cartesian_prod(*(torch.arange(n) for n in query.shape[:3])).tolist():
        real = bias[b, h, i] > -math.inf
        q, k, v = query[b, h, i].double(), key[b, h, real].double(), value[b, h, real].double()
        scores = (k * q).sum(-1) / math.sqrt(len(q)) + bias[b, h, i, real].double()
        weights = (scores - scores.max()).exp()
        out[b, h, i] = (weights / weights.sum()) @ v
    return out


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 3, 4, 9, 8).unbind()
    mask = torch.rand(3, 9) < 0.7
    mask[:, 0] = True
    bias = torch.randn(3, 4, 9, 9) + key_bias(mask, torch.rand(3, 9))[:, None, None, :]
    return query, key, value, bias


def test_plain_equals_reference_and_sdpa(inputs: tuple[Tensor, ...]) -> None:
    expected = reference(*inputs)
    assert (plain_attention(*inputs) - expected).abs().max() < 1e-5
    assert (F.scaled_dot_product_attention(*inputs) - expected).abs().max() < 1e-5


def test_masked_keys_get_weight_exactly_zero(inputs: tuple[Tensor, ...]) -> None:
    query, key, _, bias = inputs
    weights = attention_weights(query, key, bias)
    assert (weights[bias == -math.inf] == 0).all()
    assert torch.allclose(weights.sum(-1), torch.ones(3, 4, 9))


@pytest.mark.parametrize("kernel", ["auto", "plain", "sdpa"])
def test_self_attention_is_plain_attention_per_head(kernel: Kernel, inputs: tuple[Tensor, ...]) -> None:
    query, key, value, bias = inputs
    qkv = torch.cat([part.transpose(1, 2).flatten(2) for part in (query, key, value)], dim=-1)
    expected = plain_attention(query, key, value, bias).transpose(1, 2).flatten(2)
    assert (self_attention(qkv, bias, 4, kernel=kernel) - expected).abs().max() < 1e-6


HEADS, WIDTH = 4, 16


def on_device(length: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    torch.manual_seed(length)
    qkv = torch.randn(3, length, 3 * HEADS * WIDTH, device=DEVICE).to(dtype)
    bias = torch.randn(3, HEADS, length, length, device=DEVICE)
    masked = torch.rand(3, 1, 1, length, device=DEVICE) < 0.3
    masked[..., 0] = False
    return qkv.requires_grad_(), bias.masked_fill(masked, -math.inf).requires_grad_()


@needs_triton
def test_masked_keys_have_no_gradient() -> None:
    qkv, bias = on_device(16)
    (grad,) = torch.autograd.grad(short_attention(qkv, bias, HEADS).sum(), bias)
    assert (grad[bias == -math.inf] == 0).all()


@needs_triton
def test_half_precision_is_close() -> None:
    qkv, bias = on_device(26, HALF)
    out = short_attention(qkv, bias, HEADS)
    assert out.dtype == HALF
    expected = self_attention(qkv.float(), bias, HEADS, kernel="plain")
    assert (out.float() - expected).norm() / expected.norm() < 1e-2


@needs_triton
def test_dropout_has_the_right_mean_and_a_consistent_gradient() -> None:
    """With V = 1 the output is the sum of kept weights / (1 - rate); the gradient of V must use the same mask."""
    qkv, bias = on_device(26)
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
