"""Draws and masks are those of torch, bit for bit, and torch goes on from there."""

import pytest
import torch

from ansgt.kernels import dropout, twister
from ansgt.kernels.dropout import Places, _keep_scale


@pytest.mark.parametrize("number", [0, 1, 5, 311, 312, 313, 625, 40_000])
@pytest.mark.parametrize("before", [0, 1, 623])
def test_numbers_and_what_follows_are_torchs(number: int, before: int) -> None:
    ours, theirs = (torch.Generator().manual_seed(number) for _ in range(2))
    for one in (ours, theirs):
        torch.rand(before, generator=one)
    drawn = torch.empty(number, dtype=torch.int64).random_(-(2**63), None, generator=theirs)
    assert torch.equal(torch.from_numpy(twister.int64s(number, ours)), drawn)
    assert torch.equal(torch.rand(7, generator=ours), torch.rand(7, generator=theirs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("places", [Places(), Places(slice(2, 5), 9), Places(torch.tensor([8, 0, 3]), 9)])
def test_masks_are_the_plain_ones(
    dtype: torch.dtype, rate: float, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.ones(3, 4001, dtype=dtype)
    masks, after = [], []
    for least in (1, 1 << 40):
        monkeypatch.setattr(dropout, "_TWISTER_PAYS", least)
        torch.manual_seed(3)
        masks.append(_keep_scale(x, rate, places))
        after.append(torch.rand(1))
    assert masks[0].dtype == masks[1].dtype == dtype
    assert torch.equal(*masks)
    assert torch.equal(*after)
    kept = float((masks[0] > 0).float().mean())
    assert kept == pytest.approx(1 - rate, abs=0.02)


def test_another_layout_of_the_state_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert twister.follows_torch()
    monkeypatch.setattr(twister, "_NEXT", slice(8, 16))
    twister._follows.cache_clear()
    assert not twister.follows_torch()
    twister._follows.cache_clear()
