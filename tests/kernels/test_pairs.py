"""Attention of all pairs block by block against the dense formula, and the gradient of its bias; its twin."""

import pytest
import torch
from cases import DEVICE, needs_triton
from torch import Tensor

from ansgt.kernels import pairs


@pytest.mark.parametrize("block_bytes", [pairs.BLOCK_BYTES, 4 * 2 * 30 * 7])
def test_equals_the_dense_formula(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(pairs, "BLOCK_BYTES", block_bytes)
    torch.manual_seed(0)
    learned = [torch.randn(2, 30, 8, requires_grad=True) for _ in range(3)]
    learned.append(torch.randn(2, 5, requires_grad=True))
    query, key, value, table = learned
    code = torch.randint(0, 5, (30, 30), dtype=torch.uint8)
    logits = query @ key.transpose(1, 2) / 8**0.5 + table[:, code.long()]
    expected = logits.softmax(dim=-1) @ value
    found = pairs.pair_attention(query, key, value, table, code)
    assert torch.allclose(found, expected, atol=1e-5)
    upstream = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad(found, learned, upstream),
        torch.autograd.grad(expected, learned, upstream),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-4)


def test_the_gradient_of_a_looked_up_bias_is_a_histogram() -> None:
    table = torch.randn(2, 3, requires_grad=True)
    code = torch.tensor([[0, 2, 2], [0, 0, 2]], dtype=torch.uint8)
    (grad,) = torch.autograd.grad(pairs.PairBias.apply(table, code).sum(), table)
    assert torch.equal(grad, torch.tensor([[3.0, 0.0, 3.0]] * 2))


def test_memory_grows_with_the_nodes_and_not_with_their_square() -> None:
    small, large = (
        pairs.attention_bytes(n, heads=4, hidden_channels=64, num_layers=2) for n in (10_000, 80_000)
    )
    assert large < 8 * small


def dense(query: Tensor, key: Tensor, value: Tensor, table: Tensor, code: Tensor) -> Tensor:
    logits = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5 + table[:, code.long()]
    return torch.nan_to_num(logits.softmax(dim=-1)) @ value


def case(num_nodes: int, heads: int, width: int, bins: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    qkv = [torch.randn(heads, num_nodes, width, generator=generator) for _ in range(3)]
    table = torch.randn(heads, bins, generator=generator)
    code = torch.randint(0, bins, (num_nodes, num_nodes), generator=generator, dtype=torch.uint8)
    return [t.to(DEVICE) for t in (*qkv, table, code)]


@needs_triton
def test_forbidden_kinds_and_rows_without_any_pair() -> None:
    query, key, value, _, _ = case(70, 2, 16, 2)
    table = torch.tensor([[0.0, -torch.inf]] * 2, device=DEVICE)
    code = (torch.rand(70, 70, device=DEVICE) < 0.5).to(torch.uint8)
    code[3] = 1
    learned = [t.requires_grad_() for t in (query, key, value)]
    found = pairs.triton_pair_attention(*learned, table, code, "ieee")
    expected = dense(*learned, table, code)
    assert torch.allclose(found, expected, atol=1e-5)
    assert not found[:, 3].any()
    kept = torch.ones(70, dtype=torch.bool, device=DEVICE)
    kept[3] = False
    one = torch.autograd.grad(found[:, kept].square().sum(), learned)
    code[3, 3] = 0  # the dense softmax of nothing has no gradient; that row is not in the loss
    other = torch.autograd.grad(dense(*learned, table, code)[:, kept].square().sum(), learned)
    for left, right in zip(one, other, strict=True):
        assert torch.allclose(left, right, atol=1e-4)


@needs_triton
def test_codes_beyond_the_table_count_as_the_last() -> None:
    *given, code = case(20, 1, 16, 4)
    wide = torch.where(code == 3, torch.full_like(code, 200), code)
    assert torch.equal(
        pairs.triton_pair_attention(*given, wide, "ieee"), pairs.triton_pair_attention(*given, code, "ieee")
    )
