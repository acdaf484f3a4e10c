"""Rows of heuristics on disk: computed once, a shard at a time, and mapped into memory where they are read.

::

    CACHE/rows/<graph>/<heuristic>/<number>.safetensors

A shard holds the rows of `SHARD` nodes, one after the other, as a CSR matrix: indptr (int64), indices (int32) and data
(float32), 8 bytes per entry. Whatever computes a shard writes it whole or not at all, so a killed process loses one.

Why not float16, 6 bytes per entry: psi then changes by 6e-5 (total variation; Cora, Chameleon and a graph of 20,000 nodes),
which is nothing, but one sequence in eight or so is drawn otherwise, and a run would give other numbers with the store
than without.
"""

import json
import os
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import save_file

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics.base import Heuristic
from ansgt.linalg import CSR
from ansgt.seal import is_sealed, seal
from ansgt.storage import DiskCache, atomic_path, brief, content_hash

SHARD = 32_768
"""Nodes of a shard, about: it is a whole number of the heuristic's blocks."""
FOLDER = "rows"
"""Where stores lie in a cache."""
_KINDS = {"indptr": np.int64, "indices": np.int32, "data": np.float32}


class Version(NamedTuple):
    """What changes when a file is replaced or written to; only the system sets the time."""

    inode: int
    changed: int
    size: int

    @classmethod
    def of(cls, facts: os.stat_result) -> "Version":
        return cls(facts.st_ino, facts.st_ctime_ns, facts.st_size)


class Shards:
    """Blocks of rows in a folder, each in a file of its own.

    A file counts if this user sealed its content for this key and place (`ansgt.seal`). That is checked when a process first
    reads it, and again if the file has changed since.

    Args:
        folder: where they lie.
        key: hash of all that decides the rows.
        count: how many there are.
    """

    def __init__(self, folder: Path, key: str, count: int) -> None:
        self.folder, self.key, self.count = folder, key, count
        self._known: dict[int, Version] = {}

    def __len__(self) -> int:
        return self.count

    def path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.safetensors"

    def missing(self) -> list[int]:
        """Numbers of the shards that are not there."""
        return [number for number in range(self.count) if not self.path(number).is_file()]

    def bytes(self) -> int:
        """Size of what is there."""
        return sum(
            self.path(number).stat().st_size for number in set(range(self.count)) - set(self.missing())
        )

    def write(self, number: int, rows: sp.csr_array) -> None:
        parts = {name: np.ascontiguousarray(getattr(rows, name), kind) for name, kind in _KINDS.items()}
        with atomic_path(self.path(number)) as temporary:
            save_file(parts, temporary, metadata={"seal": seal(self._digest(number, parts))})
        self._known.pop(number, None)

    def read(self, number: int) -> CSR | None:
        """The rows of a shard, mapped; None where it is absent, damaged or somebody else's."""
        try:
            parts, claimed, version = _mapped(self.path(number))
            if self._known.get(number) != version:
                if not is_sealed(self._digest(number, parts), claimed):
                    return None
                self._known[number] = version
        except Exception:  # whatever is wrong with a file of a cache costs time alone
            return None
        return CSR(**parts)

    def _digest(self, number: int, parts: dict[str, np.ndarray]) -> str:
        return content_hash(self.key, number, parts)


def _mapped(path: Path) -> tuple[dict[str, np.ndarray], Any, Version]:
    """The arrays of a safetensors file without reading them, what it says of its seal, and which file it is."""
    with path.open("rb") as stream:
        version = Version.of(os.fstat(stream.fileno()))
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(min(length, version.size)))
        content = np.asarray(np.memmap(stream, dtype=np.uint8, mode="r", offset=0))[8 + length :]
    parts = {}
    for name, kind in _KINDS.items():
        first, last = header[name]["data_offsets"]
        parts[name] = content[first:last].view(kind)
    return parts, header["__metadata__"]["seal"], version


class StoredHeuristic:
    """A heuristic whose rows lie on disk; `rows` reads them, whatever the order and number of the nodes asked for.

    `fit` computes nothing. A shard that is absent or damaged is computed when it is needed, and stored.

    Args:
        heuristic: computes the rows; they are exactly what it gives.
        cache: where they are stored.

    >>> import tempfile
    >>> from ansgt.heuristics import OneHop
    >>> from ansgt.testing import path_graph
    >>> stored = StoredHeuristic(OneHop(), DiskCache(tempfile.mkdtemp())).fit(path_graph(3))
    >>> stored.rows(np.array([1])).toarray(), stored.is_complete
    (array([[0.5, 0. , 0.5]], dtype=float32), True)
    """

    def __init__(self, heuristic: Heuristic, cache: DiskCache) -> None:
        if cache.directory is None:
            raise InputError("Rows can only be stored where there is a cache.")
        self.heuristic = heuristic
        self.directory = cache.directory / FOLDER

    def fit(self, graph: Graph) -> Self:
        """Remembers the graph and finds what is stored of it."""
        self.heuristic.attach(graph)
        self.num_nodes = graph.num_nodes
        self.shard_size = max(1, SHARD // self.heuristic.block_size) * self.heuristic.block_size
        key = content_hash([*self.heuristic.key(), self.shard_size, graph.content_hash])
        folder = self.directory / graph.content_hash[:16] / f"{self.kind}-{key[:16]}"
        self.shards = Shards(folder, key, -(-self.num_nodes // self.shard_size))
        return self

    @property
    def kind(self) -> str:
        return type(self.heuristic).__name__.lower()

    @property
    def is_complete(self) -> bool:
        """Whether every shard is there; whether each is whole is seen when it is read."""
        return not self.shards.missing()

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        """Rows of Q_k for `nodes` [len(nodes), n], float32: what the heuristic itself gives."""
        nodes = self.heuristic.checked(nodes)
        order = np.argsort(nodes, kind="stable")
        ordered = nodes[order]
        starts = np.arange(len(self.shards)) * self.shard_size
        bounds = np.append(np.searchsorted(ordered, starts), len(nodes))
        parts = [
            _taken(self._shard(number), ordered[first:last] - starts[number])
            for number, (first, last) in enumerate(pairwise(bounds))
            if last > first
        ]
        found = _joined(parts, self.num_nodes)
        return found if bool((order[1:] > order[:-1]).all()) else found[np.argsort(order)]

    def measured(self) -> dict[str, Any]:
        """How near the stored rows are to exact ones (see `Heuristic.measured`)."""
        return self.heuristic.measured(self)

    def complete(self) -> Iterator[int]:
        """Computes and stores what is absent or damaged; gives, block by block, the number of rows that are done."""
        missing = self.absent()
        done = self.num_nodes - sum(len(self.nodes(number)) for number in missing)
        yield done
        for number in missing:
            for rows in self.store(number):
                done += rows
                yield done

    def absent(self) -> list[int]:
        """Numbers of the shards that are absent or damaged; reads all others."""
        return [number for number in range(len(self.shards)) if self.shards.read(number) is None]

    def store(self, number: int) -> Iterator[int]:
        """Computes and stores one shard; gives, block by block, how many rows that were."""
        blocks = []
        for block in self._computed(number):
            blocks.append(block)
            yield block.shape[0]
        self.shards.write(number, _stacked(blocks))

    def nodes(self, number: int) -> range:
        """Whose rows a shard holds."""
        first = number * self.shard_size
        return range(first, min(first + self.shard_size, self.num_nodes))

    def _computed(self, number: int) -> Iterator[sp.csr_array]:
        nodes = self.nodes(number)
        return map(self.heuristic.rows, self.heuristic.blocks(nodes.start, nodes.stop))

    def _shard(self, number: int) -> CSR:
        found = self.shards.read(number)
        if found is not None:
            return found
        path = self.shards.path(number)
        if path.exists():
            warnings.warn(
                f"The file {path} is damaged or not yours: its rows are computed again.", stacklevel=2
            )
        rows = _stacked(list(self._computed(number)))
        try:
            self.shards.write(number, rows)
        except (OSError, InputError) as error:
            warnings.warn(f"Rows cannot be stored in {path.parent} ({brief(error)}).", stacklevel=2)
        return CSR.of(rows, dtype=np.float32)


def _stacked(blocks: list[sp.csr_array]) -> sp.csr_array:
    return blocks[0] if len(blocks) == 1 else sp.csr_array(sp.vstack(blocks, format="csr"))


def _taken(shard: CSR, rows: np.ndarray) -> CSR:
    """Some rows of a shard, ascending, in memory of their own."""
    starts, lengths = shard.indptr[rows], shard.indptr[rows + 1] - shard.indptr[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    if bool((np.diff(rows) == 1).all()):  # the usual block: one stretch of the file
        entries: Any = slice(starts[0], starts[0] + indptr[-1])
        return CSR(indptr, np.array(shard.indices[entries]), np.array(shard.data[entries]))
    entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
    return CSR(indptr, shard.indices[entries], shard.data[entries])


def _joined(parts: list[CSR], num_nodes: int) -> sp.csr_array:
    """The rows of several shards, one after the other."""
    if not parts:
        return sp.csr_array((0, num_nodes), dtype=np.float32)
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([part.indices for part in parts])
    data = np.concatenate([part.data for part in parts])
    return sp.csr_array((data, indices, indptr), shape=(len(lengths), num_nodes))
