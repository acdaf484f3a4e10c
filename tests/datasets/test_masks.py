"""The split that the masks of a user's own data say."""

from types import SimpleNamespace

import pytest
import torch

import ansgt
from ansgt.datasets.masks import given_split
from ansgt.errors import InputError
from ansgt.graph import Graph


@pytest.fixture
def graph() -> Graph:
    y = [0, 1] * 9 + [-1, -1]
    return Graph.from_arrays(torch.eye(20), torch.zeros(2, 0, dtype=torch.int64), y)


def masks(train: torch.Tensor, val: torch.Tensor | None = None) -> SimpleNamespace:
    return SimpleNamespace(train_mask=train, val_mask=val, test_mask=None)


def test_without_masks_labelled_nodes_are_shared_out(graph: Graph) -> None:
    split = given_split(SimpleNamespace(), graph, val_fraction=0.5)
    assert (len(split.train), len(split.val), len(split.test)) == (9, 9, 0)
    assert sorted([*split.train.tolist(), *split.val.tolist()]) == list(range(18))
    other = given_split(SimpleNamespace(), graph, val_fraction=0.5, seed=1)
    assert other.hash != split.hash
    assert given_split(SimpleNamespace(), graph, val_fraction=0.5, seed=1).hash == other.hash


@pytest.mark.parametrize(("name", "wrong"), [
    ("val_fraction", 1), ("val_fraction", None), ("val_fraction", "x"), ("val_fraction", len), ("seed", None), ("seed", 0.5),
    ("seed", "9" * 5000),
])  # fmt: skip
@pytest.mark.parametrize("val", [None, torch.arange(20) % 5 == 4])
def test_a_share_or_seed_that_is_none_is_named(name: str, wrong: object, val: object, graph: Graph) -> None:
    with pytest.raises(InputError, match=f"Setting {name} must"):
        given_split(masks(torch.arange(20) < 9, val), graph, **{name: wrong})  # type: ignore[arg-type]


def test_one_of_several_splits(graph: Graph) -> None:
    train = torch.stack([torch.arange(20) % 5 == k for k in range(3)], dim=1)
    val = torch.arange(20) % 5 == 4
    for k in range(3):
        split = given_split(masks(train, val), graph, k)
        assert split.train.tolist() == list(range(k, 18, 5))
        assert split.val.tolist() == [4, 9, 14]
    with pytest.raises(InputError, match=r"holds 3 splits: say which, as in fit\(data, split=0\)"):
        given_split(masks(train, val), graph)
    for wrong in (3, -1, True, "0"):
        with pytest.raises(InputError, match=r"must be in 0\.\.2"):
            given_split(masks(train, val), graph, wrong)  # type: ignore[arg-type]


def test_masks_of_a_single_column_need_no_choice(graph: Graph) -> None:
    train, val = torch.arange(20)[:, None] < 9, torch.arange(20)[:, None] >= 9
    assert given_split(masks(train, val), graph).train.tolist() == list(range(9))


def test_fit_takes_the_split() -> None:
    data = ansgt.load_dataset("newman")
    for part in ("train", "val", "test"):
        mask = data[f"{part}_mask"]
        data[f"{part}_mask"] = torch.stack([mask.roll(k) for k in range(10)], dim=1)
    clf = ansgt.NodeClassifier("mlp", epochs=1, device="cpu").fit(data, split=7)
    assert clf.split_.train.tolist() == data.train_mask[:, 7].nonzero().flatten().tolist()
