"""Graphormer (Ying et al., 2021): full attention with centrality encoding and a bias for the shortest-path distance."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.distances import shortest_paths
from ansgt.models.baselines.encode import FeatureEncoder
from ansgt.models.baselines.full_attention import attention_bytes, full_attention, fused_attention, is_fused
from ansgt.storage import DiskCache


class Graphormer(NodeModel):
    """A pre-norm transformer over all nodes.

    h_0 = W x + z[degree]; score(i, j) = q_i k_j / sqrt(d) + b[distance(i, j)], b shared by all layers. The edge encoding
    of the paper needs edge features, and its virtual node serves graph-level tasks: neither is here.

    Args:
        hidden_channels: d, a multiple of `heads`.
        num_layers: transformer layers.
        heads: attention heads.
        max_degree: degrees from here on share one centrality vector.
        max_distance: distances from here on share one bias; unreachable pairs have another.
        dropout: of hidden features.
        input_dropout: of node features.
        attention_dropout: of attention weights.
        fused: on CUDA, attention of all pairs by `triton_pairs.py` where it can; False: block by block.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        heads: int = 4,
        max_degree: int = 64,
        max_distance: int = 20,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        attention_dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.encode = FeatureEncoder(in_channels, hidden_channels, input_dropout)
        self.centrality = nn.Embedding(max_degree + 1, hidden_channels)
        self.spatial = nn.Parameter(torch.zeros(heads, max_distance + 2))
        self.layers = nn.ModuleList(
            GraphormerLayer(hidden_channels, heads, dropout, attention_dropout, fused)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_channels)
        self.classifier = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout
        nn.init.normal_(self.centrality.weight, std=0.02)
        nn.init.normal_(self.spatial, std=0.02)

    @classmethod
    def prepare(
        cls, graph: Graph, cache: DiskCache, max_distance: int = 20, max_degree: int = 64, **settings: Any
    ) -> Inputs:
        distance = torch.from_numpy(shortest_paths(graph, max_distance, cache))
        degree = torch.from_numpy(graph.degree).clamp(max=max_degree)
        return {"x": graph.x, "edge_index": graph.edge_index, "distance": distance, "degree": degree}

    @classmethod
    def estimate_bytes(
        cls, graph: Graph, hidden_channels: int = 64, num_layers: int = 2, heads: int = 4, **settings: Any
    ) -> int:
        distances = 2 * graph.num_nodes**2  # uint8, here and on the device
        return distances + attention_bytes(graph.num_nodes, heads, hidden_channels, num_layers)

    def forward(self, inputs: Inputs) -> Tensor:
        h = self.encode(inputs["x"])
        h = F.dropout(h + self.centrality(inputs["degree"]), self.dropout, self.training)
        for layer in self.layers:
            h = layer(h, self.spatial, inputs["distance"])
        return self.classifier(self.norm(h))


class GraphormerLayer(nn.Module):
    """h + O attention(norm(h)), then h + FFN(norm(h))."""

    def __init__(
        self, channels: int, heads: int, dropout: float, attention_dropout: float, fused: bool
    ) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.project = nn.Linear(channels, channels)
        self.widen, self.narrow = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.heads, self.dropout, self.attention_dropout = heads, dropout, attention_dropout
        self.fused = fused

    def forward(self, h: Tensor, spatial: Tensor, distance: Tensor) -> Tensor:
        qkv = self.qkv(self.norm1(h)).unflatten(1, (3, self.heads, -1))
        query, key, value = qkv.permute(1, 2, 0, 3)  # each [heads, n, d / heads]
        drop = self.attention_dropout if self.training else 0.0
        if self.fused and is_fused(query, drop):
            out = fused_attention(query, key, value, spatial, distance)
        else:
            rows = partial(_bias_rows, spatial, distance)
            out = full_attention(query, key, value, rows, drop)
        attended = self.project(out.transpose(0, 1).flatten(1))
        h = h + F.dropout(attended, self.dropout, self.training)
        inner = F.dropout(F.gelu(self.widen(self.norm2(h))), self.dropout, self.training)
        return h + F.dropout(self.narrow(inner), self.dropout, self.training)


def _bias_rows(spatial: Tensor, distance: Tensor, at: slice) -> Tensor:
    return DistanceBias.apply(spatial, distance[at])


class DistanceBias(torch.autograd.Function):
    """table [heads, distances] looked up at `distance` [rows, n], uint8: [heads, rows, n].

    The gradient is a sum over millions of pairs into some twenty bins: a histogram, where indexing would sort or
    collide.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, distance: Tensor) -> Tensor:
        ctx.save_for_backward(distance)
        ctx.bins = table.shape[1]
        return table[:, distance.int()]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (distance,), (grad,) = ctx.saved_tensors, grads
        if grad.is_cuda:  # bincount has no deterministic version there
            columns = [(grad * (distance == d)).sum((1, 2)) for d in range(ctx.bins)]
            return torch.stack(columns, dim=1), None
        flat = distance.flatten()
        rows = [torch.bincount(flat, weights=part.flatten(), minlength=ctx.bins) for part in grad]
        return torch.stack(rows).to(grad.dtype), None
