"""Where a node is in the graph, as numbers that a baseline reads: computed once per graph and kept in the cache.

Shortest-path distances (Graphormer), Laplacian eigenvectors (GT, SAN), and coordinates in two dimensions, the latent
space of Geom-GCN: Isomap and a Poincaré disk.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit, prange
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.linalg import inverse_or_zero, sym_norm
from ansgt.storage import DiskCache

LARGEST_DISTANCE = 254
"""A distance is a byte, and "no path" is one more than the largest."""
DENSE_NODES = 600
"""Below this the whole spectrum is cheaper than a Lanczos run."""
Embedding = Literal["isomap", "poincare"]
MAX_LANDMARKS = 1000
"""Up to here Isomap is exact; above, distances to this many landmarks place the other nodes."""


def shortest_paths(graph: Graph, max_distance: int, cache: DiskCache) -> np.ndarray:
    """Distances [n, n], uint8: those of `max_distance` or more are cut to it, no path is `max_distance + 1`."""
    if not 1 <= max_distance <= LARGEST_DISTANCE:
        raise InputError(f"Setting max_distance must be in [1, {LARGEST_DISTANCE}], not {max_distance}.")
    key = ["v1", graph.num_nodes, graph.indptr, graph.indices, max_distance]

    def compute() -> dict[str, np.ndarray]:
        return {"distance": _breadth_first(graph.indptr, graph.indices, max_distance)}

    return cache.fetch("shortest-paths", key, compute)["distance"]


@njit(cache=True, parallel=True)
def _breadth_first(indptr: np.ndarray, indices: np.ndarray, limit: int) -> np.ndarray:
    n = len(indptr) - 1
    out = np.full((n, n), limit + 1, dtype=np.uint8)
    for source in prange(n):
        distance = out[source]
        queue = np.empty(n, dtype=np.int32)
        queue[0] = source
        distance[source] = 0
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            step = min(distance[node] + 1, limit)
            for at in range(indptr[node], indptr[node + 1]):
                other = indices[at]
                if distance[other] == limit + 1:
                    distance[other] = step
                    queue[tail] = other
                    tail += 1
    return out


def laplacian_eigenvectors(graph: Graph, count: int, cache: DiskCache) -> tuple[np.ndarray, np.ndarray]:
    """The `count` smallest non-trivial eigenpairs of L = I - D^(-1/2) A D^(-1/2).

    Trivial are the zero eigenvalues, one per connected component: their vectors say nothing but "which component", and
    on Cora (78 components) they alone would fill every slot. The sign is fixed by making the entry of largest
    magnitude positive; training flips signs at random.

    Returns:
        eigenvalues [k] and eigenvectors [n, k], float32, the largest entry of each vector being 1 (norm 1 would make
        entries vanish on large graphs, norm sqrt(n) would blow up those of localised vectors); k < count where the
        graph has fewer.
    """
    key = ["v2", graph.num_nodes, graph.indptr, graph.indices, count]
    stored = cache.fetch("laplacian", key, lambda: _eigenpairs(graph, count))
    return stored["values"], stored["vectors"]


def _eigenpairs(graph: Graph, count: int) -> dict[str, np.ndarray]:
    adj = sym_norm(graph.adj, self_loops=False)
    trivial = component_vectors(graph)
    count = min(count, graph.num_nodes - trivial.shape[1])
    if count == 0:
        empty = np.zeros((graph.num_nodes, 0), dtype=np.float32)
        return {"values": np.zeros(0, dtype=np.float32), "vectors": empty}
    values, vectors = _largest(adj, trivial, count)
    order = np.argsort(-values)
    vectors = peak_one(vectors[:, order])
    return {"values": (1 - values[order]).astype(np.float32), "vectors": vectors.astype(np.float32)}


def _largest(adj: sp.csr_array, trivial: sp.csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenpairs of the normalised adjacency with the trivial ones moved below all others."""
    n = adj.shape[0]
    if n <= DENSE_NODES or count >= n - 1:
        values, vectors = np.linalg.eigh(adj.toarray() - 3 * (trivial @ trivial.T).toarray())
        return values[-count:], vectors[:, -count:]
    operator = LinearOperator((n, n), matvec=lambda x: adj @ x - 3 * (trivial @ (trivial.T @ x)))
    start = np.random.default_rng(0).normal(size=n)
    values, vectors = eigsh(operator, k=count, which="LA", v0=start, ncv=max(4 * count, 40), tol=1e-6)
    return values, vectors


def component_vectors(graph: Graph) -> sp.csr_array:
    """Unit vectors D^(1/2) 1_c of the connected components [n, components]; an isolated node is a component."""
    count, member = connected_components(graph.adj, directed=False)
    weight = np.maximum(graph.degree, 1).astype(np.float64)
    weight = np.sqrt(weight / np.bincount(member, weights=weight)[member])
    nodes = np.arange(graph.num_nodes)
    return sp.csr_array((weight, (nodes, member)), shape=(graph.num_nodes, count))


def peak_one(vectors: np.ndarray) -> np.ndarray:
    """Every column divided by its entry of largest magnitude, which becomes 1; that fixes the sign, too.

    >>> peak_one(np.array([[0.3], [-0.6]])).ravel().tolist()
    [-0.5, 1.0]
    """
    peak = np.abs(vectors).argmax(axis=0)
    scaled: np.ndarray = vectors / vectors[peak, np.arange(vectors.shape[1])]
    return scaled


def embed_nodes(graph: Graph, method: Embedding, cache: DiskCache) -> np.ndarray:
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
    z: np.ndarray = -0.5 * (squared.T - squared[:, landmarks].mean(axis=1)) @ directions
    return z


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


EMBEDDINGS: dict[Embedding, Callable[[Graph], np.ndarray]] = {"isomap": isomap, "poincare": poincare}
"""Name -> function of a graph. Struc2vec, the third of the Geom-GCN paper, is not here."""
