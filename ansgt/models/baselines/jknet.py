"""JKNet (Xu et al., 2018): GCN layers whose outputs all reach the classifier."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import JumpingKnowledge

from ansgt.graph import Graph
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.gcn import gcn_conv, gcn_inputs
from ansgt.models.baselines.layers import feature_dropout
from ansgt.settings import Count, Few, ModelSettings, Rate, Space
from ansgt.storage import DiskCache


class JKNet(NodeModel):
    """GCN layers, then `JumpingKnowledge`, then a linear classifier."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of JKNet."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": WIDTHS,
            "num_layers": (2, 3, 4),
            "mode": ("cat", "max"),
        }

        hidden_channels: Count = 64
        """Width of every layer."""
        num_layers: Few = 2
        """Graph convolutions."""
        mode: Literal["cat", "max", "lstm"] = "cat"
        """How `torch_geometric.nn.JumpingKnowledge` joins the layers' outputs."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.0
        """Of node features."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden, depth = settings.hidden_channels, settings.num_layers
        self.convs = nn.ModuleList(gcn_conv(i, o) for i, o in pairwise([in_channels, *[hidden] * depth]))
        self.jump = JumpingKnowledge(settings.mode, channels=hidden, num_layers=depth)
        self.classifier = nn.Linear(hidden * (depth if settings.mode == "cat" else 1), out_channels)
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return gcn_inputs(graph)

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers, and of all of them joined."""
        return layer_bytes(graph, 2 * settings.hidden_channels, settings.num_layers)

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        outputs = []
        for conv in self.convs:
            h = F.dropout(conv(h, inputs["adj"]).relu(), self.dropout, self.training)
            outputs.append(h)
        logits: Tensor = self.classifier(self.jump(outputs))
        return logits
