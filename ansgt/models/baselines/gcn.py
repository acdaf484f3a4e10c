"""GCN (Kipf and Welling, 2017), with the norm and residual connections that tuned versions of it use."""

from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv

from ansgt.graph import Graph
from ansgt.linalg import gcn_norm, to_torch
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureLinear, feature_dropout
from ansgt.models.baselines.norms import make_norm
from ansgt.models.baselines.propagate import SymmetricAggregation
from ansgt.storage import DiskCache


class GCN(NodeModel):
    """H_(l+1) = ReLU(Ã H_l W_l), Ã = D̂^(-1/2) (A + I) D̂^(-1/2).

    Args:
        hidden_channels: width of the hidden layers.
        num_layers: graph convolutions in all.
        dropout: of hidden features.
        input_dropout: of node features.
        norm: "none", "batch" or "layer", before every ReLU.
        residual: adds a linear map of a layer's input to its output.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.0,
        norm: str = "none",
        residual: bool = False,
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        pairs = list(pairwise(widths))
        self.convs = nn.ModuleList(gcn_conv(i, o) for i, o in pairs)
        self.norms = nn.ModuleList(make_norm(norm, hidden_channels) for _ in pairs[1:])
        self.skips = nn.ModuleList(FeatureLinear(i, o, bias=False) for i, o in pairs if residual)
        self.dropout, self.input_dropout = dropout, input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        return {**super().prepare(graph, cache), "adj": to_torch(gcn_norm(graph))}

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        for depth, conv in enumerate(self.convs):
            out = conv(h, inputs["adj"])
            if self.skips:
                out = out + self.skips[depth](h)
            if depth == len(self.convs) - 1:
                return out
            h = F.dropout(self.norms[depth](out).relu(), self.dropout, self.training)
        return h


class SymmetricGCNConv(SymmetricAggregation, GCNConv):
    """PyG's GCNConv on the symmetric normalised adjacency."""


def gcn_conv(in_channels: int, out_channels: int) -> GCNConv:
    """GCNConv on an adjacency that is normalised already; its linear map takes sparse features."""
    conv = SymmetricGCNConv(in_channels, out_channels, normalize=False)
    conv.lin = FeatureLinear(in_channels, out_channels, bias=False)
    nn.init.xavier_uniform_(conv.lin.weight)
    return conv
