"""The CPU dropout is dropout: right rate, right scale, right gradient, seeded by torch."""

import pytest
import torch

from ansgt.models.baselines.encode import feature_dropout
from ansgt.models.dropout import Dropout, dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_rate_and_scale(rate: float) -> None:
    torch.manual_seed(0)
    out = dropout(torch.ones(400, 1001), rate)
    assert (out == 0).float().mean().item() == pytest.approx(rate, abs=5e-3)
    assert out.mean().item() == pytest.approx(1.0, abs=2e-2)
    assert out[out > 0].unique().numel() == 1


def test_neighbours_are_independent() -> None:
    """Four elements share one draw, so their correlation is what could go wrong."""
    torch.manual_seed(0)
    kept = (dropout(torch.ones(200_000, 4), 0.5) > 0).double()
    assert torch.corrcoef(kept.T).fill_diagonal_(0).abs().max() < 0.01


def test_gradient_is_the_mask() -> None:
    x = torch.randn(7, 5, requires_grad=True)
    out = dropout(x, 0.5)
    out.sum().backward()
    assert torch.allclose(out, x * x.grad)


def test_seed_and_eval() -> None:
    x = torch.ones(33)
    layer = Dropout(0.4)
    draws = [(torch.manual_seed(3), layer(x))[1] for _ in range(2)]
    assert torch.equal(*draws)
    assert layer.eval()(x) is x
    assert dropout(x, 0.0) is x


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_keeps_dtype(dtype: torch.dtype) -> None:
    assert dropout(torch.ones(5, dtype=dtype), 0.5).dtype == dtype


@pytest.mark.parametrize("sparse", [False, True])
def test_kept_columns_are_never_dropped(sparse: bool) -> None:
    torch.manual_seed(0)
    x = torch.rand(50, 30) * (torch.rand(50, 30) < 0.5)
    out = feature_dropout(x.to_sparse_csr() if sparse else x, 0.7, True, num_kept=4)
    dense = out.to_dense() if sparse else out
    assert torch.equal(dense[:, 26:], x[:, 26:])
    assert (dense[:, :26] == 0).sum() > (x[:, :26] == 0).sum() + 300
