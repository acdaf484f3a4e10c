"""Masks of a user's own data: the split that they say, completed where they say nothing."""

from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import truth_mask
from ansgt.datasets.custom import check_names
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.settings import Range, Seed, fit_value, shown

PARTS = ("train", "val", "test")
HeldOut = Annotated[float, Range(0, 1, open_low=True, open_high=True)]
"""A share of nodes that leaves some on either side."""


def given_split(
    data: Any, graph: Graph, index: int | None = None, val_fraction: float = 0.2, seed: int = 0
) -> Split:
    """The split that the masks of `data` say.

    Without `train_mask` every labelled node outside the other two is trained on; without `val_mask` a share of the training
    nodes is held out.

    Args:
        data: whatever may have `train_mask`, `val_mask` and `test_mask`.
        graph: its graph.
        index: which of k splits, where masks are [n, k].
        val_fraction: share of the training nodes that is held out.
        seed: of the nodes that are held out.
    """
    val_fraction, seed = fit_value("val_fraction", HeldOut, val_fraction), fit_value("seed", Seed, seed)
    labelled = graph.y >= 0
    _check_fields(data)
    train, val, test = (_mask(data, f"{part}_mask", graph.num_nodes, index) for part in PARTS)
    test = torch.zeros_like(labelled) if test is None else test
    if train is None:
        train = labelled & ~test if val is None else labelled & ~test & ~val
    nodes, tested = (train & labelled).nonzero().flatten(), (test & labelled).nonzero().flatten()
    if val is not None:
        return Split(nodes, (val & labelled).nonzero().flatten(), tested, "given")
    held, kept = _held_out(nodes, val_fraction, seed)
    return Split(kept, held, tested, "given")


def _held_out(nodes: Tensor, val_fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """A share of some nodes, and the others."""
    if len(nodes) < 2:
        raise InputError(
            f"There are {len(nodes)} labelled training nodes; holding some out for validation needs 2."
        )
    order = torch.from_numpy(np.random.RandomState(seed % 2**32).permutation(len(nodes)))
    number = min(max(1, round(val_fraction * len(nodes))), len(nodes) - 1)
    shuffled = nodes[order]
    return shuffled[:number], shuffled[number:]


def _check_fields(data: Any) -> None:
    """Names a field of a PyG `Data` that is misspelt: if it were ignored, test nodes would be trained on."""
    keys = getattr(data, "keys", None)
    try:
        check_names([str(key) for key in keys()] if callable(keys) else [])
    except InputError as error:
        raise InputError(f"The data have {error}") from None


def _mask(data: Any, name: str, num_nodes: int, index: int | None) -> Tensor | None:
    value = getattr(data, name, None)
    if value is None:
        return None
    mask = truth_mask(name, value, num_nodes)
    if mask.ndim == 1:
        return mask
    count = mask.shape[1]
    if index is None and count > 1:
        raise InputError(f"Field '{name}' holds {count} splits: say which, as in fit(data, split=0).")
    if (
        isinstance(index, bool)
        or not isinstance(index, int | np.integer | None)
        or not 0 <= (index or 0) < count
    ):
        raise InputError(
            f"Field '{name}' holds {count} splits: split must be in 0..{count - 1}, not {shown(index)}."
        )
    return mask[:, int(index or 0)]
