"""MLP on the node features: what can be had without the graph."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureLinear, feature_dropout
from ansgt.models.baselines.norms import make_norm


class MLP(NodeModel):
    """Linear layers with ReLU and dropout in between; no edge is looked at.

    Args:
        hidden_channels: width of the hidden layers.
        num_layers: linear layers in all.
        dropout: of hidden features.
        input_dropout: of node features.
        norm: "none", "batch" or "layer", before every ReLU.
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
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(FeatureLinear(i, o) for i, o in pairwise(widths))
        self.norms = nn.ModuleList(make_norm(norm, hidden_channels) for _ in range(num_layers - 1))
        self.dropout, self.input_dropout = dropout, input_dropout

    def forward(self, inputs: Inputs) -> Tensor:
        h = self.layers[0](feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept))
        for norm, layer in zip(self.norms, self.layers[1:], strict=True):
            h = F.dropout(norm(h).relu(), self.dropout, self.training)
            h = layer(h)
        return h
