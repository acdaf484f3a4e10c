"""Personalised PageRank (section 5.1): exact on small graphs, forward push on large ones."""

from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, Heuristic, HeuristicLike, HeuristicSettings, candidate_limit
from ansgt.heuristics.push import ordered, push_rows, unordered
from ansgt.linalg import inverse_rows, positive_csr, sym_norm
from ansgt.storage import DiskCache

METHODS = ("auto", "exact", "push")

_SPARSE = 1 / 16
"""A graph with more than this share of all pairs is solved densely: its factor would be full."""


class PPR(Heuristic):
    """Q_i = the walk on A that restarts at i with probability c: column i of c (I - (1-c) A D^-1)^-1, self excluded.

    The paper prints S = c (I - (1-c) Ā) without the inverse and leaves the direction open. We take the inverse, and the walk
    that starts at the centre; the other direction would compare the walks of other nodes.

    Args:
        restart_prob: c.
        method: "exact" (direct up to 6,000 nodes, Chebyshev iteration to 1e-9 beyond), "push", or "auto": exact up to
            6,000 nodes.
        eps: push threshold; ``None`` takes `default_eps`. The error bound is in `ansgt.heuristics.push`.
        max_candidates, cache: see `Heuristic`.

    >>> from ansgt.testing import star_graph
    >>> PPR().fit(star_graph(4)).rows(np.array([1])).toarray().round(3)
    array([[0.611, 0.   , 0.13 , 0.13 , 0.13 ]], dtype=float32)
    """

    block_size = 16_384

    def __init__(
        self,
        restart_prob: float = 0.15,
        method: str = "auto",
        eps: float | None = None,
        max_candidates: int | None = None,
        cache: DiskCache | None = None,
    ) -> None:
        super().__init__(max_candidates, cache)
        self.restart_prob = restart_prob
        self.method = method
        self.eps = eps

    @classmethod
    def from_settings(
        cls, settings: HeuristicSettings, num_nodes: int, cache: DiskCache | None = None
    ) -> Self:
        limit = candidate_limit(settings, num_nodes)
        return cls(settings.restart_prob, max_candidates=limit, cache=cache)

    def _check(self) -> None:
        super()._check()
        if self.method not in METHODS:
            raise unknown_name("PPR method", self.method, METHODS)
        if not 0 < self.restart_prob <= 1:
            raise InputError(f"restart_prob must be in (0, 1], not {self.restart_prob}.")
        if self.eps is not None and self.eps <= 0:
            raise InputError(f"eps must be positive, not {self.eps}.")

    @property
    def _is_exact(self) -> bool:
        return self.method == "exact" or (self.method == "auto" and self.graph_.num_nodes <= SMALL)

    def _prepare(self, graph: Graph) -> None:
        self._ordered = None if self._is_exact else (unordered if self._few else ordered)(graph)

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        graph = self.graph_
        if self._ordered is None:
            return _exact_rows(graph, nodes, self.restart_prob)
        return push_rows(self._ordered, nodes, self.restart_prob, self._eps, self.max_candidates)[0]

    def measured(self, source: HeuristicLike | None = None) -> dict[str, Any]:
        """The threshold of the push, and how far complete rows are from exact ones at most: the mean over 500 nodes of
        2 (1-c) R. About half of it is real, and a fifth of that is left in rows of 256 candidates (docs, "Push PPR")."""
        if self._is_exact:
            return {}
        nodes = self.checked_nodes()
        residual = push_rows(ordered(self.graph_), nodes, self.restart_prob, self._eps, 1)[1]
        at_most = 2 * (1 - self.restart_prob) * float(residual.mean())
        return {"eps": self._eps, "l1_at_most": at_most, "nodes": len(nodes)}

    @property
    def _eps(self) -> float:
        return default_eps(self.graph_.num_nodes) if self.eps is None else self.eps


def default_eps(num_nodes: int) -> float:
    """Push threshold by size: fine where it is cheap (top-64 recall >= 0.97), coarse where a second counts."""
    return 2e-5 if num_nodes <= 25_000 else 2e-4


def _exact_rows(graph: Graph, nodes: np.ndarray, restart: float) -> sp.csr_array:
    """S is symmetric up to scaling: S = D^1/2 [c (I - (1-c) D^-1/2 A D^-1/2)^-1] D^-1/2."""
    walk = sym_norm(graph.adj, self_loops=False)
    root = np.sqrt(np.maximum(graph.degree, 1))
    solve, size = (_chebyshev, 256) if graph.num_nodes > SMALL else (_direct, max(len(nodes), 1))
    parts = []
    for start in range(0, len(nodes), size):
        block = nodes[start : start + size]
        scores = solve(walk, block, 1 - restart)
        scores *= root
        scores *= (restart / root[block])[:, None]
        parts.append(positive_csr(scores))
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts)) if parts else sp.csr_array((0, graph.num_nodes))


def _direct(walk: sp.csr_array, nodes: np.ndarray, damping: float) -> np.ndarray:
    """Rows `nodes` of (I - damping W)^-1."""
    n = walk.shape[0]
    system = sp.csr_array(sp.eye_array(n, format="csr") - damping * walk)
    if system.nnz <= _SPARSE * n * n:
        return inverse_rows(system, nodes)
    columns = scipy.linalg.solve(system.toarray(), _unit_columns(n, nodes), assume_a="pos")
    return np.ascontiguousarray(columns.T)


def _chebyshev(walk: sp.csr_array, nodes: np.ndarray, damping: float, tol: float = 1e-9) -> np.ndarray:
    """Rows `nodes` of (I - damping W)^-1, spectrum of W in [-1, 1]; the error falls by the factor `rate` per iteration."""
    inner = 1 / damping
    rate = inner - np.sqrt(inner * inner - 1)
    steps = int(np.ceil(np.log(tol / 2) / np.log(rate)))
    unit = _unit_columns(walk.shape[0], nodes)
    before, x = np.zeros_like(unit), unit.copy()
    omega = 1.0
    for step in range(steps):
        factor = 1 / (1 - damping**2 / 2) if step == 0 else 1 / (1 - damping**2 * omega / 4)
        omega = factor
        before, x = x, omega * (damping * (walk @ x) + unit - before) + before
    return np.ascontiguousarray(x.T)


def _unit_columns(n: int, nodes: np.ndarray) -> np.ndarray:
    unit = np.zeros((n, len(nodes)))
    unit[nodes, np.arange(len(nodes))] = 1
    return unit
