"""Splits of one's own from a file: `ansgt train mine.npz --split folds.npz`.

The file is an `.npz` with `train`, `val` and, where there is one, `test`. Each is a mask [n], masks [n, k] for k splits, or
a list of nodes: their numbers, or their names where nodes have names. Lists of several splits are numbered: `train_0`,
`val_0`, `test_0`, `train_1`, ... A part may also be called as in PyG, `train_mask`, or `train_idx`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import truth_mask
from ansgt.datasets.dataset import Dataset
from ansgt.datasets.masks import PARTS
from ansgt.datasets.npz import read_arrays
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.settings import brief
from ansgt.storage import content_hash

SUFFIX = ".npz"
"""What tells a file from the name of a split."""
KEY = re.compile(r"(train|val|test)(?:_(mask|idx|index|indices|nodes))?(?:_(\d{1,4}))?")


def with_split(data: Dataset, split: str | Path | None) -> tuple[Dataset, str, int]:
    """The data set with the splits that are asked for, their name, and how many a file has (1 where it is no file).

    Args:
        data: whose splits are known by name.
        split: one of these names, or the path of a file; None: the data set's own.
    """
    if split is None or not str(split).endswith(SUFFIX):
        return data, str(split or data.default_split), 1
    splits = read_splits(split, data.graph)
    name = splits[0].name
    return replace(data, stored={**data.stored, name: splits}), name, len(splits)


def read_splits(path: str | Path, graph: Graph) -> list[Split]:
    """The splits of a file, called after it and the hash of what they say: `folds-1f09c2ab`.

    Raises:
        InputError: it is no such file, a part is missing, or names nodes that the graph lacks.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"The file of splits {path} does not exist.")
    try:
        parts = _parts(path, graph)
        digest = content_hash([[nodes.sort().values.numpy() for nodes in one] for one in parts])
        name = f"{path.name.removesuffix(SUFFIX)}-{digest[:8]}"
        return [
            Split(train, val, test, name, index).check(graph)
            for index, (train, val, test) in enumerate(parts)
        ]
    except InputError as error:
        known = str(path) in str(error)
        raise InputError(
            str(error) if known else f"{str(error).rstrip('.')} (file of splits {path})."
        ) from None


def _parts(path: Path, graph: Graph) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Nodes of train, val and test of every split."""
    what = "file of splits"
    _, keys = read_arrays(path, (), what=what)
    arrays, _ = read_arrays(path, keys, texts=keys, what=what)
    found: dict[str, dict[int | None, list[Tensor]]] = {part: {} for part in PARTS}
    for key in keys:
        named = KEY.fullmatch(key)
        if named is None:
            raise InputError(
                f"It has a field {brief(key)!r}; known are train, val and test, numbered where there are several"
            )
        number = None if named[3] is None else int(named[3])
        if number in found[named[1]]:
            raise InputError(f"It says twice who is in {named[1]}{'' if number is None else f'_{number}'}")
        found[named[1]][number] = _nodes(key, arrays[key], graph, named[2] == "mask")
    return _together(found)


def _nodes(key: str, value: np.ndarray, graph: Graph, is_mask: bool) -> list[Tensor]:
    """Who a field means: one list of nodes, or one per column of its masks."""
    if is_mask or value.dtype.kind == "b":
        mask = truth_mask(key, value, graph.num_nodes).reshape(graph.num_nodes, -1)
        return [column.nonzero().flatten() for column in mask.T]
    if value.ndim != 1:
        raise InputError(
            f"Field '{key}' must be a mask or one list of nodes, not of shape {list(value.shape)}: "
            "number the lists of several splits, train_0, val_0, train_1"
        )
    return [graph.find(value) if len(value) else torch.zeros(0, dtype=torch.int64)]


def _together(found: Mapping[str, Mapping[int | None, list[Tensor]]]) -> list[tuple[Tensor, Tensor, Tensor]]:
    numbers = sorted({number for part in found.values() for number in part if number is not None})
    if not numbers:
        return _columns({part: value[None] for part, value in found.items() if value})
    if any(None in part for part in found.values()):
        raise InputError("Some of its fields are numbered, and some are not")
    one_each = [
        _columns({part: value[n] for part, value in found.items() if n in value}, f"_{n}") for n in numbers
    ]
    return [split for splits in one_each for split in splits]


def _columns(parts: Mapping[str, list[Tensor]], end: str = "") -> list[tuple[Tensor, Tensor, Tensor]]:
    """The splits of parts with as many columns; a part with one serves all."""
    absent = [part for part in ("train", "val") if part not in parts]
    if absent:
        raise InputError(f"It has no field '{absent[0]}{end}'; train and val must be there")
    parts = {"test": [torch.zeros(0, dtype=torch.int64)], **parts}
    count = max(map(len, parts.values()))
    if any(len(columns) not in (1, count) for columns in parts.values()):
        counts = ", ".join(f"{part} {len(parts[part])}" for part in PARTS)
        raise InputError(f"Its masks hold different numbers of splits ({counts})")
    train, val, test = (columns * (count // len(columns)) for columns in (parts[part] for part in PARTS))
    return list(zip(train, val, test, strict=True))
