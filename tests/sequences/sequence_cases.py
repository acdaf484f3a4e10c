"""A small graph with isolated nodes, a coarse graph of it, and dense powers as a reference."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.graph import Graph


@dataclass
class Coarse:
    """Plain arrays, as a coarsener would give them: P = P̂ D^(-1/2), x = PᵀX, adj = PᵀAP."""

    assignment: np.ndarray
    adj: sp.csr_array
    x: torch.Tensor


def coarse_graph(graph: Graph, num_supernodes: int = 12, seed: int = 0) -> Coarse:
    assignment = np.random.default_rng(seed).permutation(np.arange(graph.num_nodes) % num_supernodes)
    one_hot = sp.csr_array((np.ones(graph.num_nodes), (np.arange(graph.num_nodes), assignment)))
    size = np.asarray(one_hot.sum(axis=0)).ravel()
    P = sp.csr_array(one_hot @ sp.diags_array(size**-0.5))
    x = torch.from_numpy(P.T @ graph.x.to_dense().numpy()).float()
    return Coarse(assignment, sp.csr_array(P.T @ graph.adj @ P), x)


def dense_powers(adj: np.ndarray, num_powers: int) -> np.ndarray:
    """Ã^m [n, n, M] by dense products in float64."""
    adj = adj + np.eye(len(adj))
    degree = adj.sum(axis=1)
    normalized = adj / np.sqrt(np.outer(degree, degree))
    powers = [np.eye(len(adj))]
    for _ in range(num_powers - 1):
        powers.append(powers[-1] @ normalized)
    return np.stack(powers, axis=-1)


def reference_pairs(
    ids: np.ndarray,
    mask: np.ndarray,
    fine: np.ndarray,
    coarse: np.ndarray | None,
    assignment: np.ndarray | None,
) -> np.ndarray:
    """Phi pair by pair, straight from its definition."""
    n = len(fine)
    out = np.zeros((*ids.shape, ids.shape[1], fine.shape[-1]))
    for b in range(len(ids)):
        for s, i in enumerate(ids[b]):
            for t, j in enumerate(ids[b]):
                if not (mask[b, s] and mask[b, t]) or i < 0 or j < 0:
                    continue
                if i < n and j < n:
                    out[b, s, t] = fine[i, j]
                else:
                    above = [assignment[v] if v < n else v - n for v in (i, j)]
                    out[b, s, t] = coarse[above[0], above[1]]
    return out
