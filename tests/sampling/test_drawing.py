import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.sampling import drawing
from ansgt.sampling.drawing import (
    _draw_numba,
    _merged,
    draw_with_replacement,
    hash_tensor,
    race,
    race_torch,
    sequence_keys,
    stream,
    uniform,
    uniform_scalar,
)


def test_splitmix64_reference_values() -> None:
    """The first outputs of SplitMix64 seeded with 1234567, as published with the generator."""
    got = hash_tensor(1234567, torch.arange(5)).numpy().view(np.uint64).tolist()
    assert got == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("seed", [1234567, 0, -3, (1 << 63) + 1])
def test_keys_are_hashed_step_by_step(seed: int) -> None:
    """Every coordinate is a counter under the key so far; a seed is one under the key 0."""
    wrapped = torch.tensor(np.array([seed % 2**64], dtype=np.uint64).view(np.int64))
    key = hash_tensor(wrapped, torch.tensor(0))
    assert stream(seed) == int(key)
    for length, coordinate in enumerate((5, 0, 7), 1):
        key = hash_tensor(key, torch.tensor(coordinate))
        assert stream(seed, *(5, 0, 7)[:length]) == int(key)


def test_uniform_twins_agree_bit_for_bit() -> None:
    keys = hash_tensor(stream(3, 1), torch.arange(200))
    counters = torch.arange(50)
    vector = uniform(keys[:, None], counters).numpy()
    unsigned = keys.numpy().view(np.uint64)
    scalar = [[uniform_scalar(k, np.uint64(c)) for c in range(50)] for k in unsigned]
    np.testing.assert_array_equal(vector, np.array(scalar))


def test_uniform_is_uniform() -> None:
    u = uniform(stream(0), torch.arange(200_000)).numpy()
    assert 0 < u.min() < u.max() < 1
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 99 + 4 * np.sqrt(2 * 99)
    pairs = np.corrcoef(u[:-1], u[1:])[0, 1]
    assert abs(pairs) < 4 / np.sqrt(len(u))


def test_keys_depend_on_every_coordinate() -> None:
    keys = [stream(0), stream(1), stream(0, 0), stream(0, 1), stream(1, 0), stream(0, 0, 1), stream(0, 1, 0)]
    assert len(set(keys)) == len(keys)
    table = sequence_keys(stream(0), torch.arange(1000), 16)
    assert len(torch.unique(table)) == 16_000
    assert torch.equal(sequence_keys(stream(0), torch.tensor([7, 999]), 4), table[[7, 999], :4])


def test_huge_seed() -> None:
    assert -(1 << 63) <= stream((1 << 70) + 5, 3) < 1 << 63


@given(
    batch=st.integers(1, 5),
    width=st.integers(1, 30),
    winners=st.integers(0, 12),
    zeros=st.floats(0, 1),
    seed=st.integers(0, 100),
)
@settings(deadline=None, max_examples=50)
def test_race_twins_draw_the_same(batch: int, width: int, winners: int, zeros: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random((batch, width)) ** 4 * (rng.random((batch, width)) > zeros)
    ids = torch.from_numpy(rng.permutation(1000)[:width]).expand(batch, width)
    keys = sequence_keys(stream(seed), torch.arange(batch), 3)
    one = race(torch.from_numpy(weights), ids, keys, winners)
    two = race_torch(torch.from_numpy(weights), ids, keys, winners)
    assert torch.equal(one.position, two.position)
    np.testing.assert_allclose(one.tau, two.tau, rtol=1e-12)


def test_loops_of_the_race_stay_within_their_arrays(uncompiled: Callable[[Callable[[], Any]], Any]) -> None:
    weights = torch.rand(4, 30, dtype=torch.float64) * (torch.rand(4, 30) > 0.3)
    ids, keys = torch.arange(30).expand(4, 30), sequence_keys(stream(1), torch.arange(4), 3)
    for winners in (1, 6, 30, 40):
        one, two = (
            uncompiled(lambda n=winners: race(weights, ids, keys, n)),
            race_torch(weights, ids, keys, winners),
        )
        assert torch.equal(one.position, two.position)


def test_layout_of_the_row_does_not_matter() -> None:
    weights = torch.rand(1, 20, dtype=torch.float64)
    ids = torch.arange(20)[None]
    keys = sequence_keys(stream(0), torch.tensor([5]), 8)
    order = torch.randperm(20)
    plain = race(weights, ids, keys, 6)
    shuffled = race(weights[:, order], ids[:, order], keys, 6)
    assert torch.equal(order[shuffled.position], plain.position)
    assert torch.equal(shuffled.tau, plain.tau)


def test_distribution_is_successive_sampling() -> None:
    """P(ordered draw) = product of psi_i over what is left: exact probabilities of all 24 orders of 2 of... 4 of 4."""
    psi = torch.tensor([[0.5, 0.3, 0.15, 0.05]], dtype=torch.float64)
    draws = 40_000
    keys = sequence_keys(stream(1), torch.tensor([0]), draws)
    drawn = race(psi, torch.arange(4)[None], keys, 2).position[0].numpy()
    counts = dict.fromkeys(itertools.permutations(range(4), 2), 0)
    for pair in map(tuple, drawn.tolist()):
        counts[pair] += 1
    p = psi[0].numpy()
    expected = {(i, j): draws * p[i] * p[j] / (1 - p[i]) for i, j in counts}
    chi_square = sum((counts[c] - expected[c]) ** 2 / expected[c] for c in counts)
    assert chi_square < 11 + 4 * np.sqrt(22)


@given(
    batch=st.integers(1, 5),
    width=st.integers(1, 30),
    draws=st.integers(1, 25),
    merge=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=50)
def test_twins_with_replacement_draw_the_same(
    batch: int, width: int, draws: int, merge: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, width + 1, (batch,), generator=generator)
    psi = torch.rand(batch, width, dtype=torch.float64, generator=generator) ** 4
    psi *= torch.arange(width) < lengths[:, None]
    keys = sequence_keys(stream(seed), torch.arange(batch), 3)
    one = draw_with_replacement(psi, lengths, keys, draws, merge)
    two = _draw_numba(psi, lengths, keys, draws, merge)
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
    monkeypatch.setattr("ansgt.sampling.drawing._JIT_PAYS", 0)
    calls = []
    monkeypatch.setattr(drawing, "_draw_numba", lambda *a: calls.append(1) or _draw_numba(*a))
    fast = draw_with_replacement(psi, lengths, keys, 5, merge)
    assert calls == [1]
    assert torch.equal(plain.position, fast.position)
    assert torch.equal(plain.count, fast.count)
