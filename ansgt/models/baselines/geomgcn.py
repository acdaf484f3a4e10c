"""Geom-GCN (Pei et al., 2020): neighbours in the graph and in a latent space, told apart by direction."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.linalg import to_torch
from ansgt.models.base import SPACE, Inputs, NodeModel
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout, propagate
from ansgt.models.baselines.positions import Embedding, embed_nodes
from ansgt.settings import Count, Few, ModelSettings, Rate, Space
from ansgt.storage import DiskCache

NUM_DIVISIONS = 9
"""Four quadrants in the graph, four in the latent space, and the node itself."""


class GeomGCN(NodeModel):
    """Two neighbourhoods (graph; latent space within radius rho) x four quadrants, and the node itself.

    A division aggregates sum_u (deg(v) deg(u))^(-1/2) h_u over its neighbours u of v, deg counting all divisions, and has
    a weight matrix of its own. Hidden layers concatenate the divisions, the last one averages them. rho is the distance
    that gives the latent neighbourhoods the mean degree of the graph.
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of Geom-GCN."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": (16, 32, 64),
            "embedding": ("isomap", "poincare"),
        }

        hidden_channels: Count = 16
        """Width of ONE division of a hidden layer."""
        num_layers: Few = 2
        """Layers in all."""
        embedding: Embedding = "isomap"
        """The latent space, in which neighbourhoods have directions."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.5
        """Of node features."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden, depth = settings.hidden_channels, settings.num_layers
        widths = [in_channels, *[hidden * NUM_DIVISIONS] * (depth - 1)]
        outs = [hidden] * (depth - 1) + [out_channels]
        self.layers = nn.ModuleList(GeomLayer(i, o) for i, o in zip(widths, outs, strict=True))
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        blocks = divisions(graph, embed_nodes(graph, settings.embedding, cache))
        products = {"divisions": to_torch(blocks), "transposed": to_torch(sp.csr_array(blocks.T))}
        return {**super().prepare(graph, cache, settings), **products}

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        blocks, transposed = inputs["divisions"], inputs["transposed"]
        for layer in self.layers[:-1]:
            h = layer(h, blocks, transposed).flatten(1).relu()
            h = F.dropout(h, self.dropout, self.training)
        parts: Tensor = self.layers[-1](h, blocks, transposed)
        return parts.mean(dim=1)


class GeomLayer(nn.Module):
    """Every division's own linear map, then its aggregation: [n, divisions, out_channels]."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = FeatureLinear(in_channels, NUM_DIVISIONS * out_channels, bias=False)
        bound = (6 / (in_channels + out_channels)) ** 0.5  # Glorot, per division
        nn.init.uniform_(self.lin.weight, -bound, bound)

    def forward(self, x: Tensor, divisions: Tensor, transposed: Tensor) -> Tensor:
        parts = self.lin(x).unflatten(1, (NUM_DIVISIONS, -1)).transpose(0, 1)  # [divisions, n, out]
        stacked = propagate(divisions, parts.flatten(0, 1), transposed)  # one block-diagonal product for all
        return stacked.view(NUM_DIVISIONS, -1, stacked.shape[1]).transpose(0, 1)


def divisions(graph: Graph, z: np.ndarray) -> sp.csr_array:
    """The normalised adjacency of every division, as blocks on a diagonal [9 n, 9 n]."""
    itself = sp.eye_array(graph.num_nodes, format="csr")
    parts = [itself, *quadrants(graph.adj, z), *quadrants(latent_neighbours(z, graph.adj), z)]
    degree = sum(np.asarray(part.sum(axis=1)).ravel() for part in parts)
    scale = sp.diags_array(degree**-0.5)
    return sp.csr_array(sp.block_diag([scale @ part @ scale for part in parts], format="csr"))


def quadrants(adj: sp.csr_array, z: np.ndarray) -> list[sp.csr_array]:
    """Splits the entries (v, u) of an adjacency by where z_u lies as seen from z_v (the paper's tau)."""
    coo = sp.coo_array(adj)
    left, below = (z[coo.row] > z[coo.col]).T
    relation = 2 * left + below
    parts = []
    for r in range(4):
        at = relation == r
        parts.append(sp.csr_array((coo.data[at], (coo.row[at], coo.col[at])), shape=adj.shape))
    return parts


def latent_neighbours(z: np.ndarray, adj: sp.csr_array) -> sp.csr_array:
    """Pairs nearer than rho, symmetric, rho being such that there are about as many as edges (adj.nnz directed ones).

    Only nodes that a path joins can be neighbours: where an embedding puts one component beside another says nothing, and
    Isomap puts all the small ones of a graph into one place. A node lists at most 64 pairs, or four times the mean where
    that is more: leaves of one hub share their place, too, and all pairs of them would be a dense block.
    """
    num_nodes, count = len(z), adj.nnz
    limit = min(max(64, 4 * count // max(num_nodes, 1)), num_nodes - 1)
    if count == 0 or limit == 0:
        return sp.csr_array((num_nodes, num_nodes))
    component = connected_components(adj)[1]
    spread = 2 * np.linalg.norm(z.max(axis=0) - z.min(axis=0)) + 1
    # components lie farther from each other than any two nodes of one
    apart = np.column_stack([z, spread * component])
    distance, other = KDTree(apart).query(apart, k=limit + 1)
    row = np.repeat(np.arange(num_nodes), limit + 1)
    distance, other = distance.ravel(), other.ravel()
    kept = (row != other) & (component[row] == component[other])
    row, other, distance = row[kept], other[kept], distance[kept]
    last = min(count, len(distance)) - 1
    near = distance <= np.partition(distance, last)[last]
    pairs = sp.csr_array((np.ones(near.sum()), (row[near], other[near])), shape=(num_nodes, num_nodes))
    return sp.csr_array(((pairs + pairs.T) > 0).astype(np.float64))
