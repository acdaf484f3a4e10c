"""GPRGNN (Chien et al., 2021): generalised PageRank with learned weights."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.errors import unknown_name
from ansgt.graph import Graph
from ansgt.models.base import WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.gcn import gcn_inputs
from ansgt.models.baselines.layers import propagate
from ansgt.models.baselines.mlp import MLP
from ansgt.settings import GENERAL_SPACE, Count, ModelSettings, NonNegative, Rate, Size, Space, Span
from ansgt.storage import DiskCache

Init = Literal["ppr", "nppr", "sgc", "random"]


class GPRGNN(NodeModel):
    """Z = sum_k gamma_k Ã^k H, H = MLP(X); the gamma_k are learned and may be negative (high-pass)."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of GPRGNN."""

        space: ClassVar[Space] = {
            **GENERAL_SPACE,
            "hidden_channels": WIDTHS,
            "alpha": (0.1, 0.2, 0.5, 0.9, 1.0),
            "dropout": Span(0.0, 0.8),
            "propagation_dropout": Span(0.0, 0.8),
        }

        hidden_channels: Count = 64
        """Width of the MLP's hidden layer."""
        num_steps: Size = 10
        """K, steps of propagation."""
        alpha: NonNegative = 0.1
        """Of the initial gamma; for "sgc" the step whose weight is 1."""
        init: Init = "ppr"
        """ppr: alpha (1 - alpha)^k, the rest on K; nppr: alpha^k, scaled to absolute sum 1; sgc; random."""
        dropout: Rate = 0.5
        """Of the MLP's input and hidden features."""
        propagation_dropout: Rate = 0.5
        """Of H, the predictions that are propagated."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        perceptron = MLP.Settings(
            settings.hidden_channels, dropout=settings.dropout, input_dropout=settings.dropout
        )
        self.mlp = MLP(in_channels, out_channels, perceptron, num_kept=num_kept)
        self.gamma = nn.Parameter(initial_weights(settings.num_steps, settings.alpha, settings.init))
        self.propagation_dropout = settings.propagation_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return gcn_inputs(graph)

    def param_groups(self, lr: float, weight_decay: float) -> Iterable[dict[str, Any]]:
        """No weight decay on gamma, as published."""
        return [
            {"params": list(self.mlp.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": [self.gamma], "lr": lr, "weight_decay": 0.0},
        ]

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers, and of every step's scores."""
        return layer_bytes(graph, settings.hidden_channels) + layer_bytes(
            graph, graph.num_classes, settings.num_steps
        )

    def forward(self, inputs: Inputs) -> Tensor:
        h = F.dropout(self.mlp(inputs), self.propagation_dropout, self.training)
        out = self.gamma[0] * h
        for weight in self.gamma[1:]:
            h = propagate(inputs["adj"], h)
            out = out + weight * h
        return out


def initial_weights(num_steps: int, alpha: float, init: Init) -> Tensor:
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
    raise unknown_name("init", init, get_args(Init))
