"""GCN (Kipf and Welling, 2017), with the norm and residual connections that tuned versions of it use."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from ansgt.graph import Graph
from ansgt.linalg import gcn_norm, to_torch
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.layers import (
    FeatureLinear,
    Norm,
    SymmetricAggregation,
    feature_dropout,
    make_norm,
)
from ansgt.settings import Count, Few, ModelSettings, Rate, Space
from ansgt.storage import DiskCache


class GCN(NodeModel):
    """H_(l+1) = ReLU(Ã H_l W_l), Ã = D̂^(-1/2) (A + I) D̂^(-1/2)."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of GCN."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": WIDTHS,
            "num_layers": (2, 3, 4),
            "norm": ("none", "layer", "batch"),
            "residual": (False, True),
        }

        hidden_channels: Count = 64
        """Width of the hidden layers."""
        num_layers: Few = 2
        """Graph convolutions in all."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.0
        """Of node features."""
        norm: Norm = "none"
        """Before every ReLU."""
        residual: bool = False
        """Adds a linear map of a layer's input to its output."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden = settings.hidden_channels
        pairs = list(pairwise([in_channels, *[hidden] * (settings.num_layers - 1), out_channels]))
        self.convs = nn.ModuleList(gcn_conv(i, o) for i, o in pairs)
        self.norms = nn.ModuleList(make_norm(settings.norm, hidden) for _ in pairs[1:])
        self.skips = nn.ModuleList(FeatureLinear(i, o, bias=False) for i, o in pairs if settings.residual)
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return gcn_inputs(graph)

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers."""
        return layer_bytes(graph, settings.hidden_channels, settings.num_layers)

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        for depth, conv in enumerate(self.convs):
            out: Tensor = conv(h, inputs["adj"])
            if self.skips:
                out = out + self.skips[depth](h)
            if depth < len(self.convs) - 1:
                h = F.dropout(self.norms[depth](out).relu(), self.dropout, self.training)
        return out


def gcn_inputs(graph: Graph) -> Inputs:
    """Features, edges and Ã of every model that propagates as GCN does."""
    return {"x": graph.x, "edge_index": graph.edge_index, "adj": to_torch(gcn_norm(graph))}


class SymmetricGCNConv(SymmetricAggregation, GCNConv):  # type: ignore[misc]
    """PyG's GCNConv on the symmetric normalised adjacency."""


def gcn_conv(in_channels: int, out_channels: int) -> GCNConv:
    """GCNConv on an adjacency that is normalised already; its linear map takes sparse features."""
    conv = SymmetricGCNConv(in_channels, out_channels, normalize=False)
    conv.lin = FeatureLinear(in_channels, out_channels, bias=False)
    nn.init.xavier_uniform_(conv.lin.weight)
    return conv
