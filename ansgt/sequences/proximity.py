"""Proximity encoding Phi_m(i, j) = Ã^m[i, j], m = 0..M-1, for the pairs of a sequence (section 5.2)."""

from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.device import table_limit
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.kernels.product import product
from ansgt.linalg import sym_norm, to_torch
from ansgt.sequences.powers import BlockedPowers, Powers, TruncatedPowers

MODES = ("auto", "dense", "blocked", "approximate")
EXACT_LIMIT = 50_000
"""Above this many nodes "auto" no longer pays for exact powers: 2,200 s per round at 170,000 nodes on two cores."""


class CoarseLike(Protocol):
    """What is used of a coarse graph: assignment [n], adjacency PᵀAP [n_c, n_c] and features PᵀX [n_c, p]."""

    @property
    def assignment(self) -> np.ndarray: ...
    @property
    def adj(self) -> sp.csr_array: ...
    @property
    def x(self) -> Tensor: ...


class Proximity:
    """Proximities of extended ids: node i is i, super-node a is n + a; a global node or a masked slot is near nothing.

    Between nodes Phi_m is Ã^m[i, j]. Super-nodes live on the coarse graph A' = PᵀAP: between super-nodes Phi_m is
    Ã'^m[a, b], and between node i and super-node a it is Ã'^m[c(i), a] with c(i) the super-node of i. Ã' is normalised
    like Ã (self-loops added, symmetric; weights, including those PᵀAP has on its diagonal, are kept).

    Args:
        num_proximity: M.
        mode: "dense" holds every pair, [(n + n_c + 1)², M] numbers on the device: a batch is one gather; "blocked" is
            exact in bounded memory; "approximate" drops entries below eps * sqrt(degree) (error:
            `ansgt.sequences.powers`); "auto" takes dense if it fits in `max_table_bytes`, blocked up to 50,000 nodes,
            approximate beyond.
        dtype: of the result; bfloat16 halves the table.
        eps: cut of "approximate".
        max_table_bytes: what "auto" may spend on the dense table; by default 4 GB on a CPU and 24 GB on a GPU.
    """

    def __init__(
        self,
        num_proximity: int = 10,
        mode: str = "auto",
        dtype: torch.dtype = torch.float32,
        eps: float = 3e-4,
        max_table_bytes: int | None = None,
    ) -> None:
        self.num_proximity = num_proximity
        self.mode = mode
        self.dtype = dtype
        self.eps = eps
        self.max_table_bytes = max_table_bytes

    def fit(
        self, graph: Graph, coarse: CoarseLike | None = None, device: torch.device | str = "cpu"
    ) -> "Proximity":
        """Normalises both graphs and, in mode "dense", computes the table.

        Args:
            graph: the graph.
            coarse: its coarse graph; ``None`` without super-nodes.
            device: where the table and the results live.
        """
        self._check(graph, coarse)
        self.num_nodes_ = graph.num_nodes
        self.num_coarse_ = 0 if coarse is None else coarse.adj.shape[0]
        self.device_ = torch.device(device)
        own = np.zeros(graph.num_nodes, dtype=np.int64) if coarse is None else np.asarray(coarse.assignment)
        self._own = torch.as_tensor(own, dtype=torch.int64).to(device)
        self.mode_ = self._choose() if self.mode == "auto" else self.mode
        self._coarse: Powers | None = None
        if self.mode_ == "dense":
            self._fine: Powers = self._joint_table(graph.adj, None if coarse is None else coarse.adj)
            return self
        self._fine = self._powers(graph.adj)
        if coarse is not None:
            self._coarse = self._powers(sp.csr_array(coarse.adj))
        return self

    @property
    def is_table(self) -> bool:
        """Whether `pairs` is one gather: then nothing is gained by keeping its results."""
        return self.mode_ == "dense"

    def pairs(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Phi for all pairs of every sequence [B, T, T, M].

        Args:
            ids: extended ids [B, T], int64.
            mask: which tokens are real [B, T], bool.
        """
        real = mask & (ids >= 0)
        if self.is_table:
            return self._fine.pairs(torch.where(real, ids, -1))
        is_node = real & (ids < self.num_nodes_)
        phi = self._fine.pairs(torch.where(is_node, ids, -1))
        if self._coarse is None:
            return phi
        own = self._own[torch.where(is_node, ids, 0)]
        above = torch.where(is_node, own, ids - self.num_nodes_)
        coarse = self._coarse.pairs(torch.where(real, above, -1))
        both_nodes = is_node[:, :, None] & is_node[:, None, :]
        return torch.where(both_nodes[..., None], phi, coarse)

    def _check(self, graph: Graph, coarse: CoarseLike | None) -> None:
        if self.mode not in MODES:
            raise unknown_name("proximity mode", self.mode, MODES)
        if self.num_proximity < 1:
            raise InputError(f"num_proximity must be at least 1, not {self.num_proximity}.")
        if coarse is not None and len(coarse.assignment) != graph.num_nodes:
            raise InputError("assignment must name a super-node for every node.")

    def _choose(self) -> str:
        size = (self.num_nodes_ + self.num_coarse_ + 1) ** 2 * self.num_proximity * self.dtype.itemsize
        if size <= (self.max_table_bytes or table_limit(self.device_)):
            return "dense"
        return "blocked" if self.num_nodes_ <= EXACT_LIMIT else "approximate"

    def _powers(self, adj: sp.csr_array) -> Powers:
        if self.mode_ == "blocked":
            return BlockedPowers(adj, self.num_proximity, self.dtype, self.device_)
        return TruncatedPowers(adj, self.num_proximity, self.eps, self.dtype, self.device_)

    def _joint_table(self, adj: sp.csr_array, coarse_adj: sp.csr_array | None) -> "TablePowers":
        """One table over nodes and super-nodes, so that a batch is one gather of fixed shape."""
        n, size = self.num_nodes_, self.num_nodes_ + self.num_coarse_
        shape = (size + 1, size + 1, self.num_proximity)
        table = torch.zeros(shape, dtype=self.dtype, device=self.device_)
        fill_powers(table[:n, :n], sym_norm(adj))
        if coarse_adj is not None:
            coarse = table[n:size, n:size]
            fill_powers(coarse, sym_norm(coarse_adj))
            table[:n, n:size] = coarse[self._own]
            table[n:size, :n] = table[:n, n:size].transpose(0, 1)
        return TablePowers(table)


class TablePowers:
    """A resident table [n + 1, n + 1, M]; its last row and column are zero and stand for "no node"."""

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._flat = table.view(-1, table.shape[-1])

    def pairs(self, ids: Tensor) -> Tensor:
        null = self.table.shape[0] - 1
        safe = torch.where(ids >= 0, ids, null)
        flat = safe[:, :, None] * (null + 1) + safe[:, None, :]
        return F.embedding(flat, self._flat)


def fill_powers(out: Tensor, matrix: sp.csr_array) -> None:
    """Writes Ã^m to out[:, :, m] for every m of out [n, n, M], on out's device."""
    n = matrix.shape[0]
    sparse = to_torch(matrix).to(out.device)
    power = torch.eye(n, device=out.device)
    for m in range(out.shape[-1]):
        power = product(sparse, power) if m else power
        out[..., m] = power
