"""Dropout: rate, scale and gradient, as a function and as a module; the twin's mask depends on its seed alone."""

import pytest
import torch
from cases import DEVICE, needs_triton
from torch import Tensor

from ansgt.kernels.dropout import Dropout, dropout, dropped, input_dropout, keep_scale
from ansgt.kernels.language import tl, triton
from ansgt.models.baselines.layers import feature_dropout


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
    draws = [(torch.manual_seed(3), dropout(x, 0.4))[1] for _ in range(2)]
    assert torch.equal(*draws)
    assert dropout(x, 0.4, training=False) is x
    assert dropout(x, 0.0) is x


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_keeps_dtype(dtype: torch.dtype) -> None:
    assert dropout(torch.ones(5, dtype=dtype), 0.5).dtype == dtype


def test_inputs_are_dropped_by_the_same_draws_on_a_cpu() -> None:
    draws = []
    for function in (dropout, input_dropout):
        torch.manual_seed(0)
        draws.append(function(torch.rand(50, 7), 0.3))
    assert torch.equal(*draws)


def test_a_module_drops_in_training_alone() -> None:
    x = torch.ones(33)
    layer = Dropout(0.4)
    assert 0 < int((layer(x) == 0).sum()) < 33
    assert layer.eval()(x) is x


@pytest.mark.parametrize("sparse", [False, True])
def test_kept_columns_are_never_dropped(sparse: bool) -> None:
    torch.manual_seed(0)
    x = torch.rand(50, 30) * (torch.rand(50, 30) < 0.5)
    out = feature_dropout(x.to_sparse_csr() if sparse else x, 0.7, True, num_kept=4)
    dense = out.to_dense() if sparse else out
    assert torch.equal(dense[:, 26:], x[:, 26:])
    assert (dense[:, :26] == 0).sum() > (x[:, :26] == 0).sum() + 300


SHAPE = (256, 256)


@triton.jit
def _mask_kernel(out, seed, site, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    number = tl.arange(0, SIZE)
    tl.store(out + number, keep_scale(seed, site, number, 0.5))


@needs_triton
def test_sites_of_one_step_are_uncorrelated() -> None:
    seed = torch.tensor([123456789012345], device=DEVICE)
    masks = torch.empty(9, 4096, device=DEVICE)
    for site, out in enumerate(masks):
        _mask_kernel[(1,)](out, seed, site, SIZE=4096)
    between = (masks - 1) @ (masks - 1).T / 4096
    assert (between - torch.eye(9, device=DEVICE)).abs().max() < 5 / 64


def mask(rate: float, seed: int) -> Tensor:
    torch.manual_seed(seed)
    return dropped(torch.ones(SHAPE, device=DEVICE), rate) == 0


@needs_triton
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_share_overall_by_row_and_by_column(rate: float) -> None:
    hit = mask(rate, 0).double()
    deviation = (rate * (1 - rate)) ** 0.5
    assert abs(float(hit.mean()) - rate) < 4 * deviation / 256
    for shares in (hit.mean(0), hit.mean(1)):
        assert (shares - rate).abs().max() < 5 * deviation / 16
        # as many outliers as chance has: the shares' spread is that of independent draws
        assert float(shares.std()) == pytest.approx(deviation / 16, rel=0.2)


@needs_triton
def test_what_is_kept_is_scaled() -> None:
    torch.manual_seed(0)
    x = torch.rand(SHAPE, device=DEVICE) + 1
    out = dropped(x, 0.25)
    assert torch.allclose(out[out != 0], x[out != 0] / 0.75)


@needs_triton
def test_masks_of_different_seeds_and_shifted_places_are_uncorrelated() -> None:
    first = mask(0.5, 0).double() - 0.5
    for other in [mask(0.5, seed).double() - 0.5 for seed in (1, 2, 3)]:
        assert abs(float((first * other).mean())) < 4 * 0.25 / 256
    for rows, columns in [(1, 0), (0, 1), (1, 1), (16, 0), (0, 64)]:
        assert abs(float((first * first.roll((rows, columns), (0, 1))).mean())) < 4 * 0.25 / 256
    assert torch.equal(mask(0.5, 0), mask(0.5, 0))
