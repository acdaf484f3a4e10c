"""APPNP (Gasteiger et al., 2019): predict first, then propagate by personalised PageRank."""

from typing import Any

from torch import Tensor
from torch_geometric.nn import APPNP as PyGAPPNP

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.gcn import GCN
from ansgt.models.baselines.mlp import MLP
from ansgt.models.baselines.propagate import SymmetricAggregation
from ansgt.storage import DiskCache


class Propagation(SymmetricAggregation, PyGAPPNP):
    """PyG's power iteration on the symmetric normalised adjacency."""


class APPNP(NodeModel):
    """Z_(k+1) = (1 - alpha) Ã Z_k + alpha H, H = MLP(X).

    Args:
        hidden_channels: width of the MLP's hidden layers.
        num_layers: layers of the MLP.
        num_steps: K, steps of the power iteration.
        alpha: restart probability.
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
        num_steps: int = 10,
        alpha: float = 0.1,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.mlp = MLP(
            in_channels,
            out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            dropout=dropout,
            input_dropout=input_dropout,
        )
        self.propagation = Propagation(num_steps, alpha, normalize=False)

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        return GCN.prepare(graph, cache)

    def forward(self, inputs: Inputs) -> Tensor:
        return self.propagation(self.mlp(inputs), inputs["adj"])
