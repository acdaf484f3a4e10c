"""H2GCN (Zhu et al., 2020): ego apart from neighbours, two-hop neighbours apart from one-hop, all rounds kept."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.linalg import sym_norm
from ansgt.models.base import SPACE, WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout, propagate, to_operator
from ansgt.settings import Count, ModelSettings, Range, Rate, Space
from ansgt.storage import DiskCache

_PAIR = 50
"""Bytes per pair of nodes two steps apart, while their matrix is normalised."""
_WALKS = 1 << 24
"""Walks of two steps that are looked at together."""


class H2GCN(NodeModel):
    """r_0 = ReLU(X W_e), r_k = [Ā_1 r_(k-1), Ā_2 r_(k-1)], logits = [r_0, ..., r_K] W_c; no self-loops."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of H2GCN."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": WIDTHS,
            "num_rounds": (1, 2),
            "activation": (False, True),
        }

        hidden_channels: Count = 64
        """Width of r_0, the encoded features."""
        num_rounds: Annotated[int, Range(0, 16)] = 2
        """K; every round doubles the width."""
        activation: bool = False
        """ReLU after every round (the published code has it as an option)."""
        dropout: Rate = 0.5
        """Before the classifier."""
        input_dropout: Rate = 0.0
        """Of node features."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        self.embed = FeatureLinear(in_channels, settings.hidden_channels, bias=False)
        widths = [settings.hidden_channels * 2**k for k in range(settings.num_rounds + 1)]
        self.classifier = nn.Linear(sum(widths), out_channels)
        self.num_rounds, self.activation = settings.num_rounds, settings.activation
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        one = to_operator(sym_norm(graph.adj, self_loops=False))
        two = to_operator(sym_norm(two_hop(graph.adj), self_loops=False))
        return {**super().prepare(graph, cache, settings), "one_hop": one, "two_hop": two}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its rounds, each twice as wide as the one before, and of the pairs two steps apart, at most sum_v deg(v)^2."""
        degree = graph.degree.astype(np.float64)
        pairs = min(float(degree @ degree), float(graph.num_nodes) ** 2)
        widths = settings.hidden_channels * 2 ** (settings.num_rounds + 1)
        return layer_bytes(graph, widths, 1) + int(pairs) * _PAIR

    def forward(self, inputs: Inputs) -> Tensor:
        r = self.embed(feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)).relu()
        rounds = [r]
        for _ in range(self.num_rounds):
            r = torch.cat([propagate(inputs["one_hop"], r), propagate(inputs["two_hop"], r)], dim=1)
            r = r.relu() if self.activation else r
            rounds.append(r)
        joined = F.dropout(torch.cat(rounds, dim=1), self.dropout, self.training)
        logits: Tensor = self.classifier(joined)
        return logits


def two_hop(adj: sp.csr_array) -> sp.csr_array:
    """1 where the shortest path has exactly two steps.

    >>> two_hop(sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])).toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    near = sp.csr_array((np.ones(adj.nnz, dtype=np.int32), adj.indices, adj.indptr), shape=adj.shape)
    walks = np.cumsum(near @ np.diff(adj.indptr))
    ends = np.searchsorted(walks, np.arange(_WALKS, walks[-1] if len(walks) else 0, _WALKS))
    blocks = []
    for rows in np.split(np.arange(adj.shape[0]), np.unique(ends)):
        own = near[rows]
        reached = sp.csr_array(own @ near)
        reached.data[:] = 1
        itself = sp.csr_array((np.ones(len(rows), dtype=np.int32), (np.arange(len(rows)), rows)), own.shape)
        closer = own + itself
        closer.data[:] = 1
        strict = sp.csr_array(reached - reached.multiply(closer))
        strict.eliminate_zeros()
        blocks.append(strict)
    return sp.csr_array(sp.vstack(blocks, format="csr", dtype=np.float64))
