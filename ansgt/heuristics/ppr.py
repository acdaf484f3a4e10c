"""Personalised PageRank (section 5.1): exact on small graphs, forward push on large ones."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, Heuristic
from ansgt.heuristics.push import push_rows
from ansgt.linalg import inverse_or_zero, sym_norm
from ansgt.storage import DiskCache

METHODS = ("auto", "exact", "push")


class PPR(Heuristic):
    """Q_i = the walk on A that restarts at i with probability c: column i of c (I - (1-c) A D^-1)^-1, self excluded.

    The paper prints S = c (I - (1-c) Ā) without the inverse and leaves the direction open; see DESIGN.md section 6.

    Args:
        restart_prob: c.
        method: "exact" (dense up to 6,000 nodes, Chebyshev iteration to 1e-9 beyond), "push", or "auto": exact up to
            6,000 nodes.
        eps: push threshold; ``None`` takes `default_eps`. The error bound is in `ansgt.heuristics.push`.
        max_candidates, cache: see `Heuristic`.

    >>> from ansgt.testing import star_graph
    >>> PPR().fit(star_graph(4)).rows(np.array([1])).toarray().round(3)
    array([[0.611, 0.   , 0.13 , 0.13 , 0.13 ]], dtype=float32)
    """

    block_size = 32_768

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

    def _check(self) -> None:
        super()._check()
        if self.method not in METHODS:
            raise unknown_name("PPR method", self.method, METHODS)
        if not 0 < self.restart_prob <= 1:
            raise InputError(f"restart_prob must be in (0, 1], not {self.restart_prob}.")
        if self.eps is not None and self.eps <= 0:
            raise InputError(f"eps must be positive, not {self.eps}.")

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        graph = self.graph_
        exact = self.method == "exact" or (self.method == "auto" and graph.num_nodes <= SMALL)
        if exact:
            return _exact_rows(graph, nodes, self.restart_prob)
        eps = default_eps(graph.num_nodes) if self.eps is None else self.eps
        return push_rows(graph, nodes, self.restart_prob, eps, self.max_candidates)[0]


def default_eps(num_nodes: int) -> float:
    """Push threshold by size: fine where it is cheap (top-64 recall >= 0.97), coarse where a second counts."""
    return 2e-5 if num_nodes <= 25_000 else 2e-4


def _exact_rows(graph: Graph, nodes: np.ndarray, restart: float) -> sp.csr_array:
    """S is symmetric up to scaling: S = D^1/2 [c (I - (1-c) D^-1/2 A D^-1/2)^-1] D^-1/2."""
    walk = sym_norm(graph.adj, self_loops=False)
    root = np.sqrt(np.maximum(graph.degree, 1))
    parts = []
    for start in range(0, len(nodes), 256 if graph.num_nodes > SMALL else len(nodes)):
        block = nodes[start : start + (256 if graph.num_nodes > SMALL else len(nodes))]
        unit = np.zeros((graph.num_nodes, len(block)))
        unit[block, np.arange(len(block))] = restart
        solve = _chebyshev if graph.num_nodes > SMALL else _dense_solve
        columns = solve(walk, unit, 1 - restart)
        scores = root[:, None] * columns * inverse_or_zero(root[block])
        parts.append(sp.csr_array(scores.T * (scores.T > 0)))
    return sp.csr_array(sp.vstack(parts)) if parts else sp.csr_array((0, graph.num_nodes))


def _dense_solve(walk: sp.csr_array, unit: np.ndarray, damping: float) -> np.ndarray:
    system = np.eye(walk.shape[0]) - damping * walk.toarray()
    return np.asarray(scipy.linalg.solve(system, unit, assume_a="pos", overwrite_a=True))


def _chebyshev(walk: sp.csr_array, unit: np.ndarray, damping: float, tol: float = 1e-9) -> np.ndarray:
    """Solves (I - damping W) x = unit for the spectrum of W in [-1, 1]; the error falls by `rate` an iteration."""
    inner = 1 / damping
    rate = inner - np.sqrt(inner * inner - 1)
    steps = int(np.ceil(np.log(tol / 2) / np.log(rate)))
    before, x = np.zeros_like(unit), unit.copy()
    omega = 1.0
    for step in range(steps):
        factor = 1 / (1 - damping**2 / 2) if step == 0 else 1 / (1 - damping**2 * omega / 4)
        omega = factor
        before, x = x, omega * (damping * (walk @ x) + unit - before) + before
    return x
