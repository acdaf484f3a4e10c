"""Sums over the first dimension, of fewer and of more pieces than are added at a time; stand-ins where triton is absent."""

import pytest
import torch
from cases import DEVICE, needs_triton

from ansgt.kernels.language import Absent, folded


@needs_triton
@pytest.mark.parametrize("count", [1, 3, 32, 33, 100])
def test_every_piece_is_counted_once(count: int) -> None:
    pieces = torch.randn(count, 7, 11, generator=torch.Generator().manual_seed(count)).to(DEVICE)
    assert torch.allclose(folded(pieces), pieces.sum(dim=0), atol=1e-5)
    assert torch.equal(folded(pieces), folded(pieces))


def test_a_stand_in_decorates_annotates_and_wraps() -> None:
    """What a file with kernels does when it is read."""
    tl = triton = Absent()

    @triton.jit
    def kernel(x: tl.constexpr) -> str:  # type: ignore[valid-type]
        return "as it is"

    assert kernel(1) == "as it is"
    assert tl.constexpr(3) == 3
