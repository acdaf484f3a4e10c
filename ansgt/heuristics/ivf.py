"""Approximate nearest neighbours for graphs too large for all pairs: an inverted file, by our own means or by faiss.

Nodes are put into about 2 sqrt(n) cells by k-means; the members of a cell are compared exactly with all members of the
nearest cells, as one dense product. Work grows like n^1.5 and memory like n.
"""

from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.heuristics.rows import dense_top_k

Rows: TypeAlias = np.ndarray | sp.csr_array

_KMEANS_STEPS = 10
_POINTS_PER_CELL = 64
_SKETCH = 128
_MAX_QUERIES = 1024


class Index(Protocol):
    """Finds the k rows of largest inner product for each of `nodes`, self left out; -1 and 0 where there are fewer."""

    def search(self, nodes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]: ...


class CellIndex:
    """Inverted file over unit rows.

    Args:
        unit: rows of length 1 [n, p], dense or CSR.
        num_probes: how many cells the members of one cell are compared with.
        seed: of the sample, the start and the sketch that k-means works on.
    """

    def __init__(self, unit: Rows, num_probes: int = 16, seed: int = 0) -> None:
        self.unit = unit
        generator = torch.Generator().manual_seed(seed)
        sketch = _sketch(unit, generator)
        num_cells = max(1, int(2 * np.sqrt(len(sketch))))
        centres = _kmeans(sketch, num_cells, generator)
        cell = _nearest(sketch, centres, 1)[:, 0].numpy()
        self.cell = cell
        self.order = np.argsort(cell, kind="stable")
        self.starts = np.searchsorted(cell[self.order], np.arange(num_cells + 1))
        self.probes = _own_first(_nearest(centres, centres, min(num_probes, num_cells)).numpy())

    def search(self, nodes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and ids [len(nodes), k]; a loop over cells, not over nodes."""
        values = np.zeros((len(nodes), k), dtype=np.float32)
        columns = np.full((len(nodes), k), -1, dtype=np.int32)
        by_cell = np.argsort(self.cell[nodes], kind="stable")
        cells, starts = np.unique(self.cell[nodes][by_cell], return_index=True)
        for cell, places in zip(cells, np.split(by_cell, starts[1:]), strict=True):
            candidates = np.concatenate([self._members(c) for c in self.probes[cell]])
            others = _dense(self.unit, candidates)
            for start in range(0, len(places), _MAX_QUERIES):
                part = places[start : start + _MAX_QUERIES]
                found = self._compare(nodes[part], candidates, others, k)
                values[part, : found[0].shape[1]], columns[part, : found[1].shape[1]] = found
        return values, columns

    def _members(self, cell: int) -> np.ndarray:
        return self.order[self.starts[cell] : self.starts[cell + 1]]

    def _compare(
        self, nodes: np.ndarray, candidates: np.ndarray, others: Tensor, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        scores = (_dense(self.unit, nodes) @ others.T).numpy()
        # the own cell is the first probe and its members are sorted, so self is found there
        own = candidates[: self.starts[self.cell[nodes[0]] + 1] - self.starts[self.cell[nodes[0]]]]
        scores[np.arange(len(nodes)), np.searchsorted(own, nodes)] = -2.0
        return dense_top_k(scores, candidates, k, compiled=True)


class FaissIndex:
    """The same by faiss's IVF-Flat (the extra ``ann``); dense features only."""

    def __init__(self, unit: np.ndarray, num_probes: int = 16) -> None:
        import faiss

        self.unit = np.ascontiguousarray(unit)
        num_cells = max(1, int(2 * np.sqrt(len(unit))))
        quantizer = faiss.IndexFlatIP(unit.shape[1])
        self.index = faiss.IndexIVFFlat(quantizer, unit.shape[1], num_cells, faiss.METRIC_INNER_PRODUCT)
        self.index.train(self.unit[:: max(1, len(unit) // (_POINTS_PER_CELL * num_cells))])
        self.index.add(self.unit)
        self.index.nprobe = num_probes

    def search(self, nodes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        values, columns = self.index.search(self.unit[nodes], min(k + 1, len(self.unit)))
        own = columns == nodes[:, None]
        own[~own.any(axis=1), -1] = True  # self fell out among duplicates: the last goes instead
        kept = (~own).nonzero()
        shape = (len(nodes), columns.shape[1] - 1)
        return values[kept].reshape(shape), columns[kept].reshape(shape).astype(np.int32)


def _dense(unit: Rows, nodes: np.ndarray) -> Tensor:
    rows = unit[nodes]
    return torch.from_numpy(rows.toarray() if sp.issparse(rows) else rows)


def _sketch(unit: Rows, generator: torch.Generator) -> Tensor:
    """Few enough dense columns for k-means: the rows themselves, or a random projection of them, scaled to length 1."""
    width = unit.shape[1]
    if width <= 2 * _SKETCH and not sp.issparse(unit):
        return torch.from_numpy(unit)
    projection = torch.randn(width, _SKETCH, generator=generator).numpy()
    return torch.nn.functional.normalize(torch.from_numpy(np.asarray(unit @ projection)))


def _kmeans(points: Tensor, num_cells: int, generator: torch.Generator) -> Tensor:
    """Spherical k-means on a sample; a cell that runs empty keeps its centre."""
    sample = points[torch.randperm(len(points), generator=generator)[: _POINTS_PER_CELL * num_cells]]
    centres = sample[:num_cells].clone()
    for _ in range(_KMEANS_STEPS):
        cell = _nearest(sample, centres, 1)[:, 0]
        sums = torch.zeros_like(centres).index_add_(0, cell, sample)
        filled = torch.bincount(cell, minlength=num_cells) > 0
        centres[filled] = torch.nn.functional.normalize(sums[filled])
    return centres


def _nearest(points: Tensor, centres: Tensor, k: int) -> Tensor:
    """The k centres of largest inner product for every point [len(points), k], in blocks."""
    parts = [torch.topk(block @ centres.T, k).indices for block in torch.split(points, 8192)]
    return torch.cat(parts)


def _own_first(probes: np.ndarray) -> np.ndarray:
    """Every cell's list of probes with the cell itself in front (empty cells may not be nearest to themselves)."""
    own = np.arange(len(probes))[:, None]
    is_own = probes == own
    is_own[~is_own.any(axis=1), -1] = True
    rest = probes[~is_own].reshape(len(probes), -1)
    return np.concatenate([own, rest], axis=1)
