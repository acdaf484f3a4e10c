"""Embeddings of the nodes in two dimensions, the latent space of Geom-GCN: Isomap and a Poincaré disk."""

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from ansgt.errors import unknown_name
from ansgt.graph import Graph
from ansgt.linalg import inverse_or_zero
from ansgt.storage import DiskCache

MAX_LANDMARKS = 1000
"""Up to here Isomap is exact; above, distances to this many landmarks place the other nodes."""


def embed_nodes(graph: Graph, method: str, cache: DiskCache) -> np.ndarray:
    """Coordinates [n, 2], float64, of one of `EMBEDDINGS`; stored in the cache."""
    if method not in EMBEDDINGS:
        raise unknown_name("embedding", method, EMBEDDINGS)
    key = ["v1", graph.num_nodes, graph.indptr, graph.indices, method]
    return cache.fetch("embedding", key, lambda: {"z": EMBEDDINGS[method](graph)})["z"]


def isomap(graph: Graph, seed: int = 0) -> np.ndarray:
    """Classical scaling of shortest-path distances (Tenenbaum et al., 2000), with landmarks on large graphs.

    Nodes that no path joins are put one step farther apart than the farthest that one does. Landmarks
    (de Silva and Tenenbaum, 2004): scale them alone, then place every node by its distances to them.
    """
    rng = np.random.default_rng(seed)
    count = min(graph.num_nodes, MAX_LANDMARKS)
    landmarks = np.sort(rng.choice(graph.num_nodes, count, replace=False))
    distance = dijkstra(graph.adj, indices=landmarks, unweighted=True)  # [landmarks, n]
    reached = np.isfinite(distance)
    distance[~reached] = distance[reached].max() + 1
    squared = distance**2
    centred = squared[:, landmarks] - squared[:, landmarks].mean(axis=0)
    gram = -0.5 * (centred - centred.mean(axis=1, keepdims=True))
    values, vectors = np.linalg.eigh(gram)
    found = np.where(values[-2:] > 1e-9 * values[-1], values[-2:], 0.0)  # a path has one dimension only
    directions = vectors[:, -2:] * inverse_or_zero(found, power=0.5)
    return -0.5 * (squared.T - squared[:, landmarks].mean(axis=1)) @ directions


def poincare(
    graph: Graph,
    epochs: int = 150,
    negatives: int = 10,
    lr: float = 1.0,
    max_edges: int = 50_000,
    seed: int = 0,
) -> np.ndarray:
    """Coordinates in the Poincaré disk (Nickel and Kiela, 2017): neighbours near, random nodes far.

    Minimises -log exp(-d(u, v)) / sum over v and `negatives` random nodes of exp(-d(u, .)), by Riemannian gradient
    descent on all edges (at most `max_edges` random ones) at once; a node's gradient is the mean over the terms that
    it is in, so that hubs take steps like all others.
    """
    generator = torch.Generator().manual_seed(seed)
    z = torch.empty(graph.num_nodes, 2, dtype=torch.float64).uniform_(-1e-3, 1e-3, generator=generator)
    num_edges = min(graph.edge_index.shape[1], max_edges)
    for _ in range(epochs if num_edges else 0):
        chosen = torch.randperm(graph.edge_index.shape[1], generator=generator)[:num_edges]
        centre, other = graph.edge_index[:, chosen]
        random = torch.randint(graph.num_nodes, (num_edges, negatives), generator=generator)
        ends = torch.cat([other[:, None], random], dim=1)  # [edges, 1 + negatives]
        terms = torch.bincount(torch.cat([centre, ends.flatten()]), minlength=graph.num_nodes).clamp(min=1)
        z.requires_grad_(True)
        score = -poincare_distance(z[centre][:, None], z[ends])
        loss = -score.log_softmax(dim=1)[:, 0].sum()
        (gradient,) = torch.autograd.grad(loss, z)
        z = _riemannian_step(z.detach(), gradient / terms[:, None], lr)
    return z.detach().numpy()


def _riemannian_step(z: Tensor, gradient: Tensor, lr: float, edge: float = 1 - 1e-5) -> Tensor:
    """The gradient is scaled by the inverse metric ((1 - |z|²) / 2)²; a node that leaves the disk is put at its edge."""
    metric = (1 - z.square().sum(dim=1, keepdim=True)).square() / 4
    z = z - lr * metric * gradient
    norm = z.norm(dim=1, keepdim=True)
    return torch.where(norm > edge, z * (edge / norm), z)


def poincare_distance(u: Tensor, v: Tensor) -> Tensor:
    """Hyperbolic distance of points of the unit disk [..., 2].

    >>> zero, half = torch.zeros(2, dtype=torch.float64), torch.tensor([0.5, 0.0], dtype=torch.float64)
    >>> round(float(poincare_distance(zero, half)), 4)  # log 3
    1.0986
    """
    gap = (u - v).square().sum(-1)
    room = (1 - u.square().sum(-1)) * (1 - v.square().sum(-1))
    ratio = 2 * gap / room.clamp(min=1e-12)
    return torch.log1p(ratio + (ratio * (ratio + 2) + 1e-15).sqrt())


EMBEDDINGS: dict[str, Callable[[Graph], np.ndarray]] = {"isomap": isomap, "poincare": poincare}
"""Name -> function of a graph. Struc2vec, the third of the Geom-GCN paper, is not here."""
