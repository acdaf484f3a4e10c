"""Whom a node attended to: sums over sequences, against loops."""

import numpy as np
import pytest
import torch

from ansgt.prediction.focus import Attention, Focus, focus_of, focus_of_importance
from ansgt.sequences import SequenceLayout

LAYOUT = SequenceLayout(num_sampled=4, num_supernodes=1, num_global=1)
NAMES = ["1-hop", "knn"]


def attention(seed: int, sequences: int = 3) -> Attention:
    rng = np.random.default_rng(seed)
    share, posterior = rng.random((sequences, LAYOUT.length)), rng.random((2, sequences, 4))
    return Attention(
        layout=LAYOUT,
        heuristics=NAMES,
        share=share / share.sum(),
        ids=rng.integers(0, 5, (sequences, 4)),
        mask=rng.random((sequences, 4)) < 0.8,
        posterior=posterior / posterior.sum(axis=0),
        probabilities=torch.tensor([0.25, 0.75]),
    )


def by_loops(parts: list[Attention]) -> tuple[dict[int, float], dict[int, list[np.ndarray]]]:
    """Share per node, and the posteriors of its draws."""
    share: dict[int, float] = {}
    draws: dict[int, list[np.ndarray]] = {}
    for part in parts:
        for s, row in enumerate(part.ids):
            for slot, node in enumerate(row):
                if part.mask[s, slot]:
                    share[node] = share.get(node, 0) + part.sampled[s, slot] / len(parts)
                    draws.setdefault(node, []).append(part.posterior[:, s, slot])
    return share, draws


@pytest.mark.parametrize("number", [1, 2])
def test_shares_and_parts_of_the_heuristics_equal_loops(number: int) -> None:
    parts = [attention(seed) for seed in range(number)]
    found, (share, draws) = focus_of(parts, top=100), by_loops(parts)
    assert dict(zip(found.ids.tolist(), found.share, strict=True)) == pytest.approx(share)
    assert bool((np.diff(found.share) <= 0).all())
    for node, brought, drawn in zip(found.ids, found.brought, found.drawn, strict=True):
        assert brought == pytest.approx(np.mean(draws[node], axis=0))
        assert drawn == pytest.approx(min(len(draws[node]) / (3 * number), 1.0))
    assert sum(found.kinds.values()) == pytest.approx(1.0)
    assert sum(found.heuristics.values()) == pytest.approx(1.0)
    assert list(found.heuristics) == NAMES


def test_only_the_largest_shares_are_kept() -> None:
    whole, few = focus_of([attention(0)], top=100), focus_of([attention(0)], top=2)
    assert few.ids.tolist() == whole.ids[:2].tolist()
    assert few.kinds == whole.kinds


def test_importance_of_features_is_a_focus_without_heuristics() -> None:
    found: Focus = focus_of_importance(np.array([0.1, 0.5, 0.0, 0.4]), 1, torch.tensor([1.0]), top=5)
    assert found.ids.tolist() == [3, 0]
    assert found.share.tolist() == [0.4, 0.1]
    assert found.kinds == {"centre": 0.5, "node": 0.5}
    assert found.heuristics == {}
