"""Splits from a file: masks, lists of numbers or names, one or several; and what is wrong with a file, in one sentence."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ansgt.datasets import Dataset
from ansgt.datasets.folds import read_splits, with_split
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.names import Names

N = 12
PARTS = {"train": [0, 1, 2, 3, 4], "val": [5, 6, 7], "test": [8, 9]}


@pytest.fixture
def graph() -> Graph:
    y = [0, 1] * 5 + [-1, -1]
    return Graph.from_arrays(torch.eye(N), torch.zeros(2, 0, dtype=torch.int64), y)


def mask(nodes: list[int]) -> np.ndarray:
    return np.isin(np.arange(N), nodes)


def stored(tmp_path: Path, **arrays: Any) -> Path:
    np.savez(tmp_path / "folds.npz", **arrays)
    return tmp_path / "folds.npz"


FORMS: dict[str, dict[str, Any]] = {
    "lists": PARTS,
    "masks": {f"{part}_mask": mask(nodes) for part, nodes in PARTS.items()},
    "masks of 0 and 1": {f"{part}_mask": mask(nodes).astype(int) for part, nodes in PARTS.items()},
    "truth values under a plain name": {part: mask(nodes) for part, nodes in PARTS.items()},
    "numbered": {f"{part}_idx_0": nodes[::-1] for part, nodes in PARTS.items()},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same_split_and_gets_the_same_name(
    form: str, graph: Graph, tmp_path: Path
) -> None:
    (split,) = read_splits(stored(tmp_path, **FORMS[form]), graph)
    assert {part: getattr(split, part).tolist() for part in PARTS} == PARTS
    (plain,) = read_splits(stored(tmp_path, **FORMS["lists"]), graph)
    assert split.name == plain.name
    assert split.name.startswith("folds-")


def test_several_splits_as_columns_and_as_numbered_lists(graph: Graph, tmp_path: Path) -> None:
    train = np.stack([mask([0, 1]), mask([2, 3]), mask([0, 3])], axis=1)
    columns = read_splits(stored(tmp_path, train_mask=train, val_mask=mask([5, 6])), graph)
    assert [split.train.tolist() for split in columns] == [[0, 1], [2, 3], [0, 3]]
    assert all(split.val.tolist() == [5, 6] and len(split.test) == 0 for split in columns)
    assert [split.index for split in columns] == [0, 1, 2]
    lists = {f"train_{n}": nodes for n, nodes in enumerate([[0, 1], [2, 3], [0, 3]])}
    numbered = read_splits(stored(tmp_path, **lists, **{f"val_{n}": [5, 6] for n in range(3)}), graph)
    assert [split.hash for split in numbered] == [split.hash for split in columns]


def test_names_of_nodes(graph: Graph, tmp_path: Path) -> None:
    named = replace(graph, node_names=Names([f"n{node}" for node in range(N)]))
    texts = {part: np.array([f"n{node}" for node in nodes]) for part, nodes in PARTS.items()}
    (split,) = read_splits(stored(tmp_path, **texts), named)
    assert split.test.tolist() == PARTS["test"]


def test_another_split_has_another_name(graph: Graph, tmp_path: Path) -> None:
    (one,) = read_splits(stored(tmp_path, **PARTS), graph)
    (other,) = read_splits(stored(tmp_path, **{**PARTS, "test": [8]}), graph)
    assert one.name != other.name


def test_a_data_set_takes_them_in(graph: Graph, tmp_path: Path) -> None:
    data = Dataset("mine", "", graph, "uniform-60-20-20")
    assert with_split(data, None) == (data, "uniform-60-20-20", 1)
    taken, name, number = with_split(data, stored(tmp_path, **PARTS))
    assert (taken.split(name).test.tolist(), number) == (PARTS["test"], 1)
    assert data.stored == {}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no val": ({"train": [0]}, "It has no field 'val'"),
    "no val of the second": ({"train_0": [0], "val_0": [1], "train_1": [2]}, "It has no field 'val_1'"),
    "a strange field": ({**PARTS, "trian": [0]}, "It has a field 'trian'"),
    "a node that is not there": ({**PARTS, "test": [99]}, "Node 99 does not exist"),
    "a node in two parts": ({**PARTS, "test": [0]}, "in both train and test"),
    "a node without a label": ({**PARTS, "test": [11]}, "holds nodes without a label"),
    "an empty part": ({**PARTS, "val": np.zeros(0)}, "The val part of split"),
    "a short mask": ({**PARTS, "test_mask": mask([0])[:5]}, "It says twice who is in test"),
    "a mask of another length": ({"train_mask": mask([0])[:5], "val": [1]}, r"must have shape \[12\]"),
    "lists as rows": ({"train": [[0, 1], [2, 3]], "val": [5]}, "number the lists of several splits"),
    "some numbered": ({"train_0": [0], "val": [1]}, "Some of its fields are numbered"),
    "other numbers of columns": (
        {"train_mask": np.ones((N, 2)), "val_mask": np.ones((N, 3))},
        "different numbers of splits",
    ),
    "halves": ({**PARTS, "test": [8.5]}, "whole numbers, not 8.5"),
    "texts": ({**PARTS, "test": ["x"]}, "nodes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_sentence_with_the_file(case: str, graph: Graph, tmp_path: Path) -> None:
    arrays, words = WRONG[case]
    path = stored(tmp_path, **arrays)
    with pytest.raises(InputError, match=words) as caught:
        read_splits(path, graph)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"no archive"])
def test_a_file_that_is_none(content: bytes | None, graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "folds.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"file of splits .*folds.npz"):
        read_splits(path, graph)
