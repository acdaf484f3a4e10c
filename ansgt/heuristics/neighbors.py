"""Nearest rows by inner product: exact where that is cheap, else with as much effort as the wanted recall takes.

A search takes candidates from an index and ranks them by their exact inner products. Indexes are tried in the order of
their cost, on a few nodes whose true neighbours are known, and the first that finds enough of them is taken:

1. an inverted file (faiss, IVF-Flat), for rows in clusters: 2 sqrt(n) cells, of which some are probed;
2. a scan of all rows as bytes (`ansgt.heuristics.scan`), where the processor multiplies those fast: for rows that are noise
   around centres, where no cell is near, five times cheaper than the product of all pairs in float32;
   on other processors of all rows as 4-bit codes (faiss, PQ fast scan), two dimensions per code, three times cheaper;
3. the product of all pairs, up to `MOST_PAIRS` numbers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange

from ansgt.device import multiplies_bytes_fast
from ansgt.heuristics.rows import keep_largest
from ansgt.heuristics.scan import ByteScan
from ansgt.stages import stage

Rows: TypeAlias = np.ndarray | sp.csr_array

MOST_PAIRS = 1.5e13
"""All pairs are compared up to this many products of two numbers: a few minutes of one core."""
BYTES = "bytes"
SKETCH = 256
"""Columns of the random projection that stands for sparse rows while candidates are looked for."""
_CLOSE = 1e-5
"""Cosines that differ by less count as equal: rounding, and ties."""
_SAMPLED_PER_CELL, _CODED = 40, 50_000
"""Rows that k-means of an inverted file and of the codes are trained on."""


class Effort(NamedTuple):
    """An index and how hard it is searched.

    Args:
        kind: of the index, as faiss's factory names it, or "bytes".
        probes: cells that are searched; 0 where there are none.
        depth: candidates that are ranked exactly, per neighbour wanted.
    """

    kind: str
    probes: int
    depth: int


class Truth(NamedTuple):
    """Some nodes, the cosine of each with its k-th nearest other node, and how many of the k have a positive one."""

    nodes: np.ndarray
    least: np.ndarray
    available: np.ndarray


class Neighbors:
    """The k rows of largest inner product for each of some nodes, self left out.

    Args:
        unit: rows of length 1 (or 0), dense or CSR [n, p].
        k: how many.
        checked: nodes whose true neighbours are found by comparing them with all others.
        wanted: recall to reach; 1 compares all pairs whatever that takes.

    After construction `effort` is what was chosen and `recall` what it found of the neighbours of the checked nodes.
    """

    def __init__(self, unit: Rows, k: int, checked: np.ndarray, wanted: float = 0.95) -> None:
        self.unit, self.k = unit, k
        self._points = _dense_points(unit)
        self._indexes: dict[str, Any] = {}
        known = truth(unit, k, checked)
        for effort in _efforts(self._points.shape, k, sp.issparse(unit), wanted):
            self.effort = effort
            self.recall = share_found(self.search(checked)[0], known)
            if self.recall >= wanted:
                break
        self._indexes = {self.effort.kind: self._indexes[self.effort.kind]}

    def search(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inner products and ids [len(nodes), k], columns ascending; 0 and -1 where fewer were found."""
        kind, probes, depth = self.effort
        if kind not in self._indexes:
            self._indexes[kind] = _build(self._points, kind)
        index = self._indexes[kind]
        if probes:
            index.nprobe = probes
        rows, number = self._points[nodes], min(depth * (self.k + 1), len(self._points))
        found = index.search(rows, number) if kind == BYTES else index.search(rows, number)[1]
        values = np.zeros((len(nodes), self.k), dtype=np.float32)
        columns = np.full((len(nodes), self.k), -1, dtype=np.int32)
        if sp.issparse(self.unit):
            unit: Any = self.unit
            _rank_sparse(nodes, found, unit.indptr, unit.indices, unit.data, unit.shape[1], values, columns)
        else:
            _rank(nodes, found, self.unit, values, columns)
        return values, columns


class Copies(NamedTuple):
    """Rows of which many are the same: such nodes are each other's nearest, and no index is any good on them.

    Args:
        unit: the distinct rows [m, p].
        length: inner product of each with itself [m].
        group: which of them a node has [n].
        start, members: the nodes of every distinct row, ascending: members[start[g] : start[g + 1]].
    """

    unit: Rows
    length: np.ndarray
    group: np.ndarray
    start: np.ndarray
    members: np.ndarray

    @classmethod
    def of(cls, unit: Rows) -> "Copies | None":
        """None where more than half of the rows are distinct. Rows are told apart by 64 bits of a hash."""
        if sp.issparse(unit):
            whole: Any = unit
            keys = _keys(whole.indptr, whole.indices, whole.data)
        else:
            keys = _keys_of_dense(unit)
        _, first, group, sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        if 2 * len(first) > len(keys):
            return None
        distinct: Any = unit[first]
        length = np.asarray((distinct * distinct).sum(axis=1, dtype=np.float32)).ravel()
        start = np.concatenate([[0], np.cumsum(sizes)])
        return cls(distinct, length, group, start, np.argsort(group, kind="stable"))

    def expanded(
        self, nodes: np.ndarray, k: int, search: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """`Neighbors.search` for nodes, from one for the distinct rows that they have."""
        groups, place = np.unique(self.group[nodes], return_inverse=True)
        values = np.zeros((len(nodes), k), dtype=np.float32)
        columns = np.full((len(nodes), k), -1, dtype=np.int32)
        _expand(nodes, place, *self[1:], *search(groups), values, columns)
        return values, columns


def truth(unit: Rows, k: int, nodes: np.ndarray) -> Truth:
    """How near the k nearest neighbours of some nodes are, by comparing these nodes with all."""
    n = unit.shape[0]
    nearest = []
    for part in np.array_split(nodes, max(1, len(nodes) * n >> 24)):
        cosines = cosine_rows(unit, part)
        cosines[np.arange(len(part)), part] = -2.0
        nearest.append(torch.from_numpy(cosines).topk(min(k, n - 1), dim=1).values.numpy())
    values = np.concatenate(nearest)
    return Truth(nodes, values[:, -1], (values > 0).sum(axis=1))


def share_found(values: np.ndarray, known: Truth) -> float:
    """Recall: how many of the cosines found [nodes, k] are as large as the k-th true one, as a share of what there is."""
    hits = (values >= known.least[:, None] - _CLOSE) & (values > 0)
    return float(min(1.0, hits.sum() / max(known.available.sum(), 1)))


def cosines_of(unit: Any, nodes: np.ndarray, rows: sp.csr_array) -> np.ndarray:
    """Cosines of every node with those that its row proposes [nodes, longest row]; 0 beyond a row's end."""
    found = np.zeros((len(nodes), int(np.diff(rows.indptr).max(initial=0))), dtype=np.float32)
    for place, node in enumerate(nodes):
        others = rows.indices[rows.indptr[place] : rows.indptr[place + 1]]
        own = unit[[node]].T.toarray() if sp.issparse(unit) else unit[[node]].T
        found[place, : len(others)] = np.asarray(unit[others] @ own).ravel()
    return found


def cosine_rows(unit: Rows, nodes: np.ndarray) -> np.ndarray:
    """Inner products of `nodes` with all nodes [len(nodes), n], float32."""
    if sp.issparse(unit):
        return np.ascontiguousarray((unit @ unit[nodes].T.toarray()).T)
    return (torch.from_numpy(unit[nodes]) @ torch.from_numpy(unit).T).numpy()


def _efforts(shape: tuple[int, ...], k: int, is_sketch: bool, wanted: float) -> list[Effort]:
    """What to try, from cheap to dear. A sketch blurs the order, so that more of its candidates are ranked."""
    n, width = shape
    cells, blur = int(2 * np.sqrt(n)), 8 if is_sketch else 1
    everything = Effort("Flat", 0, blur)
    if wanted >= 1:
        return [everything]
    some = [Effort(f"IVF{cells},Flat", 1 << power, blur) for power in range(3, 10) if 1 << power < cells]
    if multiplies_bytes_fast():
        some += [Effort(BYTES, 0, depth * blur) for depth in (2, 4, 8)]
    else:
        some += [Effort(f"PQ{width // 2}x4fs", 0, depth * (2 if is_sketch else 1)) for depth in (8, 16, 32)]
    most = _cost(everything, cells, shape, k)
    some = sorted(
        (one for one in some if _cost(one, cells, shape, k) < most),
        key=lambda one: _cost(one, cells, shape, k),
    )
    return some + [everything] * (not some or float(n) * n * width <= MOST_PAIRS)


def _cost(effort: Effort, cells: int, shape: tuple[int, ...], k: int) -> float:
    """Nanoseconds per node, about, as measured at 170,000 x 128 and 200,000 x 16 (`study/sampling.md`).

    That of an inverted file's k-means counts four times: where rows are noise it is for nothing, and a scan never is.
    """
    n, width = shape
    ranking = 130.0 * effort.depth * (k + 1)
    if effort.probes:
        building = cells * width * (800 * cells / n + 2) / 60
        return n * effort.probes / cells * (4 + 0.18 * width) + ranking + 4 * building
    if effort.kind == "Flat":
        return n * (2.3 + 0.004 * width) + ranking
    if effort.kind == BYTES:
        return n * (0.03 + 0.0023 * width) + 20_000 + ranking
    return n * (0.45 + 0.0027 * width) + ranking


def _build(points: np.ndarray, kind: str) -> Any:
    if kind == BYTES:
        return ByteScan(points)
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # what k-means finds depends on how its sums are split
    try:
        index: Any = faiss.index_factory(points.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
        if not index.is_trained:
            most = _SAMPLED_PER_CELL * index.nlist if kind.startswith("IVF") else _CODED
            chosen = np.random.default_rng(0).permutation(len(points))[:most]
            with stage("KNN index"):
                index.train(points[np.sort(chosen)])
    finally:
        faiss.omp_set_num_threads(threads)
    index.add(points)
    return index


def _dense_points(unit: Rows) -> np.ndarray:
    """What is searched for candidates: the rows with an even number of columns, or a random projection of sparse ones."""
    if sp.issparse(unit):
        projection = np.random.default_rng(0).standard_normal((unit.shape[1], SKETCH), dtype=np.float32)
        points = torch.from_numpy(np.ascontiguousarray(unit @ projection))
        return torch.nn.functional.normalize(points).numpy()
    padded = np.pad(unit, ((0, 0), (0, 1))) if unit.shape[1] % 2 else unit
    return np.ascontiguousarray(padded, dtype=np.float32)


@njit(cache=True, parallel=True, fastmath=True)
def _rank(
    nodes: np.ndarray, found: np.ndarray, unit: np.ndarray, values: np.ndarray, columns: np.ndarray
) -> None:
    for b in prange(len(nodes)):
        own = unit[nodes[b]]
        scores = np.empty(found.shape[1], dtype=np.float32)
        kept = np.empty(found.shape[1], dtype=np.int32)
        count = 0
        for other in found[b]:
            if other >= 0 and other != nodes[b]:
                total = np.float32(0.0)
                for c in range(len(own)):
                    total += own[c] * unit[other, c]
                scores[count], kept[count] = total, other
                count += 1
        size = min(count, values.shape[1])
        keep_largest(scores[:count], kept[:count], values[b, :size], columns[b, :size])


@njit(cache=True, parallel=True)
def _rank_sparse(
    nodes: np.ndarray,
    found: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    width: int,
    values: np.ndarray,
    columns: np.ndarray,
) -> None:
    for b in prange(len(nodes)):
        own = np.zeros(width, dtype=np.float32)
        for e in range(indptr[nodes[b]], indptr[nodes[b] + 1]):
            own[indices[e]] = data[e]
        scores = np.empty(found.shape[1], dtype=np.float32)
        kept = np.empty(found.shape[1], dtype=np.int32)
        count = 0
        for other in found[b]:
            if other >= 0 and other != nodes[b]:
                total = np.float32(0.0)
                for e in range(indptr[other], indptr[other + 1]):
                    total += own[indices[e]] * data[e]
                scores[count], kept[count] = total, other
                count += 1
        size = min(count, values.shape[1])
        keep_largest(scores[:count], kept[:count], values[b, :size], columns[b, :size])


@njit(cache=True)
def _mixed(column: int, bits: int) -> np.uint64:
    """64 bits of an entry (SplitMix64)."""
    z = np.uint64(column) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(bits) * np.uint64(0xD1342543DE82EF95)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, parallel=True)
def _keys(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> np.ndarray:
    """A hash of every row [n]; entries of 0 do not count."""
    keys, bits = np.zeros(len(indptr) - 1, dtype=np.uint64), data.view(np.uint32)
    for row in prange(len(keys)):
        total = np.uint64(0)
        for e in range(indptr[row], indptr[row + 1]):
            if data[e] != 0:
                total += _mixed(indices[e], bits[e])
        keys[row] = total
    return keys


@njit(cache=True, parallel=True)
def _keys_of_dense(unit: np.ndarray) -> np.ndarray:
    keys, bits = np.zeros(len(unit), dtype=np.uint64), unit.view(np.uint32)
    for row in prange(len(unit)):
        total = np.uint64(0)
        for c in range(unit.shape[1]):
            if unit[row, c] != 0:
                total += _mixed(c, bits[row, c])
        keys[row] = total
    return keys


@njit(cache=True, parallel=True)
def _expand(
    nodes: np.ndarray,
    place: np.ndarray,
    length: np.ndarray,
    group: np.ndarray,
    start: np.ndarray,
    members: np.ndarray,
    found_values: np.ndarray,
    found_groups: np.ndarray,
    values: np.ndarray,
    columns: np.ndarray,
) -> None:
    most = values.shape[1] + 1  # of a distinct row no more of its nodes can be among the nearest
    for b in prange(len(nodes)):
        scores = np.empty(most * (found_groups.shape[1] + 1), dtype=np.float32)
        kept = np.empty(len(scores), dtype=np.int32)
        count = 0
        for f in range(-1, found_groups.shape[1]):
            other = group[nodes[b]] if f < 0 else found_groups[place[b], f]
            if other < 0:
                continue
            score = length[other] if f < 0 else found_values[place[b], f]
            for at in range(start[other], min(start[other + 1], start[other] + most)):
                if members[at] != nodes[b]:
                    scores[count], kept[count] = score, members[at]
                    count += 1
        size = min(count, values.shape[1])
        keep_largest(scores[:count], kept[:count], values[b, :size], columns[b, :size])
