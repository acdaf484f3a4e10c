"""Splits: sizes by hand, disjointness by property, and a frozen hash."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.datasets.dataset import GENERATED, generated_split, per_class_split, uniform_split
from ansgt.errors import InputError

LABELS = torch.arange(50) % 3


def test_uniform_is_60_20_20() -> None:
    split = uniform_split(LABELS)
    assert (len(split.train), len(split.val), len(split.test)) == (30, 10, 10)


def test_per_class_sizes_by_hand() -> None:
    y = torch.tensor([0] * 30 + [1] * 19 + [2])  # round(0.6 * 50 / 3) = 10 a class, class 2 has one node
    split = per_class_split(y)
    assert torch.bincount(y[split.train]).tolist() == [10, 10, 1]
    assert (len(split.val), len(split.test)) == (10, 19)


@pytest.mark.parametrize("name", GENERATED)
def test_same_seed_same_split_on_every_platform(name: str) -> None:
    frozen = {"uniform-60-20-20": "1e91027738f779e4", "per-class-60-20-20": "adcd86fd30dfdcb6"}
    assert generated_split(name, LABELS, 3, seed=5).hash.startswith(frozen[name])


@pytest.mark.parametrize("name", GENERATED)
def test_index_and_seed_both_change_the_split(name: str) -> None:
    hashes = {generated_split(name, LABELS, index, seed).hash for index in range(3) for seed in range(3)}
    assert len(hashes) == 9


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-1, 2), min_size=30, max_size=60), st.sampled_from(GENERATED), st.integers(0, 5))
def test_parts_cover_the_labelled_nodes_once(labels: list[int], name: str, index: int) -> None:
    y = torch.tensor([0, 1, 2] * 10 + labels)
    split = generated_split(name, y, index, 0)
    together = torch.cat([split.train, split.val, split.test])
    assert together.sort().values.tolist() == (y >= 0).nonzero().flatten().tolist()


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no known label"):
        generated_split("uniform-60-20-20", torch.full((5,), -1), 0, 0)
    with pytest.raises(InputError, match="must not be negative"):
        uniform_split(LABELS, seed=-1)
