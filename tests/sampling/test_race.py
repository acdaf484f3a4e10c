import itertools

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.sampling.counter import sequence_keys, stream
from ansgt.sampling.race import race, race_torch


@given(
    batch=st.integers(1, 5),
    width=st.integers(1, 30),
    winners=st.integers(0, 12),
    zeros=st.floats(0, 1),
    seed=st.integers(0, 100),
)
@settings(deadline=None, max_examples=50)
def test_twins_draw_the_same(batch: int, width: int, winners: int, zeros: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random((batch, width)) ** 4 * (rng.random((batch, width)) > zeros)
    ids = torch.from_numpy(rng.permutation(1000)[:width]).expand(batch, width)
    keys = sequence_keys(stream(seed), torch.arange(batch), 3)
    one = race(torch.from_numpy(weights), ids, keys, winners)
    two = race_torch(torch.from_numpy(weights), ids, keys, winners)
    assert torch.equal(one.position, two.position)
    np.testing.assert_allclose(one.tau, two.tau, rtol=1e-12)


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
