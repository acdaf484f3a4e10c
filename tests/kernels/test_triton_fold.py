"""Sums over the first dimension, of fewer and of more pieces than are added at a time."""

import pytest
import torch
from cases import DEVICE, needs_triton

from ansgt.kernels.choose import HAS_TRITON

if HAS_TRITON:
    from ansgt.kernels.triton_fold import folded


@needs_triton
@pytest.mark.parametrize("count", [1, 3, 32, 33, 100])
def test_every_piece_is_counted_once(count: int) -> None:
    pieces = torch.randn(count, 7, 11, generator=torch.Generator().manual_seed(count)).to(DEVICE)
    assert torch.allclose(folded(pieces), pieces.sum(dim=0), atol=1e-5)
    assert torch.equal(folded(pieces), folded(pieces))
