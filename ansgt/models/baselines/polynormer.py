"""Polynormer (Deng et al., 2024): polynomials of the features by local, then by global attention, in linear time."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel
from ansgt.models.baselines.gcn import gcn_inputs
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout, propagate
from ansgt.settings import Count, Few, ModelSettings, Rate, Share, Size, Space, Span, check_multiple
from ansgt.storage import DiskCache


class Polynormer(NodeModel):
    """Local layers h <- (1 - b) LN(g * z) + b z, z = dropout(ReLU(BN(Ã h W + h V))), g = ReLU(h U); their sum is read.

    After `local_epochs` epochs of training the sum goes through global attention and another classifier. Published with
    graph attention as the local operator; ours is the GCN's Ã, which its authors offer too. The number of epochs seen
    is a buffer: it is stored with the weights.
    """

    seen: Tensor

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of Polynormer."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": WIDTHS,
            "num_layers": (2, 3, 5, 7),
            "global_layers": (1, 2),
            "global_dropout": Span(0.0, 0.7),
        }

        hidden_channels: Count = 64
        """Width in all, a multiple of `heads`."""
        num_layers: Few = 4
        """Local layers."""
        global_layers: Count = 1
        """Layers of attention over all nodes."""
        heads: Count = 4
        """Heads of the global attention."""
        local_epochs: Size = 100
        """Epochs in which the local layers are trained alone."""
        beta: Share = 0.9
        """b: share of what is not multiplied by the gate; the published start."""
        dropout: Rate = 0.5
        """Of local layers."""
        global_dropout: Rate = 0.5
        """Of global layers."""
        input_dropout: Rate = 0.2
        """Of node features."""

        def __post_init__(self) -> None:
            check_multiple(self, "hidden_channels", "heads")

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        width, depth = settings.hidden_channels, settings.num_layers
        self.locals = nn.ModuleList(
            LocalLayer(in_channels if at == 0 else width, width, settings) for at in range(depth)
        )
        self.norm = nn.LayerNorm(width)
        self.globals = nn.ModuleList(GlobalLayer(settings) for _ in range(settings.global_layers))
        self.classify_local = nn.Linear(width, out_channels) if settings.local_epochs else None
        self.classify_global = nn.Linear(width, out_channels)
        self.input_dropout, self.local_epochs = settings.input_dropout, settings.local_epochs
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return gcn_inputs(graph)

    def forward(self, inputs: Inputs) -> Tensor:
        self.seen += self.training
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        outputs = []
        for layer in self.locals:
            h = layer(h, inputs["adj"])
            outputs.append(h)
        total = torch.stack(outputs).sum(dim=0)
        if self.classify_local is not None and int(self.seen) <= self.local_epochs:
            local: Tensor = self.classify_local(total)
            return local
        h = self.norm(total)
        for layer in self.globals:
            h = layer(h)
        logits: Tensor = self.classify_global(h)
        return logits


class LocalLayer(nn.Module):
    """One equivariant layer: what the gate lets through is a product of features, so depth raises the degree."""

    def __init__(self, in_channels: int, width: int, settings: Polynormer.Settings) -> None:
        super().__init__()
        self.gate, self.skip = FeatureLinear(in_channels, width), FeatureLinear(in_channels, width)
        self.conv = FeatureLinear(in_channels, width, bias=False)
        self.batch_norm, self.norm = nn.BatchNorm1d(width), nn.LayerNorm(width)
        self.beta, self.dropout = settings.beta, settings.dropout

    def forward(self, h: Tensor, adj: Tensor) -> Tensor:
        mixed = self.batch_norm(propagate(adj, self.conv(h)) + self.skip(h))
        mixed = F.dropout(mixed.relu(), self.dropout, self.training)
        gated = self.norm(self.gate(h).relu() * mixed)
        out: Tensor = (1 - self.beta) * gated + self.beta * mixed
        return out


class GlobalLayer(nn.Module):
    """dropout(ReLU(O (LN(Q (K^T V) / Q (K^T 1)) * (h U + b)))), Q and K sigmoids: O(n d²)."""

    def __init__(self, settings: Polynormer.Settings) -> None:
        super().__init__()
        width = settings.hidden_channels
        self.gate, self.project = nn.Linear(width, width), nn.Linear(width, width)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.norm = nn.LayerNorm(width)
        self.heads, self.beta, self.dropout = settings.heads, settings.beta, settings.global_dropout

    def forward(self, h: Tensor) -> Tensor:
        split = (-1, self.heads)  # a head is a stride of the columns, as published
        query, key = self.query(h).sigmoid().unflatten(1, split), self.key(h).sigmoid().unflatten(1, split)
        value = self.value(h).unflatten(1, split)  # each [n, d / heads, heads]
        summary = torch.einsum("ndh,nmh->dmh", key, value)
        above = torch.einsum("ndh,dmh->nmh", query, summary)
        below = torch.einsum("ndh,dh->nh", query, key.sum(dim=0))
        attended = self.norm((above / (below[:, None] + 1e-6)).flatten(1)) * (self.gate(h) + self.beta)
        out: Tensor = F.dropout(self.project(attended).relu(), self.dropout, self.training)
        return out
