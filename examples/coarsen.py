"""
Coarsen a graph
===============

A mesh of 900 nodes becomes 90 super-nodes, drawn beside each other. Any other graph goes the same way:
``ansgt coarsen cora --root DATA`` on the command line, ``resolve("vn", rate=0.1).fit(graph)`` in Python.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial import Delaunay

from ansgt.coarsening import CoarseGraph, resolve
from ansgt.coarsening.quality import quality
from ansgt.graph import Graph

# %%
# The graph: a triangulated sheet with two holes, denser towards them.

HOLES = np.array([[-0.8, 0.15], [0.75, -0.1]])


def mesh(num_points: int = 900, seed: int = 1) -> tuple[Graph, np.ndarray]:
    """The sheet, and the positions of its points [n, 2]."""
    rng = np.random.default_rng(seed)
    points = rng.uniform((-1.7, -1.0), (1.7, 1.0), (40 * num_points, 2))
    gap = np.linalg.norm(points[:, None] - HOLES, axis=2).min(axis=1) - 0.33
    points = thin(points[(gap > 0) & (rng.random(len(points)) < np.exp(-2.2 * gap))], num_points)
    corners = Delaunay(points).simplices
    edges = np.hstack([corners[:, [0, 1]].T, corners[:, [1, 2]].T, corners[:, [2, 0]].T])
    length = np.linalg.norm(points[edges[0]] - points[edges[1]], axis=1)
    middle = points[edges].mean(axis=0)
    clear = np.linalg.norm(middle[:, None] - HOLES, axis=2).min(axis=1) > 0.31
    edges = edges[:, clear & (length < 3.5 * np.median(length))]
    return Graph.from_arrays(points, edges, name="mesh"), points


def thin(points: np.ndarray, count: int) -> np.ndarray:
    """`count` points, each the farthest of eight candidates from those before it: even, but not a grid."""
    kept = [points[0]]
    for at in range(1, count):
        tried = points[8 * at : 8 * at + 8]
        gap = np.linalg.norm(tried[:, None] - np.array(kept), axis=2).min(axis=1)
        kept.append(tried[gap.argmax()])
    return np.array(kept)


graph, place = mesh()

# %%
# Coarsening by local variation of neighbourhoods, to a tenth of the nodes. The eigenvalue error says how well the
# coarse graph keeps the smooth signals of the original.

coarse = resolve("vn", rate=0.1).fit(graph)
error = quality(graph, coarse).eigenvalue_error
print(f"{coarse.num_supernodes} super-nodes from {graph.num_nodes} nodes, eigenvalue error {error:.2f}")

# %%
# Left, the original graph, its nodes coloured by super-node. Right, the coarse graph: one disc per super-node at the
# mean position of its nodes, its area in proportion to their number, a line as wide as the weight it stands for.

PALETTE = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a", "#b56576", "#457b9d", "#a3b18a", "#dda15e")
PAPER, FAINT = "#fbfaf7", "#8d8d9b"


def colours(coarse: CoarseGraph) -> np.ndarray:
    """A colour per super-node [m], greedily unlike those of its neighbours."""
    network = nx.from_scipy_sparse_array(coarse.adj - coarse.adj * np.eye(coarse.num_supernodes))
    chosen = nx.greedy_color(network, strategy="DSATUR")
    return np.array([PALETTE[chosen[c] % len(PALETTE)] for c in range(coarse.num_supernodes)])


def draw_original(ax: plt.Axes, paint: np.ndarray) -> None:
    own, (row, col) = coarse.assignment, graph.edge_index.numpy()
    segments, inner = np.stack([place[row], place[col]], axis=1), own[row] == own[col]
    ax.add_collection(LineCollection(segments[~inner], colors=FAINT, linewidths=0.4, alpha=0.4))
    ax.add_collection(LineCollection(segments[inner], colors=paint[own[row[inner]]], linewidths=2))
    ax.scatter(*place.T, s=23, c=paint[own], edgecolors=PAPER, linewidths=0.3, zorder=3)


def draw_coarse(ax: plt.Axes, paint: np.ndarray) -> None:
    sizes, links = np.bincount(coarse.assignment), coarse.adj.tocoo()
    centres = np.asarray(coarse.P.T @ place) / np.sqrt(sizes)[:, None]
    once = links.row < links.col
    row, col = links.row[once], links.col[once]
    weight = links.data[once] * np.sqrt(sizes[row] * sizes[col])  # back to the number of edges
    segments, width = (
        np.stack([centres[row], centres[col]], axis=1),
        0.3 + 3.2 * np.sqrt(weight / weight.max()),
    )
    ax.add_collection(LineCollection(segments, colors=FAINT, linewidths=width, alpha=0.6))
    ax.scatter(*centres.T, s=13000 * sizes / sizes.sum() + 6, c=paint, edgecolors=PAPER, zorder=2)


fig, axes = plt.subplots(1, 2, figsize=(13, 4.6), facecolor=PAPER)
draw_original(axes[0], colours(coarse))
draw_coarse(axes[1], colours(coarse))
for ax, title in zip(axes, (f"{graph.num_nodes} nodes", f"{coarse.num_supernodes} super-nodes"), strict=True):
    ax.set_title(title)
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.axis("off")
fig.tight_layout()
plt.show()
