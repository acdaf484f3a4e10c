"""GraphSAGE with the mean aggregator (Hamilton et al., 2017), full batch."""

from itertools import pairwise
from typing import Any

import scipy.sparse as sp
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.linalg import row_norm, to_torch
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureLinear, feature_dropout
from ansgt.models.baselines.norms import make_norm
from ansgt.models.baselines.propagate import propagate
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
        return propagate(mean, self.neighbours(x), transposed) + self.root(x)


class SAGE(NodeModel):
    """GraphSAGE-mean.

    Args:
        hidden_channels: width of the hidden layers.
        num_layers: layers in all.
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
        self.layers = nn.ModuleList(SAGELayer(i, o) for i, o in pairwise(widths))
        self.norms = nn.ModuleList(make_norm(norm, hidden_channels) for _ in range(num_layers - 1))
        self.dropout, self.input_dropout = dropout, input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        mean = row_norm(graph.adj)
        transposed = to_torch(sp.csr_array(mean.T))
        return {**super().prepare(graph, cache), "mean": to_torch(mean), "transposed": transposed}

    def forward(self, inputs: Inputs) -> Tensor:
        mean, transposed = inputs["mean"], inputs["transposed"]
        h = self.layers[0](
            feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept), mean, transposed
        )
        for norm, layer in zip(self.norms, self.layers[1:], strict=True):
            h = F.dropout(norm(h).relu(), self.dropout, self.training)
            h = layer(h, mean, transposed)
        return h
