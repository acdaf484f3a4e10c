"""What models see of a node's features: normalised, with columns for their number if asked for, dense or CSR."""

from dataclasses import replace
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.device import multiplies_sparse
from ansgt.linalg import row_normalize_features, to_torch
from ansgt.settings import DataSettings

FEW_ENTRIES = 0.5
"""Share of entries that are not zero up to which features that are never negative count as words."""

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60, 75, 94, 118)
"""Steps of `size_columns`: each number up to 8, then a quarter more each time. Fixed, so that a trained model reads
another graph the same way."""


def prepare_features(
    x: Tensor, data: DataSettings, device: torch.device, sparse_below: float = 0.1
) -> Tensor:
    """Features as `data` asks for, in CSR where few entries are non-zero and the CPU multiplies (a GPU prefers dense)."""
    sizes = size_columns(x) if data.size_columns else None
    x = _normalized(x, data.normalize_features)
    x = x if sizes is None else _beside(x, sizes)
    if not multiplies_sparse(device):
        return x.to_dense()
    if x.layout == torch.strided and x.shape[1] >= 64 and int(x.count_nonzero()) < sparse_below * x.numel():
        return x.to_sparse_csr()
    return x


def row_by_row(data: DataSettings) -> bool:
    """Whether what models see of a node depends on its own features alone."""
    return data.normalize_features in ("none", "row")


def prepared_like(x: Tensor, data: DataSettings, layout: torch.layout) -> Tensor:
    """Features of some more nodes as `prepare_features` made them of the others', on a CPU, where it goes row by row."""
    found = prepare_features(x, data, torch.device("cpu"), sparse_below=0.0)
    if found.layout == layout:
        return found
    return found.to_dense() if layout == torch.strided else found.to_sparse_csr()


def compared_features(x: Tensor, data: DataSettings, device: torch.device) -> Tensor:
    """What heuristics compare: the features without `size_columns`, which would decide who is similar."""
    return prepare_features(x, replace(data, size_columns=False), device)


def size_columns(x: Tensor) -> Tensor:
    """1 where a node has at least SIZES[k] non-zero features [n, len(SIZES)].

    The number of words says something of its own (on Actor as much as the words do), and a model that drops features in
    training or divides them by their sum cannot see it.

    >>> size_columns(torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]))[:, :3]
    tensor([[1., 1., 0.],
            [0., 0., 0.]])
    """
    if x.layout == torch.strided:
        sizes = (x != 0).sum(dim=1)
    else:
        row = torch.repeat_interleave(torch.arange(x.shape[0]), x.crow_indices().diff())
        sizes = torch.zeros(x.shape[0], dtype=torch.int64).index_add_(0, row, (x.values() != 0).long())
    return (sizes[:, None] >= torch.tensor(SIZES)).to(x.dtype)


def suited(x: Tensor) -> tuple[str, dict[str, Any]]:
    """What `normalize_features=auto` does with features, and the facts that decide it.

    Words and counts (never negative, mostly zero or whole numbers) are divided by their sum: a long page is no other page. A
    row of measurements is left alone: the sum of numbers of both signs may be next to nothing, and says nothing.

    >>> suited(torch.tensor([[1.0, 0.0], [3.0, 2.0]]))[0], suited(torch.tensor([[0.5, -0.5]]))[0]
    ('row', 'none')
    """
    values = x if x.layout == torch.strided else x.values()
    share = float((values != 0).sum()) / max(x.shape[0] * x.shape[1], 1)
    least = float(values.min()) if values.numel() else 0.0
    whole = bool((values == values.round()).all())
    words = least >= 0 and (whole or share <= FEW_ENTRIES)
    facts = {"smallest": least, "not_zero": round(share, 4), "whole_numbers": whole}
    return ("row" if words else "none"), facts


def _normalized(x: Tensor, normalize: str) -> Tensor:
    if normalize == "auto":
        normalize = suited(x)[0]
    if normalize == "none":
        return x
    stored = x if x.layout == torch.strided else x.values()
    mean_sum = float(stored.abs().sum()) / max(x.shape[0], 1)
    x = row_normalize_features(x)
    return x * mean_sum if normalize == "scaled" else x


def _beside(x: Tensor, columns: Tensor) -> Tensor:
    """[x | columns], sparse if x is."""
    if x.layout == torch.strided:
        return torch.cat([x, columns], dim=1)
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    left = sp.csr_array(parts, shape=tuple(x.shape))
    return to_torch(sp.csr_array(sp.hstack([left, sp.csr_array(columns.numpy())])))


def num_appended(data: DataSettings) -> int:
    """How many of the last columns say something about a node as a whole: dropout of features leaves them alone."""
    return len(SIZES) if data.size_columns else 0
