"""GraphSAGE with the mean aggregator (Hamilton et al., 2017), full batch."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import scipy.sparse as sp
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.linalg import row_norm, to_torch
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.layers import FeatureLinear, Norm, feature_dropout, make_norm, propagate
from ansgt.settings import Count, Few, ModelSettings, Rate, Space
from ansgt.storage import DiskCache


class SAGELayer(nn.Module):
    """W_1 mean of the neighbours + W_2 the node itself.

    PyG's SAGEConv averages before it multiplies; both orders are the same function, but averaging thousands of raw
    bag-of-words columns costs more than averaging d hidden ones.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.neighbours = FeatureLinear(in_channels, out_channels, bias=False)
        self.root = FeatureLinear(in_channels, out_channels)

    def forward(self, x: Tensor, mean: Tensor, transposed: Tensor) -> Tensor:
        root: Tensor = self.root(x)
        return propagate(mean, self.neighbours(x), transposed) + root


class SAGE(NodeModel):
    """GraphSAGE-mean: H_(l+1) = ReLU(D^(-1) A H_l W_1 + H_l W_2)."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of GraphSAGE."""

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
        """Layers in all."""
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
        hidden, depth = settings.hidden_channels, settings.num_layers
        widths = [in_channels, *[hidden] * (depth - 1), out_channels]
        self.layers = nn.ModuleList(SAGELayer(i, o) for i, o in pairwise(widths))
        self.norms = nn.ModuleList(make_norm(settings.norm, hidden) for _ in range(depth - 1))
        pairs = pairwise(widths) if settings.residual else ()
        self.skips = nn.ModuleList(FeatureLinear(i, o, bias=False) for i, o in pairs)
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        mean = row_norm(graph.adj)
        transposed = to_torch(sp.csr_array(mean.T))
        return {**super().prepare(graph, cache, settings), "mean": to_torch(mean), "transposed": transposed}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers."""
        return layer_bytes(graph, settings.hidden_channels, settings.num_layers)

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        for depth, layer in enumerate(self.layers):
            out: Tensor = layer(h, inputs["mean"], inputs["transposed"])
            if self.skips:
                out = out + self.skips[depth](h)
            if depth < len(self.layers) - 1:
                h = F.dropout(self.norms[depth](out).relu(), self.dropout, self.training)
        return out
