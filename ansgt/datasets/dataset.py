"""`Dataset`: a graph with its splits, those that were published with it and those that are drawn from a seed.

Two different things are called "60/20/20 random"; here each has its own name.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.datasets.fields import Fields
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph, Split

GENERATED = ("uniform-60-20-20", "per-class-60-20-20")
"""Drawn from a seed. The others are stored with a data set: geom-gcn, public, official, given."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with the splits that were published with it.

    Args:
        stored: split name -> its repetitions (geom-gcn, public, official, given).
    """

    name: str
    variant: str
    graph: Graph
    default_split: str
    stored: dict[str, list[Split]] = field(default_factory=dict)
    __repr__ = brief_repr

    @property
    def split_names(self) -> list[str]:
        return [*GENERATED, *self.stored]

    def split(self, name: str | None = None, index: int = 0, seed: int = 0) -> Split:
        """The split `name` (default: the data set's own), repetition `index`; `seed` matters to generated ones only."""
        name = name or self.default_split
        if index < 0:
            raise InputError(f"The number of a split must not be negative, not {index}.")
        if name in GENERATED:
            return generated_split(name, self.graph.y, index, seed).check(self.graph)
        if name not in self.stored:
            raise unknown_name(f"split of data set '{self.name}'", name, self.split_names)
        if index >= len(self.stored[name]):
            raise InputError(
                f"Split '{name}' of data set '{self.name}' has {len(self.stored[name])} repetitions; "
                f"number {index} does not exist."
            )
        return self.stored[name][index].check(self.graph)


def uniform_split(y: Tensor, index: int = 0, seed: int = 0, train: float = 0.6, val: float = 0.2) -> Split:
    """`uniform-60-20-20`: a plain shuffle of the labelled nodes (the ANS-GT authors' code)."""
    labelled = (y >= 0).nonzero().flatten().numpy()
    order = _generator(seed, index).permutation(labelled)
    first, second = round(train * len(order)), round((train + val) * len(order))
    return _split("uniform-60-20-20", index, order[:first], order[first:second], order[second:])


def per_class_split(y: Tensor, index: int = 0, seed: int = 0, train: float = 0.6, val: float = 0.2) -> Split:
    """`per-class-60-20-20`: round(0.6 n / C) training nodes of every class (all of a smaller one), round(0.2 n) of the rest
    for validation, what remains for test (GPRGNN and its line). On Texas that is really 46/20/33."""
    labels = y.numpy()
    rng = _generator(seed, index)
    num_classes = int(labels.max()) + 1
    num_labelled = int((labels >= 0).sum())
    per_class = round(train * num_labelled / num_classes)
    orders = [rng.permutation(np.flatnonzero(labels == c)) for c in range(num_classes)]
    rest = rng.permutation(np.concatenate([order[per_class:] for order in orders]))
    num_val = round(val * num_labelled)
    chosen = np.concatenate([order[:per_class] for order in orders])
    return _split("per-class-60-20-20", index, chosen, rest[:num_val], rest[num_val:])


def generated_split(name: str, y: Tensor, index: int, seed: int) -> Split:
    """One of `GENERATED`, from a seed: the same seed gives the same split on every platform."""
    if int((y >= 0).sum()) == 0:
        raise InputError("Field 'y' has no known label: there is nothing to split.")
    maker = {"uniform-60-20-20": uniform_split, "per-class-60-20-20": per_class_split}[name]
    return maker(y, index, seed)


def _generator(seed: int, index: int) -> np.random.RandomState:
    """RandomState's streams are frozen by numpy's policy (NEP 19); Generator's are not."""
    if seed < 0:
        raise InputError(f"The seed must not be negative, not {seed}.")
    return np.random.RandomState([seed % 2**32, seed // 2**32, index])


def _split(name: str, index: int, train: np.ndarray, val: np.ndarray, test: np.ndarray) -> Split:
    first, second, third = (torch.from_numpy(np.asarray(p, dtype=np.int64)) for p in (train, val, test))
    return Split(first, second, third, name, index)


def splits_from_masks(data: Fields, name: str) -> list[Split]:
    """The split of masks [n], or the splits of masks [n, k]."""
    masks = data.as_dict()
    parts = [masks[f"{part}_mask"] for part in ("train", "val", "test")]
    parts = [mask[:, None] if mask.ndim == 1 else mask for mask in parts]
    count = max(mask.shape[1] for mask in parts)
    if any(mask.shape[1] not in (1, count) for mask in parts):
        raise InputError(
            f"The masks hold {', '.join(str(mask.shape[1]) for mask in parts)} splits; give one number."
        )
    train, val, test = (mask.expand(-1, count) for mask in parts)  # one mask [n] serves all splits
    return [Split.from_masks(train[:, i], val[:, i], test[:, i], name, i) for i in range(count)]
