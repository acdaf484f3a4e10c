"""The Triton kernels of full attention against the dense formula; where: `triton_cases.py`."""

import importlib

import pytest
import torch
from baseline_cases import build
from torch import Tensor
from triton_cases import DEVICE, INTERPRETED

from ansgt.models.baselines.triton_pairs import pair_attention
from ansgt.testing import random_graph


def dense(query: Tensor, key: Tensor, value: Tensor, table: Tensor, code: Tensor) -> Tensor:
    logits = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5 + table[:, code.long()]
    return torch.nan_to_num(logits.softmax(dim=-1)) @ value


def case(num_nodes: int, heads: int, width: int, bins: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    qkv = [torch.randn(heads, num_nodes, width, generator=generator) for _ in range(3)]
    table = torch.randn(heads, bins, generator=generator)
    code = torch.randint(0, bins, (num_nodes, num_nodes), generator=generator, dtype=torch.uint8)
    return [t.to(DEVICE) for t in (*qkv, table, code)]


@pytest.mark.parametrize(
    ("num_nodes", "heads", "width", "bins"), [(5, 1, 16, 2), (64, 2, 16, 7), (150, 2, 32, 22)]
)
def test_values_and_gradients(num_nodes: int, heads: int, width: int, bins: int) -> None:
    *learned, code = case(num_nodes, heads, width, bins)
    learned = [t.requires_grad_() for t in learned]
    upstream = torch.randn(heads, num_nodes, width, device=DEVICE)
    expected = dense(*learned, code)
    found = pair_attention(*learned, code, "ieee")
    assert torch.allclose(found, expected, atol=1e-5)
    for one, other in zip(
        torch.autograd.grad(found, learned, upstream),
        torch.autograd.grad(expected, learned, upstream),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-4)


def test_forbidden_kinds_and_rows_without_any_pair() -> None:
    query, key, value, _, _ = case(70, 2, 16, 2)
    table = torch.tensor([[0.0, -torch.inf]] * 2, device=DEVICE)
    code = (torch.rand(70, 70, device=DEVICE) < 0.5).to(torch.uint8)
    code[3] = 1
    learned = [t.requires_grad_() for t in (query, key, value)]
    found = pair_attention(*learned, table, code, "ieee")
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


def test_codes_beyond_the_table_count_as_the_last() -> None:
    *given, code = case(20, 1, 16, 4)
    wide = torch.where(code == 3, torch.full_like(code, 200), code)
    assert torch.equal(pair_attention(*given, wide, "ieee"), pair_attention(*given, code, "ieee"))


@pytest.mark.parametrize("name", ["san", "graphormer"])
def test_a_model_with_and_without_the_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"gamma": 0.3} if name == "san" else {}
    model, inputs = build(
        name, random_graph(70, num_features=10), hidden_channels=64, heads=4, fused=True, **more
    )
    model.to(DEVICE)
    inputs = {key: value.to(DEVICE) for key, value in inputs.items()}
    results = []
    for fused in (False, True):
        module = importlib.import_module(f"ansgt.models.baselines.{name}")
        monkeypatch.setattr(module, "is_fused", lambda query, dropout, fused=fused: fused)
        logits = model(inputs)
        gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()))
        results.append([logits, *gradients])
    for one, other in zip(*results, strict=True):
        scale = float(one.abs().max()) + 1e-6
        assert torch.allclose(one, other, atol=(1e-4 if INTERPRETED else 2e-2) * scale)
