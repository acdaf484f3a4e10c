"""ACM-GCN+ (Luan et al., 2022): every node mixes low-pass, high-pass, identity and structure channels for itself.

Not in the paper: the strong modern yardstick.
"""

from itertools import pairwise
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.config import check_choice
from ansgt.graph import Graph
from ansgt.linalg import row_norm, sym_norm, to_torch
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureLinear, feature_dropout
from ansgt.models.baselines.propagate import propagate
from ansgt.storage import DiskCache


class ACMGCN(NodeModel):
    """Adaptive channel mixing.

    Channels of a layer: Ã H W_L (low-pass), (I - Ã) H W_H (high-pass), H W_I (identity), each through ReLU before
    (variant II) or after the filter; with `structure`, "+", also ReLU(A W_S), W_S [n, d]. Node i mixes them with
    softmax over channels of [sigmoid(H_c w_c)] W_mix / T, times their number.

    Args:
        hidden_channels: width of the hidden layers.
        num_layers: layers in all.
        dropout: of node features and hidden features.
        variant: filter after the ReLU (ACMII) where true.
        structure: the structure channel (ACM-GCN+).
        residual: adds ReLU(X W) to the first layer's output (ACM-GCN++).
        norm: "sym" or "row", of the adjacency with self-loops.
        num_nodes: n; the harness fills it in. 0 leaves the structure channel out.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        variant: bool = False,
        structure: bool = True,
        residual: bool = False,
        norm: str = "row",
        num_nodes: int = 0,
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        columns = num_nodes if structure else 0
        self.layers = nn.ModuleList(ACMLayer(i, o, columns, variant) for i, o in pairwise(widths))
        self.skip = FeatureLinear(in_channels, hidden_channels) if residual and num_layers > 1 else None
        self.dropout = dropout

    @classmethod
    def graph_settings(cls, graph: Graph) -> dict[str, Any]:
        return {"num_nodes": graph.num_nodes}

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, norm: str = "row", **settings: Any) -> Inputs:
        check_choice("norm", norm, ("row", "sym"))
        looped = sp.csr_array(graph.adj + sp.eye_array(graph.num_nodes, format="csr"))
        low = row_norm(looped) if norm == "row" else sym_norm(graph.adj)
        return {
            **super().prepare(graph, cache),
            "low": to_torch(low),
            "transposed": to_torch(sp.csr_array(low.T)),
            "structure": to_torch(graph.adj),
        }

    def forward(self, inputs: Inputs) -> Tensor:
        x = feature_dropout(inputs["x"], self.dropout, self.training, self.num_kept)
        h = x
        for depth, layer in enumerate(self.layers):
            h = layer(h, inputs["low"], inputs["transposed"], inputs["structure"])
            if depth == len(self.layers) - 1:
                return h
            h = h.relu()
            if depth == 0 and self.skip is not None:
                h = h + self.skip(x).relu()
            h = F.dropout(h, self.dropout, self.training)
        return h


class ACMLayer(nn.Module):
    """One layer of channel mixing; as published, the channels keep their ReLU even in the last one."""

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int, variant: bool) -> None:
        super().__init__()
        self.lin = FeatureLinear(in_channels, 3 * out_channels, bias=False)  # low, high, identity
        self.structure = FeatureLinear(num_nodes, out_channels, bias=False) if num_nodes else None
        channels = 4 if num_nodes else 3
        self.score = nn.Parameter(torch.empty(channels, out_channels))
        self.mix = nn.Parameter(torch.empty(channels, channels))
        self.variant = variant
        for weight, fan_out in (
            (self.lin.weight, out_channels),
            (self.score, 1),
            (self.mix, channels),
            *([(self.structure.weight, out_channels)] if self.structure is not None else []),
        ):
            nn.init.uniform_(weight, -(fan_out**-0.5), fan_out**-0.5)

    def forward(self, x: Tensor, low: Tensor, transposed: Tensor, structure: Tensor) -> Tensor:
        channels = self.channels(x, low, transposed, structure)  # [n, channels, out]
        weight = torch.sigmoid((channels * self.score).sum(-1)) @ self.mix / len(self.score)
        return len(self.score) * (weight.softmax(dim=1)[..., None] * channels).sum(dim=1)

    def channels(self, x: Tensor, low: Tensor, transposed: Tensor, structure: Tensor) -> Tensor:
        smooth, sharp, same = self.lin(x).chunk(3, dim=1)
        if self.variant:
            smooth, sharp = smooth.relu(), sharp.relu()
        smooth, lowpass = propagate(low, torch.cat([smooth, sharp], dim=1), transposed).chunk(2, dim=1)
        sharp = sharp - lowpass
        if not self.variant:
            smooth, sharp = smooth.relu(), sharp.relu()
        parts = [smooth, sharp, same.relu()]
        if self.structure is not None:
            parts.append(propagate(structure, self.structure.weight.t()).relu())
        return torch.stack(parts, dim=1)
