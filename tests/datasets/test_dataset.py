"""Splits: sizes by hand, disjointness by property, and a frozen hash."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.datasets.dataset import (
    GENERATED,
    Dataset,
    generated_split,
    per_class_split,
    splits_from_masks,
    uniform_split,
)
from ansgt.errors import InputError
from ansgt.graph import Graph, Split

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


@pytest.mark.parametrize("seed", [0, 5, 2**32, 2**33 + 5])
def test_a_uniform_split_is_a_frozen_shuffle_cut_in_three(seed: int) -> None:
    """numpy's RandomState, seeded from both halves of the seed and the number of the split (NEP 19)."""
    y = torch.where(torch.arange(47) % 7 == 3, -1, torch.arange(47) % 3)
    known = np.flatnonzero(y.numpy() >= 0)  # 40 nodes
    order = np.random.RandomState([seed % 2**32, seed // 2**32, 2]).permutation(known)
    split = uniform_split(y, 2, seed, train=0.35, val=0.4)
    parts = (order[:14], order[14:30], order[30:])
    assert [split.train.tolist(), split.val.tolist(), split.test.tolist()] == [
        sorted(part.tolist()) for part in parts
    ]
    assert (split.name, split.index) == ("uniform-60-20-20", 2)


def test_a_split_by_its_name_and_number() -> None:
    graph = Graph.from_arrays(torch.eye(50), [[0], [1]], LABELS)
    given = [
        Split(torch.tensor([0, 1, 2]), torch.tensor([i]), torch.tensor([9]), "given", i - 3) for i in (3, 4)
    ]
    data = Dataset("mine", "v1", graph, "given", {"given": given})
    assert data.split_names == [*GENERATED, "given"]
    assert data.split() is given[0]
    assert data.split("given", 1) is data.split(index=1) is given[1]
    assert data.split(GENERATED[0], 3, 5).hash == uniform_split(LABELS, 3, 5).hash
    assert data.split(GENERATED[1]).hash == per_class_split(LABELS, 0, 0).hash
    with pytest.raises(InputError, match="has 2 repetitions; number 2 does not exist"):
        data.split(index=2)
    with pytest.raises(InputError, match="must not be negative, not -1"):
        data.split(index=-1)
    with pytest.raises(InputError, match=r"Unknown split of data set 'mine' 'public'; known: .*given"):
        data.split("public")


def test_masks_of_one_split_and_of_several() -> None:
    eye = torch.eye(6, dtype=torch.bool)
    one = Masks(train_mask=eye[0] | eye[1], val_mask=eye[2], test_mask=eye[3])
    (split,) = splits_from_masks(one, "m")
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0, 1], [2], [3]]
    several = Masks(
        train_mask=torch.stack([eye[0], eye[4]], dim=1),
        val_mask=torch.stack([eye[1], eye[5]], dim=1),
        test_mask=eye[3],
    )
    found = splits_from_masks(several, "m")
    assert [(split.train.tolist(), split.val.tolist(), split.test.tolist()) for split in found] == [
        ([0], [1], [3]),
        ([4], [5], [3]),
    ]
    assert [(split.name, split.index) for split in found] == [("m", 0), ("m", 1)]
    three = Masks(train_mask=eye[:, :2], val_mask=eye[:, 2:5], test_mask=eye[5])
    with pytest.raises(InputError, match="The masks hold 2, 3, 1 splits; give one number"):
        splits_from_masks(three, "m")


class Masks:
    """Whatever has masks as fields."""

    def __init__(self, **fields: torch.Tensor) -> None:
        self.fields = fields

    def as_dict(self) -> dict[str, torch.Tensor]:
        return self.fields


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
    one = generated_split("uniform-60-20-20", torch.tensor([-1, 0, 0, 0, 0, 0, -1]), 0, 0)
    assert sorted(one.train.tolist() + one.val.tolist() + one.test.tolist()) == [1, 2, 3, 4, 5]
