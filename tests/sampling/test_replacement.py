import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.sampling.counter import sequence_keys, stream
from ansgt.sampling.replacement import _merged, _numba, draw_with_replacement


@given(
    batch=st.integers(1, 5),
    width=st.integers(1, 30),
    draws=st.integers(1, 25),
    merge=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=50)
def test_twins_draw_the_same(batch: int, width: int, draws: int, merge: bool, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, width + 1, (batch,), generator=generator)
    psi = torch.rand(batch, width, dtype=torch.float64, generator=generator) ** 4
    psi *= torch.arange(width) < lengths[:, None]
    keys = sequence_keys(stream(seed), torch.arange(batch), 3)
    one = draw_with_replacement(psi, lengths, keys, draws, merge)
    two = _numba(psi, lengths, keys, draws, merge)
    assert torch.equal(one.position, two.position)
    assert torch.equal(one.count, two.count)


def test_merge_by_hand() -> None:
    merged = _merged(torch.tensor([[5, 2, 5, 5], [-1, -1, -1, -1], [1, 2, 3, 4]]))
    assert merged.position.tolist() == [[2, 5, -1, -1], [-1, -1, -1, -1], [1, 2, 3, 4]]
    assert merged.count.tolist() == [[1, 3, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]


@pytest.mark.parametrize("merge", [False, True])
def test_large_work_goes_to_the_kernel(merge: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    psi, lengths = torch.rand(3, 8, dtype=torch.float64), torch.tensor([8, 8, 8])
    keys = sequence_keys(stream(0), torch.arange(3), 2)
    plain = draw_with_replacement(psi, lengths, keys, 5, merge)
    monkeypatch.setattr("ansgt.sampling.replacement._JIT_PAYS", 0)
    fast = draw_with_replacement(psi, lengths, keys, 5, merge)
    assert torch.equal(plain.position, fast.position)
