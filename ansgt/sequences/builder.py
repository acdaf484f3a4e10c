"""`SequenceBuilder`: integer tables of all sequences of a round, on the device; a batch is a few gathers of fixed shape."""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.device import is_main_memory, multiplies_sparse, reads_aligned_rows, replays_graphs
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.heuristics.rows import csr_top_k
from ansgt.kernels.dropout import WHOLE, Places
from ansgt.linalg import csr_array, to_torch
from ansgt.ranks import ranks
from ansgt.sampling.drawing import race, sequence_keys, stream
from ansgt.sampling.sampler import SampledNodes
from ansgt.sequences.batch import SequenceBatch, SequenceLayout
from ansgt.sequences.proximity import CoarseLike, Proximity

ENCODE = ("auto", "all", "unique")
_SUPERNODES = 1
"""Which of the round's random streams draws super-nodes; stream 0 is the sampler's."""
_CHUNK_ELEMENTS = 1 << 24
ALIGNED_COLUMNS = 16
MAX_DENSE_LINKS = 1 << 31
"""Numbers of a dense matrix of links on a GPU."""


@dataclass(frozen=True)
class BuilderOptions:
    """How sequences are built.

    Args:
        seed: of the super-node draw.
        multiplicity_bias: whether a merged token's `log_count` is the log of how often it was drawn, or 0.
        encode: "all" puts every row of the features into a batch (fixed shape; what a captured graph wants), "unique"
            only those that occur; "auto" is "all" on a GPU, elsewhere the smaller of the two.
        max_neighbors: cut of a row of the coarse adjacency, largest weights first.
        max_table_bytes: how much a kept table of proximities may take where they are not a table already; beyond
            that they are computed batch by batch.
        apart: features of nodes and of super-nodes are not put into one matrix: for a few sequences on a CPU.
    """

    seed: int = 0
    multiplicity_bias: bool = True
    encode: str = "auto"
    max_neighbors: int = 256
    max_table_bytes: int = 16 << 30
    apart: bool = False


class SequenceBuilder:
    """Holds the sequences [centre | sampled | super-nodes | global] of a round (section 5.2).

    Super-node slots: the centre's own super-node, then n_s - 1 others drawn without replacement from its row of the
    coarse adjacency (diagonal left out, weights as probabilities), anew for every round, centre and sequence; masked
    where it has fewer neighbours.

    Args:
        graph: features, columns of links if it has them, and labels.
        layout: N, n_s, n_g.
        proximity: fitted on the same graph and coarse graph; its device is the builder's, and its precision that of dense
            features on a GPU.
        coarse: the coarse graph; ``None`` only if the layout has no super-node slots.
        options: see `BuilderOptions`.
    """

    ids: Tensor
    mask: Tensor
    log_count: Tensor
    phi: Tensor | None
    _row: Tensor

    def __init__(
        self,
        graph: Graph,
        layout: SequenceLayout,
        proximity: Proximity,
        coarse: CoarseLike | None = None,
        options: BuilderOptions | None = None,
    ) -> None:
        self.options = options or BuilderOptions()
        if self.options.encode not in ENCODE:
            raise unknown_name("encode setting", self.options.encode, ENCODE)
        if layout.num_supernodes and coarse is None:
            raise InputError(f"num_supernodes is {layout.num_supernodes}, but there is no coarse graph.")
        self.layout = layout
        self.proximity = proximity
        self.device = proximity.device_
        self.num_nodes = graph.num_nodes
        self.x: Tensor | Stacked
        if self.options.apart and is_main_memory(self.device):
            self.x = Stacked((graph.x,) if coarse is None else (graph.x, _like(coarse.x, graph.x)))
        else:
            self.x = _for_device(_stack_features(graph, coarse), self.device, proximity.dtype)
        self.links: Tensor | None = None
        if graph.links is not None:
            links = _dense_where_small(_stack_links(graph.links, coarse), self.device)
            self.links = _for_device(links, self.device, proximity.dtype)
        self.y = graph.y.to(self.device)
        self._globals = -1 - torch.arange(layout.num_global, device=self.device)
        if coarse is not None:
            self._own = torch.as_tensor(coarse.assignment, dtype=torch.int64).to(self.device)
            self._near, self._near_weight = _neighbor_tables(
                coarse.adj, self.options.max_neighbors, self.device
            )
        self._release()

    @property
    def num_sequences(self) -> int:
        """S of the present tables."""
        return self.ids.shape[1]

    def resample(self, sampled: SampledNodes, round: int = 0) -> "SequenceBuilder":
        """Takes the draw of a round and builds the tables: `ids`, `mask`, `log_count` [R, S, T] for its R centres.

        Tables of the same shape are written in place: a CUDA graph that was captured on them stays valid.
        """
        nodes = sampled.nodes.to(self.device)
        shape = (*sampled.ids.shape[:2], self.layout.length)
        if self.ids.shape != torch.Size(shape):
            self._release()  # or old and new tables would be there at once
        self.ids = _filled(self.ids, shape, 0)
        self.mask = _filled(self.mask, shape, 1)
        self.log_count = _filled(self.log_count, shape, 0)
        self.ids[..., 0] = nodes[:, None]
        self.ids[..., self.layout.sampled] = sampled.ids
        self.mask[..., self.layout.sampled] = sampled.mask
        if self.options.multiplicity_bias:
            self.log_count[..., self.layout.sampled] = sampled.count.clamp(min=1).log()
        self.ids[..., self.layout.globals] = self._globals
        if self.layout.num_supernodes:
            self._place_supernodes(nodes, round)
        self._row = _filled(self._row, (self.num_nodes,), 0)
        self._row[nodes] = torch.arange(len(nodes), device=self.device)
        self._tabulate()
        return self

    def grown(
        self, graph: Graph, proximity: Proximity, x: Tensor, coarse: CoarseLike | None
    ) -> "SequenceBuilder":
        """The same on a graph that grew from this one's, without sequences yet.

        Args:
            graph: the older one's nodes come first; its own features are not read.
            proximity: of that graph.
            x: what the transformer sees of its new nodes [k, p].
            coarse: its coarse graph; its first super-nodes are those of the older one.
        """
        assert isinstance(self.x, Stacked)
        other = copy.copy(self)
        other.proximity, other.num_nodes, other.y = proximity, graph.num_nodes, graph.y
        nodes, *above = self.x.pieces
        if coarse is not None:
            lone = coarse.x[above[0].shape[0] :]
            other._own = torch.as_tensor(coarse.assignment, dtype=torch.int64)
            if len(lone):
                above, more = [*above, _like(lone, x)], (0, 0, 0, len(lone))
                other._near, other._near_weight = F.pad(self._near, more), F.pad(self._near_weight, more)
        other.x = Stacked((nodes, x, *above))
        other._release()
        return other

    def take(self, other: "SequenceBuilder") -> None:
        """Goes on with the tables of another one of the same graph, which are not copied."""
        self.ids, self.mask, self.log_count = other.ids, other.mask, other.log_count
        self.phi, self._row = other.phi, other._row

    def batch(
        self, centres: Tensor, sequences: Tensor | None = None, whole: int | None = None
    ) -> SequenceBatch:
        """Sequences of `centres` [b], centre-major: row i * s + j is centre i, sequence j of `sequences` [s].

        Args:
            centres: whose sequences.
            sequences: which of them; by default all.
            whole: of how many centres the batch is whose other centres other processes have (`ansgt.ranks`).
        """
        centres = centres.to(self.device, torch.int64)
        if sequences is None:
            sequences = torch.arange(self.num_sequences, device=self.device)
        rows = self._row[centres][:, None] * self.num_sequences + sequences.to(self.device)
        return self.gather(rows.flatten(), whole)

    def gather(self, rows: Tensor, whole: int | None = None) -> SequenceBatch:
        """Sequences by their rows [B] in the flattened tables: row of the centre * S + sequence.

        Args:
            rows: this process's.
            whole: the number of centres of the whole batch, of which each process has its share.
        """
        ids = self._flat(self.ids)[rows].to(torch.int64)
        mask = self._flat(self.mask)[rows]
        phi = self.proximity.pairs(ids, mask) if self.phi is None else self._flat(self.phi)[rows]
        each = 0 if whole is None else len(ids) // ranks().share_size(whole)
        kept, index = self._encoded(ids, mask, len(ids) if whole is None else whole * each)
        x, links = (
            part if part is None or (isinstance(part, Tensor) and kept is None) else _select_rows(part, kept)
            for part in (self.x, self.links)
        )
        assert x is not None
        log_count = self._flat(self.log_count)[rows]
        places = self._places(ids, mask, kept, whole)
        target = self.y[ids[:, 0]]
        return SequenceBatch(self.layout, ids, mask, log_count, phi, x, index, target, links, *places)

    def _release(self) -> None:
        """Tables of no sequences."""
        nothing = torch.zeros(0, 0, self.layout.length, device=self.device)
        self.ids, self.mask, self.log_count = nothing.int(), nothing.bool(), nothing
        self.phi = None
        self._row = torch.zeros(0, dtype=torch.int64, device=self.device)

    def _place_supernodes(self, nodes: Tensor, round: int) -> None:
        """Own super-node, then the others by a race over the own one's neighbours."""
        slots = self.layout.supernodes
        key = stream(self.options.seed, round, _SUPERNODES)
        for part in self._node_chunks(len(nodes)):
            own = self._own[nodes[part]]
            chosen = self._draw_neighbors(nodes[part], own, key)
            others = self._near[own[:, None, None], chosen.clamp(min=0)]
            table = self.ids[part, :, slots]
            table[..., 0] = own[:, None] + self.num_nodes
            table[..., 1:] = (others + self.num_nodes) * (chosen >= 0)
            self.mask[part, :, slots][..., 1:] = chosen >= 0

    def _draw_neighbors(self, nodes: Tensor, own: Tensor, key: int) -> Tensor:
        keys = sequence_keys(key, nodes, self.num_sequences)
        others = self.layout.num_supernodes - 1
        return race(self._near_weight[own], self._near[own], keys, others).position

    def _node_chunks(self, num_nodes: int) -> Iterator[slice]:
        size = max(1, _CHUNK_ELEMENTS // (self._near.shape[1] * self.num_sequences))
        for start in range(0, num_nodes, size):
            yield slice(start, start + size)

    def _tabulate(self) -> None:
        """Proximities of all sequences [R, S, Q, T, M], unless they are a gather anyway or would not fit."""
        length, width = self.layout.length, self.proximity.num_proximity
        shape = (*self.ids.shape[:2], self.proximity.rows(length), length, width)
        if (
            self.proximity.is_table
            or math.prod(shape) * self.proximity.dtype.itemsize > self.options.max_table_bytes
        ):
            self.phi = None
            return
        if self.phi is None:
            self.phi = torch.zeros(0, dtype=self.proximity.dtype, device=self.device)
        self.phi = _filled(self.phi, shape, 0)
        self.proximity.fill(self._flat(self.phi), self._flat(self.ids).to(torch.int64), self._flat(self.mask))

    def _encoded(self, ids: Tensor, mask: Tensor, whole: int) -> tuple[Tensor | None, Tensor]:
        """Rows of the features to encode [U] (None: all), and which of them a token is [B, T], of `whole` sequences."""
        real = mask & (ids >= 0)
        encode, fixed = self.options.encode, replays_graphs(self.device)
        kept, number = None, self.x.shape[0]
        if encode == "all" or (encode == "auto" and (fixed or number <= whole * ids.shape[1])):
            rows = torch.where(real, ids, 0)
        else:
            kept, rows = torch.unique(_nodes_of(ids, mask), return_inverse=True)
            number, rows = len(kept), rows.view(ids.shape) * real
        return kept, torch.where(mask & (ids < 0), number - 1 - ids, rows)

    def _places(
        self, ids: Tensor, mask: Tensor, kept: Tensor | None, whole: int | None
    ) -> tuple[Places, Places]:
        """Where features and links of the rows that are encoded here stand among those of all processes' sequences."""
        if kept is None or whole is None:
            return WHOLE, WHOLE
        by_centre = _nodes_of(ids, mask).view(ranks().share_size(whole), -1)
        encoded = torch.unique(ranks().gathered(by_centre, whole))
        at = torch.searchsorted(encoded, kept)
        return _places_of(self.x, encoded, at), _places_of(self.links, encoded, at)

    @staticmethod
    def _flat(table: Tensor) -> Tensor:
        return table.flatten(0, 1)


class Stacked:
    """Rows that lie under one another in several pieces, dense or CSR, on the CPU; nothing is copied until they are read."""

    def __init__(self, pieces: tuple[Tensor, ...]) -> None:
        self.pieces = pieces
        self.shape = torch.Size((sum(piece.shape[0] for piece in pieces), pieces[0].shape[1]))
        self.layout = pieces[0].layout

    def rows(self, rows: Tensor | None) -> Tensor:
        """Some rows, in ascending order; None: all."""
        first, found = 0, []
        for piece in self.pieces:
            if rows is not None:
                here = (rows >= first) & (rows < first + piece.shape[0])
                first += piece.shape[0]
                piece = _select_rows(piece, rows[here] - first + piece.shape[0])
            found.append(piece)
        if self.layout == torch.strided:
            return torch.cat(found)
        return to_torch(sp.csr_array(sp.vstack([csr_array(one) for one in found])))


def _like(x: Tensor, other: Tensor) -> Tensor:
    """Features of super-nodes in the layout of the nodes'."""
    return _dense(x) if other.layout == torch.strided else to_torch(sp.csr_array(_dense(x).numpy()))


def _filled(table: Tensor, shape: Sequence[int], value: float) -> Tensor:
    """A table of this shape full of `value`, in the same memory where it already has the shape."""
    return (table if table.shape == torch.Size(shape) else table.new_empty(tuple(shape))).fill_(value)


def _neighbor_tables(
    adj: sp.csr_array, max_neighbors: int, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    """Neighbours of every super-node [n_c, C], int64, and their weights, float64, 0 beyond the last; no diagonal."""
    off = sp.csr_array(adj).astype(np.float64)
    off = sp.csr_array(off - sp.diags_array(off.diagonal()))
    off.eliminate_zeros()
    off = csr_top_k(off, max_neighbors)
    lengths = np.diff(off.indptr)
    shape = (off.shape[0], max(int(lengths.max(initial=0)), 1))
    near, weight = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    filled = np.arange(shape[1]) < lengths[:, None]
    near[filled], weight[filled] = off.indices, off.data
    return torch.from_numpy(near).to(device), torch.from_numpy(weight).to(device)


def _stack_features(graph: Graph, coarse: CoarseLike | None) -> Tensor:
    """X over PᵀX [n + n_c, p], sparse if X is."""
    if coarse is None:
        return graph.x
    if graph.x.layout == torch.strided:
        return torch.cat([graph.x, _dense(coarse.x)])
    own = sp.csr_array(graph.features)
    return to_torch(sp.csr_array(sp.vstack([own, sp.csr_array(_dense(coarse.x).numpy())])))


def _stack_links(links: Tensor, coarse: CoarseLike | None) -> Tensor:
    """A node's columns of links over those of the super-nodes, the mean of their nodes' [n + n_c, W]."""
    if coarse is None:
        return links
    own, assignment, number = csr_array(links), np.asarray(coarse.assignment), coarse.adj.shape[0]
    sizes = np.bincount(assignment, minlength=number)
    shape = (number, len(assignment))
    members = sp.csr_array((1 / sizes[assignment], (assignment, np.arange(len(assignment)))), shape=shape)
    return to_torch(sp.csr_array(sp.vstack([own, sp.csr_array(members @ own)])))


def _dense_where_small(links: Tensor, device: torch.device) -> Tensor:
    """Dense on a device that multiplies dense matrices alone, as long as there is room for it."""
    fits = links.shape[0] * links.shape[1] <= MAX_DENSE_LINKS
    return links.to_dense() if fits and not multiplies_sparse(device) else links


def _for_device(x: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Features where they are used. On a GPU dense rows get columns of zeros up to a multiple of 16: tensor cores read
    rows in 16-byte pieces, and Cora's 1,433 columns would take the slow path. `InputProjection` knows."""
    if not reads_aligned_rows(device) or x.layout != torch.strided:
        return x.to(device)
    return F.pad(x.to(device, dtype), (0, -x.shape[1] % ALIGNED_COLUMNS))


def _dense(x: Tensor | np.ndarray | sp.csr_array) -> Tensor:
    tensor = torch.as_tensor(x.toarray() if sp.issparse(x) else x)  # type: ignore[union-attr]
    return (tensor if tensor.layout == torch.strided else tensor.to_dense()).to(torch.float32)


def _nodes_of(ids: Tensor, mask: Tensor) -> Tensor:
    """The tokens with features [B, T]; in place of others the centre."""
    return torch.where(mask & (ids >= 0), ids, ids[:, :1])


def _places_of(x: "Tensor | Stacked | None", rows: Tensor, at: Tensor) -> Places:
    """Where `rows[at]` of x stand among its `rows`; of a sparse x, its entries."""
    if x is None or not isinstance(x, Tensor) or x.layout == torch.strided:
        return Places(at, len(rows))
    lengths = x.crow_indices().diff()[rows]
    ends, own = lengths.cumsum(0), lengths[at]
    first = torch.repeat_interleave(ends[at] - own.cumsum(0), own)
    return Places(first + torch.arange(len(first)), int(ends[-1]))


def _select_rows(x: "Tensor | Stacked", rows: Tensor | None) -> Tensor:
    """Rows in ascending order."""
    if isinstance(x, Stacked):
        return x.rows(rows)
    assert rows is not None
    if x.layout == torch.strided:
        return x[rows]
    return to_torch(sp.csr_array(csr_array(x)[rows.cpu().numpy()])).to(x.device)
