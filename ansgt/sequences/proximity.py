"""Proximity encoding Phi_m(i, j) = Ã^m[i, j], m = 0..M-1, for the pairs of a sequence (section 5.2)."""

import copy
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.device import table_limit
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph, structure
from ansgt.kernels.product import product
from ansgt.linalg import sym_norm, to_torch
from ansgt.sequences.powers import BlockedPowers, Powers, TruncatedPowers

MODES = ("auto", "dense", "blocked", "approximate")


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
            `ansgt.sequences.powers`); "auto" takes dense if it fits in `max_table_bytes`, else what a trial of some
            columns finds cheaper.
        dtype: of the result; bfloat16 halves the table.
        eps: cut of "approximate".
        max_table_bytes: what "auto" may spend on the dense table; by default 4 GB on a CPU and 24 GB on a GPU.
        centre_only: give the first token's row alone: nothing else is read where the transformer has one layer.
        measured: whether the error of "approximate" is measured, for the record. Without, a few sequences are all that is
            asked for: "auto" then takes "blocked", as exact, where a table would fit.

    After `fit`, `mode_` is what was chosen and `measured_` what is known of its error and cost.
    """

    def __init__(
        self,
        num_proximity: int = 10,
        mode: str = "auto",
        dtype: torch.dtype = torch.float32,
        eps: float = 3e-4,
        max_table_bytes: int | None = None,
        centre_only: bool = False,
        measured: bool = True,
    ) -> None:
        self.num_proximity = num_proximity
        self.mode = mode
        self.dtype = dtype
        self.eps = eps
        self.max_table_bytes = max_table_bytes
        self.centre_only = centre_only
        self.measured = measured

    def fit(
        self, graph: Any, coarse: CoarseLike | None = None, device: torch.device | str = "cpu"
    ) -> "Proximity":
        """Normalises both graphs and, in mode "dense", computes the table.

        Args:
            graph: a `Graph`, a scipy adjacency or a networkx graph.
            coarse: its coarse graph; ``None`` without super-nodes.
            device: where the table and the results live.
        """
        graph = structure(graph)
        self._check(graph, coarse)
        self.num_nodes_: int = graph.num_nodes
        self.num_coarse_ = 0 if coarse is None else coarse.adj.shape[0]
        self.device_ = torch.device(device)
        own = np.zeros(graph.num_nodes, dtype=np.int64) if coarse is None else np.asarray(coarse.assignment)
        self._own = torch.as_tensor(own, dtype=torch.int64).to(device)
        self._table: TablePowers | None = None
        self._fine = self._choose(graph.adj)
        self._coarse: Powers | None = None
        if self._fine is None:
            self._table = self._joint_table(graph.adj, None if coarse is None else coarse.adj)
        elif coarse is not None:
            self._coarse = self._powers(sp.csr_array(coarse.adj))
        return self

    def grown(self, graph: Graph, coarse: CoarseLike | None) -> "Proximity | None":
        """The same on a graph that grew from this one's; None where all pairs are a table.

        Args:
            graph: the older one's nodes come first. Whether small entries are dropped stays as it was decided.
            coarse: its coarse graph; super-nodes beyond those known are linked to none.
        """
        if self._fine is None:
            return None
        other = copy.copy(self)
        other.num_nodes_ = graph.num_nodes
        fine = self._fine
        other._fine = fine.grown(graph) if isinstance(fine, TruncatedPowers) else self._powers(graph.adj)
        if coarse is None:
            other._own = torch.zeros(graph.num_nodes, dtype=torch.int64, device=self.device_)
            return other
        other._own = torch.as_tensor(coarse.assignment, dtype=torch.int64).to(self.device_)
        more = coarse.adj.shape[0] - self.num_coarse_
        other.num_coarse_ = self.num_coarse_ + more
        if more > 0:
            cut = self._coarse if isinstance(self._coarse, TruncatedPowers) else None
            other._coarse = self._powers(sp.csr_array(coarse.adj)) if cut is None else cut.with_lone(more)
        return other

    @property
    def is_table(self) -> bool:
        """Whether `pairs` is one gather: then nothing is gained by keeping its results."""
        return self.mode_ == "dense"

    def rows(self, length: int) -> int:
        """Q: how many tokens' rows `pairs` gives for sequences of `length` tokens."""
        return 1 if self.centre_only else length

    def pairs(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Phi for all pairs of every sequence [B, T, T, M], or with `centre_only` for the first token's [B, 1, T, M].

        Args:
            ids: extended ids [B, T], int64.
            mask: which tokens are real [B, T], bool.
        """
        if self._table is not None:
            return self._table.pairs(torch.where(mask & (ids >= 0), ids, -1), self.rows(ids.shape[1]))
        shape = (len(ids), self.rows(ids.shape[1]), ids.shape[1], self.num_proximity)
        out = torch.zeros(shape, dtype=self.dtype, device=ids.device)
        self.fill(out, ids, mask)
        return out

    def fill(self, out: Tensor, ids: Tensor, mask: Tensor) -> None:
        """`pairs` into `out` of its shape, which is all-zero."""
        if self._fine is None:
            out.copy_(self.pairs(ids, mask))
            return
        real = mask & (ids >= 0)
        is_node = real & (ids < self.num_nodes_)
        self._fine.fill(out, torch.where(is_node, ids, -1))
        if self._coarse is not None:
            own = self._own[torch.where(is_node, ids, 0)]
            above = torch.where(is_node, own, ids - self.num_nodes_)
            self._coarse.fill(out, torch.where(real, above, -1), apart=is_node)

    def _check(self, graph: Graph, coarse: CoarseLike | None) -> None:
        if self.mode not in MODES:
            raise unknown_name("proximity mode", self.mode, MODES)
        if self.num_proximity < 1:
            raise InputError(f"num_proximity must be at least 1, not {self.num_proximity}.")
        if coarse is not None and len(coarse.assignment) != graph.num_nodes:
            raise InputError("assignment must name a super-node for every node.")

    def _choose(self, adj: sp.csr_array) -> Powers | None:
        """Sets `mode_` and `measured_`; the powers of the graph, or None for a table."""
        self.mode_ = self.mode
        if self.mode == "auto":
            self.mode_ = "approximate"
            if self._table_fits():
                self.mode_ = "dense" if self.measured else "blocked"
        self.measured_: dict[str, Any] = {"mode": self.mode_}
        if self.mode_ == "dense":
            return None
        if self.mode_ == "blocked":
            return self._powers(adj)
        powers = TruncatedPowers(adj, self.num_proximity, self.eps)
        trial = powers.trial(self.measured)
        if self.mode == "auto" and not trial.pays:
            self.mode_, self.measured_ = "blocked", {"mode": "blocked"}
            return self._powers(adj)
        self.measured_ = {"mode": "approximate", "eps": self.eps, **asdict(trial)}
        return powers

    def _table_fits(self) -> bool:
        size = (self.num_nodes_ + self.num_coarse_ + 1) ** 2 * self.num_proximity * self.dtype.itemsize
        limit = table_limit(self.device_) if self.max_table_bytes is None else self.max_table_bytes
        return size <= limit

    def _powers(self, adj: sp.csr_array) -> Powers:
        if self.mode_ == "blocked":
            return BlockedPowers(adj, self.num_proximity, self.device_)
        return TruncatedPowers(adj, self.num_proximity, self.eps)

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

    def pairs(self, ids: Tensor, rows: int) -> Tensor:
        """[B, rows, T, M]: the first `rows` tokens with all, for ids [B, T]; zero for pairs with an id below 0."""
        null = self.table.shape[0] - 1
        safe = torch.where(ids >= 0, ids, null)
        flat = safe[:, :rows, None] * (null + 1) + safe[:, None, :]
        return F.embedding(flat, self._flat)


def fill_powers(out: Tensor, matrix: sp.csr_array) -> None:
    """Writes Ã^m to out[:, :, m] for every m of out [n, n, M], on out's device."""
    n = matrix.shape[0]
    sparse = to_torch(matrix).to(out.device)
    power = torch.eye(n, device=out.device)
    for m in range(out.shape[-1]):
        power = product(sparse, power) if m else power
        out[..., m] = power
