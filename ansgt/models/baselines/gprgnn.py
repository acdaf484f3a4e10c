"""GPRGNN (Chien et al., 2021): generalised PageRank with learned weights."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.errors import unknown_name
from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.gcn import GCN
from ansgt.models.baselines.mlp import MLP
from ansgt.models.baselines.propagate import propagate
from ansgt.storage import DiskCache

INITS = ("ppr", "nppr", "sgc", "random")


class GPRGNN(NodeModel):
    """Z = sum_k gamma_k Ã^k H, H = MLP(X); the gamma_k are learned and may be negative (high-pass).

    Args:
        hidden_channels: width of the MLP's hidden layer.
        num_steps: K.
        alpha: of the initial gamma; for "sgc" the step whose weight is 1.
        init: "ppr" (alpha (1 - alpha)^k, rest on K), "nppr" (alpha^k, scaled to absolute sum 1), "sgc", "random".
        dropout: of the MLP's input and hidden features.
        propagation_dropout: of H.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_steps: int = 10,
        alpha: float = 0.1,
        init: str = "ppr",
        dropout: float = 0.5,
        propagation_dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.mlp = MLP(
            in_channels, out_channels, hidden_channels=hidden_channels, dropout=dropout, input_dropout=dropout
        )
        self.gamma = nn.Parameter(initial_weights(num_steps, alpha, init))
        self.propagation_dropout = propagation_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        return GCN.prepare(graph, cache)

    def param_groups(self, lr: float, weight_decay: float) -> Iterable[dict[str, Any]]:
        """No weight decay on gamma, as published."""
        return [
            {"params": list(self.mlp.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": [self.gamma], "lr": lr, "weight_decay": 0.0},
        ]

    def forward(self, inputs: Inputs) -> Tensor:
        h = F.dropout(self.mlp(inputs), self.propagation_dropout, self.training)
        out = self.gamma[0] * h
        for weight in self.gamma[1:]:
            h = propagate(inputs["adj"], h)
            out = out + weight * h
        return out


def initial_weights(num_steps: int, alpha: float, init: str) -> Tensor:
    """gamma_0..gamma_K.

    >>> initial_weights(2, 0.5, "ppr")
    tensor([0.5000, 0.2500, 0.2500])
    """
    steps = torch.arange(num_steps + 1, dtype=torch.float32)
    if init == "ppr":
        weights = alpha * (1 - alpha) ** steps
        weights[-1] = (1 - alpha) ** num_steps
        return weights
    if init == "nppr":
        return alpha**steps / (alpha**steps).abs().sum()
    if init == "sgc":
        return (steps == alpha).float()
    if init == "random":
        bound = (3 / (num_steps + 1)) ** 0.5
        weights = torch.empty(num_steps + 1).uniform_(-bound, bound)
        return weights / weights.abs().sum()
    raise unknown_name("init", init, INITS)
