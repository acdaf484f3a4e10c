"""GT (Dwivedi and Bresson, 2020): a transformer that attends to one-hop neighbours."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import TransformerConv

from ansgt.graph import Graph
from ansgt.models.base import SPACE, Inputs, NodeModel
from ansgt.models.baselines.layers import FeatureEncoder, Norm, make_norm
from ansgt.models.baselines.positions import laplacian_eigenvectors
from ansgt.settings import Count, Few, ModelSettings, Rate, Size, Space, Span, check_multiple
from ansgt.storage import DiskCache


class GT(NodeModel):
    """Sparse graph transformer with Laplacian eigenvectors as positional encoding.

    A layer is attention over the neighbours, then a two-layer network, each with a residual connection and a norm after
    it. The signs of the eigenvectors are flipped at random in every training step. The published read-out is a
    three-layer MLP; ours is linear.
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of GT."""

        space: ClassVar[Space] = {
            **SPACE,
            "num_layers": (1, 2, 3),
            "num_eigenvectors": (4, 8, 16),
            "attention_dropout": Span(0.0, 0.5),
        }

        hidden_channels: Count = 64
        """d, a multiple of `heads`."""
        num_layers: Few = 2
        """Transformer layers."""
        heads: Count = 4
        """Attention heads."""
        num_eigenvectors: Size = 8
        """Width of the positional encoding."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.5
        """Of node features."""
        attention_dropout: Rate = 0.0
        """Of attention weights."""
        norm: Norm = "layer"
        """After attention and after the feed-forward network."""

        def __post_init__(self) -> None:
            check_multiple(self, "hidden_channels", "heads")

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden = settings.hidden_channels
        self.encode = FeatureEncoder(in_channels, hidden, settings.input_dropout, num_kept)
        self.encode_position = nn.Linear(settings.num_eigenvectors, hidden)
        self.layers = nn.ModuleList(GTLayer(settings) for _ in range(settings.num_layers))
        self.classifier = nn.Linear(hidden, out_channels)
        self.dropout = settings.dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        _, vectors = laplacian_eigenvectors(graph, settings.num_eigenvectors, cache)
        position = F.pad(torch.from_numpy(vectors), (0, settings.num_eigenvectors - vectors.shape[1]))
        return {**super().prepare(graph, cache, settings), "position": position}

    def forward(self, inputs: Inputs) -> Tensor:
        position = flip_signs(inputs["position"], self.training)
        h = self.encode(inputs["x"])
        h = F.dropout(h + self.encode_position(position), self.dropout, self.training)
        for layer in self.layers:
            h = layer(h, inputs["edge_index"])
        logits: Tensor = self.classifier(h)
        return logits


class GTLayer(nn.Module):
    """norm(h + O attention(h)), then norm(h + FFN(h)); a node without neighbours keeps its own h."""

    def __init__(self, settings: GT.Settings) -> None:
        super().__init__()
        channels, heads, norm = settings.hidden_channels, settings.heads, settings.norm
        drop = settings.attention_dropout
        self.attention = TransformerConv(
            channels, channels // heads, heads=heads, dropout=drop, root_weight=False, bias=False
        )
        self.attention.lin_skip = nn.Identity()  # PyG makes it even where root_weight=False never uses it
        self.project = nn.Linear(channels, channels)
        self.norm1, self.norm2 = make_norm(norm, channels), make_norm(norm, channels)
        self.widen, self.narrow = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)
        self.dropout = settings.dropout

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        attended = self.project(self.attention(h, edge_index))
        h = self.norm1(h + F.dropout(attended, self.dropout, self.training))
        inner = F.dropout(self.widen(h).relu(), self.dropout, self.training)
        out: Tensor = self.norm2(h + F.dropout(self.narrow(inner), self.dropout, self.training))
        return out


def flip_signs(vectors: Tensor, training: bool) -> Tensor:
    """Every eigenvector [n, k] times a random sign, the same for all nodes; as it is outside training."""
    if not training:
        return vectors
    signs = torch.randint(0, 2, (1, vectors.shape[1]), device=vectors.device) * 2 - 1
    return vectors * signs
