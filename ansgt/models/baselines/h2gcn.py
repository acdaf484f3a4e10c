"""H2GCN (Zhu et al., 2020): ego apart from neighbours, two-hop neighbours apart from one-hop, all rounds kept."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.linalg import sym_norm
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureLinear, feature_dropout
from ansgt.models.baselines.propagate import propagate, to_operator
from ansgt.storage import DiskCache


class H2GCN(NodeModel):
    """r_0 = ReLU(X W_e), r_k = [Ā_1 r_(k-1), Ā_2 r_(k-1)], logits = [r_0, ..., r_K] W_c; no self-loops.

    Args:
        hidden_channels: width of r_0.
        num_rounds: K.
        activation: ReLU after every round (the published code has it as an option).
        dropout: before the classifier.
        input_dropout: of node features.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_rounds: int = 2,
        activation: bool = False,
        dropout: float = 0.5,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed = FeatureLinear(in_channels, hidden_channels, bias=False)
        widths = [hidden_channels * 2**k for k in range(num_rounds + 1)]
        self.classifier = nn.Linear(sum(widths), out_channels)
        self.num_rounds, self.activation = num_rounds, activation
        self.dropout, self.input_dropout = dropout, input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        one = to_operator(sym_norm(graph.adj, self_loops=False))
        two = to_operator(sym_norm(two_hop(graph.adj), self_loops=False))
        return {**super().prepare(graph, cache), "one_hop": one, "two_hop": two}

    def forward(self, inputs: Inputs) -> Tensor:
        r = self.embed(feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)).relu()
        rounds = [r]
        for _ in range(self.num_rounds):
            r = torch.cat([propagate(inputs["one_hop"], r), propagate(inputs["two_hop"], r)], dim=1)
            r = r.relu() if self.activation else r
            rounds.append(r)
        return self.classifier(F.dropout(torch.cat(rounds, dim=1), self.dropout, self.training))


def two_hop(adj: sp.csr_array) -> sp.csr_array:
    """1 where the shortest path has exactly two steps.

    >>> two_hop(sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])).toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    reached = sp.csr_array((adj @ adj).astype(bool).astype(np.float64))
    reached.setdiag(0)
    strict = sp.csr_array(reached - reached.multiply(adj.astype(bool)))
    strict.eliminate_zeros()
    return strict
