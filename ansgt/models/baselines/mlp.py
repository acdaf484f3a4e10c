"""MLP on the node features: what can be had without the graph."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.layers import FeatureLinear, Norm, feature_dropout, make_norm
from ansgt.settings import Count, Few, ModelSettings, Rate, Space


class MLP(NodeModel):
    """Linear layers with ReLU and dropout in between; no edge is looked at."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of the MLP."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": WIDTHS,
            "num_layers": (2, 3),
            "norm": ("none", "layer", "batch"),
            "data.link_features": ("none", "links"),
        }

        hidden_channels: Count = 64
        """Width of the hidden layers."""
        num_layers: Few = 2
        """Linear layers in all."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.0
        """Of node features."""
        norm: Norm = "none"
        """Before every ReLU."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden, depth = settings.hidden_channels, settings.num_layers
        widths = [in_channels, *[hidden] * (depth - 1), out_channels]
        self.layers = nn.ModuleList(FeatureLinear(i, o) for i, o in pairwise(widths))
        self.norms = nn.ModuleList(make_norm(settings.norm, hidden) for _ in range(depth - 1))
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers."""
        return layer_bytes(graph, settings.hidden_channels, settings.num_layers)

    def forward(self, inputs: Inputs) -> Tensor:
        x = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        h: Tensor = self.layers[0](x)
        for norm, layer in zip(self.norms, self.layers[1:], strict=True):
            h = F.dropout(norm(h).relu(), self.dropout, self.training)
            h = layer(h)
        return h
