"""SGFormer (Wu et al., 2023): one layer of linear attention over all nodes beside a GCN."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel
from ansgt.models.baselines.gcn import gcn_inputs
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout, propagate
from ansgt.settings import Count, Few, ModelSettings, Rate, Share, Space, Span
from ansgt.storage import DiskCache


class SGFormer(NodeModel):
    """logits = W (g H_gcn + (1 - g) H_attention), two branches with an encoder each.

    A branch of GCN: h <- dropout(ReLU(BN(Ã h W))) + h_0. A branch of attention: h <- dropout(ReLU(LN((attend(h) + h) / 2))).
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of SGFormer."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": WIDTHS,
            "num_layers": (1, 2, 3),
            "graph_weight": Span(0.2, 0.9),
        }

        hidden_channels: Count = 64
        """Width of both branches."""
        num_layers: Few = 2
        """Graph convolutions."""
        attention_layers: Count = 1
        """Layers of attention over all nodes; the paper shows that one is enough."""
        heads: Count = 1
        """Attention heads, each `hidden_channels` wide; their outputs are averaged."""
        graph_weight: Share = 0.8
        """g: share of the GCN's branch."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.0
        """Of node features."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        width = settings.hidden_channels
        self.encode_graph, self.encode_all = (
            FeatureLinear(in_channels, width),
            FeatureLinear(in_channels, width),
        )
        self.convs = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(settings.num_layers))
        self.biases = nn.ParameterList(torch.zeros(width) for _ in range(settings.num_layers))
        self.graph_norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(settings.num_layers + 1))
        layers = settings.attention_layers
        self.attentions = nn.ModuleList(LinearAttention(width, settings.heads) for _ in range(layers))
        self.all_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers + 1))
        self.classifier = nn.Linear(width, out_channels)
        self.graph_weight = settings.graph_weight
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return gcn_inputs(graph)

    def forward(self, inputs: Inputs) -> Tensor:
        x = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        g = self.graph_weight
        logits: Tensor = self.classifier(
            g * self._along_edges(x, inputs["adj"]) + (1 - g) * self._over_all(x)
        )
        return logits

    def _along_edges(self, x: Tensor, adj: Tensor) -> Tensor:
        h = first = self._activated(self.graph_norms[0](self.encode_graph(x)))
        for conv, bias, norm in zip(self.convs, self.biases, self.graph_norms[1:], strict=True):
            mixed: Tensor = norm(propagate(adj, conv(h)) + bias)
            h = self._activated(mixed) + first
        return h

    def _over_all(self, x: Tensor) -> Tensor:
        h = self._activated(self.all_norms[0](self.encode_all(x)))
        for attend, norm in zip(self.attentions, self.all_norms[1:], strict=True):
            h = self._activated(norm((attend(h) + h) / 2))
        return h

    def _activated(self, h: Tensor) -> Tensor:
        return F.dropout(h.relu(), self.dropout, self.training)


class LinearAttention(nn.Module):
    """D^(-1) (V + (1/n) Q (K^T V)), D = 1 + (1/n) Q (K^T 1), with rows of Q and K of length 1: O(n d²)."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (
            nn.Linear(channels, heads * channels, bias=False) for _ in range(3)
        )
        self.heads = heads

    def forward(self, h: Tensor) -> Tensor:
        split = (self.heads, h.shape[1])
        query = F.normalize(self.query(h).unflatten(1, split), dim=-1)  # [n, heads, d]
        key = F.normalize(self.key(h).unflatten(1, split), dim=-1)
        value = self.value(h).unflatten(1, split)
        n = len(h)
        summary = torch.einsum("nhc,nhd->hcd", key, value)
        above = value * n + torch.einsum("nhc,hcd->nhd", query, summary)
        below = n + torch.einsum("nhc,hc->nh", query, key.sum(dim=0))
        out: Tensor = (above / below[..., None]).mean(dim=1)
        return out
