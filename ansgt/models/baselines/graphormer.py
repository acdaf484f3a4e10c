"""Graphormer (Ying et al., 2021): full attention with centrality encoding and a bias for the shortest-path distance."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.kernels.choose import Kernel
from ansgt.kernels.pairs import attention_bytes, pair_attention
from ansgt.models.base import SPACE, Inputs, NodeModel
from ansgt.models.baselines.layers import FeatureEncoder
from ansgt.models.baselines.positions import LARGEST_DISTANCE, shortest_paths
from ansgt.settings import Count, Few, ModelSettings, Range, Rate, Size, Space, Span, check_multiple
from ansgt.storage import DiskCache


class Graphormer(NodeModel):
    """A pre-norm transformer over all nodes.

    h_0 = W x + z[degree]; score(i, j) = q_i k_j / sqrt(d) + b[distance(i, j)], b shared by all layers. The edge encoding
    of the paper needs edge features, and its virtual node serves graph-level tasks: neither is here.
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of Graphormer."""

        space: ClassVar[Space] = {
            **SPACE,
            "num_layers": (1, 2, 3),
            "max_distance": (3, 8, 20),
            "attention_dropout": Span(0.0, 0.5),
        }

        hidden_channels: Count = 64
        """d, a multiple of `heads`."""
        num_layers: Few = 2
        """Transformer layers."""
        heads: Count = 4
        """Attention heads."""
        max_degree: Size = 64
        """Degrees from here on share one centrality vector."""
        max_distance: Annotated[int, Range(1, LARGEST_DISTANCE)] = 20
        """Distances from here on share one bias; unreachable pairs have another."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.5
        """Of node features."""
        attention_dropout: Rate = 0.0
        """Of attention weights."""
        fused: bool = True
        """On CUDA, attention of all pairs by one kernel where it can; False: block by block."""

        def __post_init__(self) -> None:
            check_multiple(self, "hidden_channels", "heads")

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden = settings.hidden_channels
        self.encode = FeatureEncoder(in_channels, hidden, settings.input_dropout, num_kept)
        self.centrality = nn.Embedding(settings.max_degree + 1, hidden)
        self.spatial = nn.Parameter(torch.zeros(settings.heads, settings.max_distance + 2))
        self.layers = nn.ModuleList(GraphormerLayer(settings) for _ in range(settings.num_layers))
        self.norm = nn.LayerNorm(hidden)
        self.classifier = nn.Linear(hidden, out_channels)
        self.dropout = settings.dropout
        nn.init.normal_(self.centrality.weight, std=0.02)
        nn.init.normal_(self.spatial, std=0.02)

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        distance = torch.from_numpy(shortest_paths(graph, settings.max_distance, cache))
        degree = torch.from_numpy(graph.degree).clamp(max=settings.max_degree)
        return {**super().prepare(graph, cache, settings), "distance": distance, "degree": degree}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        distances = 2 * graph.num_nodes**2  # uint8, here and on the device
        sizes = (settings.heads, settings.hidden_channels, settings.num_layers)
        return distances + attention_bytes(graph.num_nodes, *sizes)

    def forward(self, inputs: Inputs) -> Tensor:
        h = self.encode(inputs["x"])
        h = F.dropout(h + self.centrality(inputs["degree"]), self.dropout, self.training)
        for layer in self.layers:
            h = layer(h, self.spatial, inputs["distance"])
        logits: Tensor = self.classifier(self.norm(h))
        return logits


class GraphormerLayer(nn.Module):
    """h + O attention(norm(h)), then h + FFN(norm(h))."""

    def __init__(self, settings: Graphormer.Settings) -> None:
        super().__init__()
        channels = settings.hidden_channels
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.project = nn.Linear(channels, channels)
        self.widen, self.narrow = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.heads, self.fused = settings.heads, settings.fused
        self.dropout, self.attention_dropout = settings.dropout, settings.attention_dropout

    def forward(self, h: Tensor, spatial: Tensor, distance: Tensor) -> Tensor:
        qkv = self.qkv(self.norm1(h)).unflatten(1, (3, self.heads, -1))
        query, key, value = qkv.permute(1, 2, 0, 3)  # each [heads, n, d / heads]
        drop = self.attention_dropout if self.training else 0.0
        kernel: Kernel = "auto" if self.fused else "plain"
        out = pair_attention(query, key, value, spatial, distance, drop, kernel)
        attended = self.project(out.transpose(0, 1).flatten(1))
        h = h + F.dropout(attended, self.dropout, self.training)
        inner = F.dropout(F.gelu(self.widen(self.norm2(h))), self.dropout, self.training)
        return h + F.dropout(self.narrow(inner), self.dropout, self.training)
