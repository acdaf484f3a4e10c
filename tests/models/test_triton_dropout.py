"""The recomputed dropout mask: its share, its independence of place, site and seed; where: `triton_cases.py`."""

import pytest
import torch
from torch import Tensor
from triton_cases import DEVICE, tl, triton

from ansgt.models.triton_dropout import dropped, keep_scale

SHAPE = (256, 256)


@triton.jit
def _mask_kernel(out, seed, site, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    number = tl.arange(0, SIZE)
    tl.store(out + number, keep_scale(seed, site, number, 0.5))


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


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_share_overall_by_row_and_by_column(rate: float) -> None:
    hit = mask(rate, 0).double()
    deviation = (rate * (1 - rate)) ** 0.5
    assert abs(float(hit.mean()) - rate) < 4 * deviation / 256
    for shares in (hit.mean(0), hit.mean(1)):
        assert (shares - rate).abs().max() < 5 * deviation / 16
        # as many outliers as chance has: the shares' spread is that of independent draws
        assert float(shares.std()) == pytest.approx(deviation / 16, rel=0.2)


def test_what_is_kept_is_scaled() -> None:
    torch.manual_seed(0)
    x = torch.rand(SHAPE, device=DEVICE) + 1
    out = dropped(x, 0.25)
    assert torch.allclose(out[out != 0], x[out != 0] / 0.75)


def test_masks_of_different_seeds_and_shifted_places_are_uncorrelated() -> None:
    first = mask(0.5, 0).double() - 0.5
    for other in [mask(0.5, seed).double() - 0.5 for seed in (1, 2, 3)]:
        assert abs(float((first * other).mean())) < 4 * 0.25 / 256
    for rows, columns in [(1, 0), (0, 1), (1, 1), (16, 0), (0, 64)]:
        assert abs(float((first * first.roll((rows, columns), (0, 1))).mean())) < 4 * 0.25 / 256
    assert torch.equal(mask(0.5, 0), mask(0.5, 0))
