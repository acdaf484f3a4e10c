"""`NodeModel`: a model that gives logits for all nodes of one graph at once (the message-passing baselines).

The harness knows nothing else about a model: how to build it, what to precompute, how much memory it will want. A model
of your own in a few lines::

    class Smooth(NodeModel):
        @dataclass(frozen=True)
        class Settings(ModelSettings):
            dropout: Rate = 0.5

        def __init__(self, in_channels, out_channels, settings=Settings(), *, num_kept=0):
            super().__init__(num_kept)
            self.lin = FeatureLinear(in_channels, out_channels)
            self.dropout = settings.dropout

        @classmethod
        def prepare(cls, graph, cache, settings):
            return {"x": graph.x, "adj": to_torch(gcn_norm(graph))}

        def forward(self, inputs):
            x = feature_dropout(inputs["x"], self.dropout, self.training, self.num_kept)
            return inputs["adj"] @ self.lin(x)
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ansgt.graph import Graph
from ansgt.settings import GENERAL_SPACE, ModelSettings, Space, Span
from ansgt.storage import DiskCache

Inputs = dict[str, Tensor]
"""What `forward` reads, all on one device. `x` [n, p], dense or CSR, is always there."""
SPACE: Space = {**GENERAL_SPACE, "dropout": Span(0.0, 0.8), "input_dropout": Span(0.0, 0.9)}
"""What a search tries of most models that see the whole graph."""
WIDTHS = (32, 64, 128, 256)
"""Of hidden layers, for a search."""


def layer_bytes(graph: Graph, width: int, num_layers: int = 2) -> int:
    """About what some layers of all nodes take in a training step: 14 n (p + d L) + 128 per edge and direction.

    Three to four numbers per activation (forward, dropped out, gradient) and per dense feature; the normalised adjacency
    while it is made. Measured on graphs of 40,000 nodes, at most a third too much.
    """
    columns = graph.num_features if graph.x.layout == torch.strided else 0
    return 14 * graph.num_nodes * (columns + width * num_layers) + 256 * graph.num_edges


class NodeModel(nn.Module):
    """Base of the full-batch models.

    The constructor of a subclass takes ``(in_channels, out_channels, settings, *, num_kept=0)`` and, by keyword, what
    `graph_settings` gives; `settings` is an instance of the subclass's `Settings`.

    Args:
        num_kept: last columns of x that feature dropout leaves alone: what the harness appended to the features.
    """

    Settings: ClassVar[type[ModelSettings]] = ModelSettings
    """Dataclass of the model's settings: what a settings file may change, with types, ranges and defaults."""

    def __init__(self, num_kept: int = 0) -> None:
        super().__init__()
        self.num_kept = num_kept

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        """Everything that is computed once per graph (normalised adjacency, eigenvectors, ...), on the CPU.

        Args:
            graph: the graph, features as published.
            cache: keeps on disk what is expensive.
            settings: an instance of `Settings`.
        """
        return {"x": graph.x, "edge_index": graph.edge_index}

    @classmethod
    def graph_settings(cls, graph: Graph) -> dict[str, Any]:
        """Keywords of the constructor that the graph decides (e.g. its number of nodes); the harness adds them."""
        return {}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Any) -> int:
        """Upper estimate of the memory one training step wants; checked before the run starts. 0: no concern."""
        return 0

    def param_groups(self, lr: float, weight_decay: float) -> Iterable[dict[str, Any]]:
        """Groups for the optimizer; override to exempt parameters from weight decay."""
        return [{"params": list(self.parameters()), "lr": lr, "weight_decay": weight_decay}]

    def forward(self, inputs: Inputs) -> Tensor:
        """Logits [n, C]."""
        raise NotImplementedError
