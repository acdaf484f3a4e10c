"""APPNP (Gasteiger et al., 2019): predict first, then propagate by personalised PageRank."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch_geometric.nn import APPNP as PyGAPPNP

from ansgt.graph import Graph
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.gcn import gcn_inputs
from ansgt.models.baselines.layers import SymmetricAggregation
from ansgt.models.baselines.mlp import MLP
from ansgt.settings import Count, Few, ModelSettings, Rate, Share, Size, Space
from ansgt.storage import DiskCache


class Propagation(SymmetricAggregation, PyGAPPNP):  # type: ignore[misc]
    """PyG's power iteration on the symmetric normalised adjacency."""


class APPNP(NodeModel):
    """Z_(k+1) = (1 - alpha) Ã Z_k + alpha H, H = MLP(X)."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of APPNP."""

        space: ClassVar[Space] = {**SPACE, "hidden_channels": WIDTHS, "alpha": (0.1, 0.2, 0.5, 0.9)}

        hidden_channels: Count = 64
        """Width of the MLP's hidden layers."""
        num_layers: Few = 2
        """Layers of the MLP."""
        num_steps: Size = 10
        """K, steps of the power iteration."""
        alpha: Share = 0.1
        """Restart probability."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.5
        """Of node features."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        perceptron = MLP.Settings(
            settings.hidden_channels, settings.num_layers, settings.dropout, settings.input_dropout
        )
        self.mlp = MLP(in_channels, out_channels, perceptron, num_kept=num_kept)
        self.propagation = Propagation(settings.num_steps, settings.alpha, normalize=False)

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return gcn_inputs(graph)

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers, and of every step's scores."""
        return layer_bytes(graph, settings.hidden_channels, settings.num_layers) + layer_bytes(
            graph, graph.num_classes, settings.num_steps
        )

    def forward(self, inputs: Inputs) -> Tensor:
        logits: Tensor = self.propagation(self.mlp(inputs), inputs["adj"])
        return logits
