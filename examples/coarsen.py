"""Coarsen a graph and draw the super-nodes beside the original.

    python examples/coarsen.py                                  # a built-in mesh
    python examples/coarsen.py --dataset cora --root data       # the largest component of Cora

Left, the original graph, its nodes coloured by super-node. Right, the coarse graph: a disc per super-node at the mean
position of its nodes, its area in proportion to their number, a line as wide as the weight it stands for.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay

from ansgt.coarsening import CoarseGraph, resolve
from ansgt.coarsening.quality import quality
from ansgt.datasets import load_graph
from ansgt.graph import Graph

INK, PAPER, FAINT = "#22223b", "#fbfaf7", "#8d8d9b"
PALETTE = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a", "#b56576", "#457b9d", "#a3b18a", "#dda15e")


def mesh(num_points: int = 900, seed: int = 1) -> tuple[Graph, np.ndarray]:
    """A triangulated sheet with two holes, denser towards them, and the positions of its points [n, 2]."""
    rng = np.random.default_rng(seed)
    points = rng.uniform((-1.7, -1.0), (1.7, 1.0), (40 * num_points, 2))
    holes = np.array([[-0.8, 0.15], [0.75, -0.1]])
    gap = np.linalg.norm(points[:, None] - holes, axis=2).min(axis=1) - 0.33
    points = points[(gap > 0) & (rng.random(len(points)) < np.exp(-2.2 * gap))]
    points = thin(points, num_points)
    corners = Delaunay(points).simplices
    edges = np.hstack([corners[:, [0, 1]].T, corners[:, [1, 2]].T, corners[:, [2, 0]].T])
    length = np.linalg.norm(points[edges[0]] - points[edges[1]], axis=1)
    middle = points[edges].mean(axis=0)
    clear = np.linalg.norm(middle[:, None] - holes, axis=2).min(axis=1) > 0.31
    edges = edges[:, clear & (length < 3.5 * np.median(length))]
    return Graph.from_arrays(points, edges, name="mesh"), points


def thin(points: np.ndarray, count: int) -> np.ndarray:
    """`count` points, each the farthest of eight candidates from those before it: even, but not a grid."""
    kept = [points[0]]
    for at in range(1, count):
        tried = points[8 * at : 8 * at + 8]
        if len(tried) == 0:
            break
        gap = np.linalg.norm(tried[:, None] - np.array(kept), axis=2).min(axis=1)
        kept.append(tried[gap.argmax()])
    return np.array(kept)


def largest_component(graph: Graph) -> Graph:
    """The induced subgraph on the largest component: drawing scattered pairs says nothing."""
    _, component = connected_components(graph.adj, directed=False)
    nodes = np.flatnonzero(component == np.bincount(component).argmax())
    return Graph.from_arrays(graph.x[nodes], graph.adj[nodes][:, nodes], name=graph.name)


def layout(graph: Graph, seed: int = 0) -> np.ndarray:
    """Force-directed positions [n, 2], as ranks, so that a few far nodes do not squeeze the rest."""
    network = nx.from_scipy_sparse_array(graph.adj)
    place = nx.spring_layout(network, iterations=60, seed=seed, k=2 / np.sqrt(graph.num_nodes))
    found = np.array([place[i] for i in range(graph.num_nodes)])
    centred = found - np.median(found, axis=0)
    radius = np.linalg.norm(centred, axis=1)
    spread = np.sqrt(np.argsort(np.argsort(radius)) / len(radius))
    return centred / np.maximum(radius, 1e-12)[:, None] * spread[:, None]


def colours(coarse: CoarseGraph) -> np.ndarray:
    """A colour per super-node [m, 3], greedily unlike those of its neighbours."""
    network = nx.from_scipy_sparse_array(coarse.adj - coarse.adj * np.eye(coarse.num_supernodes))
    chosen = nx.greedy_color(network, strategy="DSATUR")
    return np.array([PALETTE[chosen[c] % len(PALETTE)] for c in range(coarse.num_supernodes)])


def draw_original(
    ax: plt.Axes, graph: Graph, place: np.ndarray, coarse: CoarseGraph, paint: np.ndarray
) -> None:
    row, col = graph.edge_index.numpy()
    row, col = row[row < col], col[row < col]
    segments = np.stack([place[row], place[col]], axis=1)
    own = coarse.assignment
    inner = own[row] == own[col]
    ax.add_collection(LineCollection(segments[~inner], colors=FAINT, linewidths=0.4, alpha=0.4, zorder=1))
    tint = paint[own[row[inner]]]
    wide = 60 / np.sqrt(graph.num_nodes)
    ax.add_collection(LineCollection(segments[inner], colors=tint, linewidths=wide, alpha=0.75, zorder=2))
    size = 700 / np.sqrt(graph.num_nodes)
    ax.scatter(*place.T, s=size, c=paint[own], edgecolors=PAPER, linewidths=0.3, zorder=3)


def draw_coarse(ax: plt.Axes, coarse: CoarseGraph, centres: np.ndarray, paint: np.ndarray) -> None:
    sizes = np.bincount(coarse.assignment)
    links = coarse.adj.tocoo()
    once = links.row < links.col
    row, col = links.row[once], links.col[once]
    weight = links.data[once] * np.sqrt(sizes[row] * sizes[col])  # back to the number of edges
    segments = np.stack([centres[row], centres[col]], axis=1)
    width = 0.3 + 3.2 * np.sqrt(weight / weight.max()) if len(weight) else []
    ax.add_collection(LineCollection(segments, colors=FAINT, linewidths=width, alpha=0.6, zorder=1))
    order = np.argsort(-sizes)  # small discs on top of large ones
    area = 13000 * sizes / sizes.sum() + 6
    ax.scatter(*centres[order].T, s=area[order], c=paint[order], edgecolors=PAPER, linewidths=0.8, zorder=2)


def figure(graph: Graph, place: np.ndarray, coarse: CoarseGraph, method: str) -> plt.Figure:
    centres = np.asarray(coarse.P.T @ place) / np.sqrt(np.bincount(coarse.assignment))[:, None]
    paint = colours(coarse)
    low, high = place.min(axis=0) - 0.06, place.max(axis=0) + 0.06
    height = 6.5 * (high - low)[1] / (high - low)[0] + 0.6
    fig, (left, right) = plt.subplots(1, 2, figsize=(13, height), facecolor=PAPER)
    draw_original(left, graph, place, coarse, paint)
    draw_coarse(right, coarse, centres, paint)
    error = quality(graph, coarse).eigenvalue_error
    titles = (
        f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges",
        f"{method.upper()}: {coarse.num_supernodes} super-nodes, eigenvalue error {error:.2f}",
    )
    for ax, title in zip((left, right), titles, strict=True):
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        ax.set_title(title, color=INK, fontsize=13, pad=10)
        ax.axis("off")
    fig.tight_layout()
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", help="a name from `ansgt datasets` (default: a built-in graph)")
    parser.add_argument("--root", default="data")
    parser.add_argument("--method", default="vn")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--output", type=Path, default=Path("coarsen.png"))
    args = parser.parse_args()
    if args.dataset:
        graph = largest_component(load_graph(args.dataset, root=args.root))
        place = layout(graph)
    else:
        graph, place = mesh()
    coarse = resolve(args.method, rate=args.rate).fit(graph)
    figure(graph, place, coarse, args.method).savefig(args.output, dpi=150, facecolor=PAPER)
    print(f"{coarse.num_supernodes} super-nodes from {graph.num_nodes} nodes; drawn to {args.output}")


if __name__ == "__main__":
    main()
