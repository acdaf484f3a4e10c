"""JKNet (Xu et al., 2018): GCN layers whose outputs all reach the classifier."""

from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import JumpingKnowledge

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import feature_dropout
from ansgt.models.baselines.gcn import GCN, gcn_conv
from ansgt.storage import DiskCache


class JKNet(NodeModel):
    """GCN layers, then `JumpingKnowledge`, then a linear classifier.

    Args:
        hidden_channels: width of every layer.
        num_layers: graph convolutions.
        mode: "cat", "max" or "lstm" (see `torch_geometric.nn.JumpingKnowledge`).
        dropout: of hidden features.
        input_dropout: of node features.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        mode: str = "cat",
        dropout: float = 0.5,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.convs = nn.ModuleList(gcn_conv(i, o) for i, o in pairwise(widths))
        self.jump = JumpingKnowledge(mode, channels=hidden_channels, num_layers=num_layers)
        jumped = hidden_channels * (num_layers if mode == "cat" else 1)
        self.classifier = nn.Linear(jumped, out_channels)
        self.dropout, self.input_dropout = dropout, input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        return GCN.prepare(graph, cache)

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        outputs = []
        for conv in self.convs:
            h = F.dropout(conv(h, inputs["adj"]).relu(), self.dropout, self.training)
            outputs.append(h)
        return self.classifier(self.jump(outputs))
