"""GT (Dwivedi and Bresson, 2020): a transformer that attends to one-hop neighbours."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import TransformerConv

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureEncoder
from ansgt.models.baselines.norms import make_norm
from ansgt.models.baselines.spectral import laplacian_eigenvectors
from ansgt.storage import DiskCache


class GT(NodeModel):
    """Sparse graph transformer with Laplacian eigenvectors as positional encoding.

    A layer is attention over the neighbours, then a two-layer network, each with a residual connection and a norm after
    it. The signs of the eigenvectors are flipped at random in every training step. The published read-out is a
    three-layer MLP; ours is linear.

    Args:
        hidden_channels: d, a multiple of `heads`.
        num_layers: transformer layers.
        heads: attention heads.
        num_eigenvectors: width of the positional encoding.
        dropout: of hidden features.
        input_dropout: of node features.
        attention_dropout: of attention weights.
        norm: "layer" or "batch".
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        heads: int = 4,
        num_eigenvectors: int = 8,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        attention_dropout: float = 0.0,
        norm: str = "layer",
    ) -> None:
        super().__init__()
        self.encode = FeatureEncoder(in_channels, hidden_channels, input_dropout)
        self.encode_position = nn.Linear(num_eigenvectors, hidden_channels)
        self.layers = nn.ModuleList(
            GTLayer(hidden_channels, heads, dropout, attention_dropout, norm) for _ in range(num_layers)
        )
        self.classifier = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, num_eigenvectors: int = 8, **settings: Any) -> Inputs:
        _, vectors = laplacian_eigenvectors(graph, num_eigenvectors, cache)
        position = F.pad(torch.from_numpy(vectors), (0, num_eigenvectors - vectors.shape[1]))
        return {**super().prepare(graph, cache), "position": position}

    def forward(self, inputs: Inputs) -> Tensor:
        position = flip_signs(inputs["position"], self.training)
        h = self.encode(inputs["x"])
        h = F.dropout(h + self.encode_position(position), self.dropout, self.training)
        for layer in self.layers:
            h = layer(h, inputs["edge_index"])
        return self.classifier(h)


class GTLayer(nn.Module):
    """norm(h + O attention(h)), then norm(h + FFN(h)); a node without neighbours keeps its own h."""

    def __init__(
        self, channels: int, heads: int, dropout: float, attention_dropout: float, norm: str
    ) -> None:
        super().__init__()
        self.attention = TransformerConv(
            channels, channels // heads, heads=heads, dropout=attention_dropout, root_weight=False, bias=False
        )
        self.attention.lin_skip = nn.Identity()  # PyG makes it even where root_weight=False never uses it
        self.project = nn.Linear(channels, channels)
        self.norm1, self.norm2 = make_norm(norm, channels), make_norm(norm, channels)
        self.widen, self.narrow = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)
        self.dropout = dropout

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        attended = self.project(self.attention(h, edge_index))
        h = self.norm1(h + F.dropout(attended, self.dropout, self.training))
        inner = F.dropout(self.widen(h).relu(), self.dropout, self.training)
        return self.norm2(h + F.dropout(self.narrow(inner), self.dropout, self.training))


def flip_signs(vectors: Tensor, training: bool) -> Tensor:
    """Every eigenvector [n, k] times a random sign, the same for all nodes; as it is outside training."""
    if not training:
        return vectors
    signs = torch.randint(0, 2, (1, vectors.shape[1]), device=vectors.device) * 2 - 1
    return vectors * signs
