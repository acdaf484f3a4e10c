"""NAGphormer (Chen et al., 2023): a node is a sequence of its K-hop averages, read by a transformer."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.models.base import SPACE, Inputs, NodeModel
from ansgt.models.baselines.gcn import gcn_inputs
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout, propagate
from ansgt.models.baselines.positions import laplacian_eigenvectors
from ansgt.settings import Count, Few, ModelSettings, Rate, Size, Space, Span, check_multiple
from ansgt.storage import DiskCache


class NAGphormer(NodeModel):
    """Tokens t_k = Ã^k [x | e] W + b, k = 0..K, e the Laplacian eigenvectors; a pre-norm transformer over the K + 1 tokens.

    Read-out: z_0 + sum_k a_k z_k with a = softmax_k(w [z_0 | z_k]), k = 1..K. Published code multiplies K-hop features by
    W; ours propagates x W, the same function with less work. Full batch; dropout of features before the hops.
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of NAGphormer."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": (64, 128, 256),
            "num_layers": (1, 2),
            "num_hops": (2, 3, 7, 10),
            "attention_dropout": Span(0.0, 0.5),
        }

        hidden_channels: Count = 64
        """d, a multiple of `heads`."""
        num_hops: Count = 3
        """K, hops whose means are the tokens."""
        num_layers: Few = 1
        """Transformer layers."""
        heads: Count = 8
        """Attention heads."""
        num_eigenvectors: Size = 3
        """Width of the positional encoding."""
        dropout: Rate = 0.1
        """Of hidden features."""
        attention_dropout: Rate = 0.1
        """Of attention weights."""
        input_dropout: Rate = 0.0
        """Of node features."""

        def __post_init__(self) -> None:
            check_multiple(self, "hidden_channels", "heads")

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        width = settings.hidden_channels
        self.encode = FeatureLinear(in_channels, width, bias=False)
        self.encode_position = nn.Linear(settings.num_eigenvectors, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(HopLayer(settings) for _ in range(settings.num_layers))
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(2 * width, 1)
        self.narrow, self.classifier = nn.Linear(width, width // 2), nn.Linear(width // 2, out_channels)
        self.num_hops, self.input_dropout = settings.num_hops, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        _, vectors = laplacian_eigenvectors(graph, settings.num_eigenvectors, cache)
        position = F.pad(torch.from_numpy(vectors), (0, settings.num_eigenvectors - vectors.shape[1]))
        return {**gcn_inputs(graph), "position": position}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Activations of all nodes' tokens, about twelve times d each per layer, and as much for the gradients."""
        tokens = graph.num_nodes * (settings.num_hops + 1) * settings.hidden_channels
        return 4 * 2 * 12 * tokens * settings.num_layers

    def forward(self, inputs: Inputs) -> Tensor:
        x = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        hops = [self.encode(x) + self.encode_position(inputs["position"])]
        for _ in range(self.num_hops):
            hops.append(propagate(inputs["adj"], hops[-1]))
        h = torch.stack(hops, dim=1) + self.bias  # [n, K + 1, d]
        for layer in self.layers:
            h = layer(h)
        h = self.norm(h)
        own, others = h[:, :1], h[:, 1:]
        weights = self.score(torch.cat([own.expand_as(others), others], dim=2)).softmax(dim=1)
        read = own[:, 0] + (weights * others).sum(dim=1)
        logits: Tensor = self.classifier(self.narrow(read).relu())
        return logits


class HopLayer(nn.Module):
    """h + attention(norm(h)), then h + FFN(norm(h)), over the tokens of every node by itself."""

    def __init__(self, settings: NAGphormer.Settings) -> None:
        super().__init__()
        width = settings.hidden_channels
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.contract = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.heads = settings.heads
        self.dropout, self.attention_dropout = settings.dropout, settings.attention_dropout

    def forward(self, h: Tensor) -> Tensor:
        qkv = self.qkv(self.norm1(h)).unflatten(2, (3, self.heads, -1))
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # each [n, heads, K + 1, d / heads]
        drop = self.attention_dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, dropout_p=drop)
        h = h + F.dropout(self.project(attended.transpose(1, 2).flatten(2)), self.dropout, self.training)
        inner = F.gelu(self.widen(self.norm2(h)))
        return h + F.dropout(self.contract(inner), self.dropout, self.training)
