"""`NodeModel`: a model that gives logits for all nodes of one graph at once (the message-passing baselines).

The harness knows nothing else about a model: how to build it, what to precompute, how much memory it will want.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from ansgt.graph import Graph
from ansgt.storage import DiskCache

Inputs = dict[str, Tensor]
"""What `forward` reads, all on one device. `x` [n, p] and `edge_index` [2, 2|E|] are always there."""


class NodeModel(nn.Module):
    """Base of the full-batch models.

    A subclass takes ``(in_channels, out_channels, *, settings...)``: every setting is a keyword with a default, and
    these keywords are what a config file may set.
    """

    num_kept = 0
    """Last columns of x that feature dropout leaves alone (`training.features.keep_appended`)."""

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        """Everything that is computed once per graph (normalised adjacency, eigenvectors, ...), on the CPU."""
        return {"x": graph.x, "edge_index": graph.edge_index}

    @classmethod
    def graph_settings(cls, graph: Graph) -> dict[str, Any]:
        """Keywords of the constructor that the graph decides (e.g. its number of nodes); the harness adds them."""
        return {}

    @classmethod
    def estimate_bytes(cls, graph: Graph, **settings: Any) -> int:
        """Upper estimate of the memory one training step wants; checked before the run starts. 0: no concern."""
        return 0

    def param_groups(self, lr: float, weight_decay: float) -> Iterable[dict[str, Any]]:
        """Groups for the optimizer; override to exempt parameters from weight decay."""
        return [{"params": list(self.parameters()), "lr": lr, "weight_decay": weight_decay}]

    def forward(self, inputs: Inputs) -> Tensor:
        """Logits [n, C]."""
        raise NotImplementedError
