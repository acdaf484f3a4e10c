"""ACM-GCN+ (Luan et al., 2022): every node mixes low-pass, high-pass, identity and structure channels for itself.

Not in the paper: the strong modern yardstick.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.linalg import row_norm, sym_norm, to_torch
from ansgt.models.base import WIDTHS, Inputs, NodeModel, layer_bytes
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout, propagate
from ansgt.settings import GENERAL_SPACE, Count, Few, ModelSettings, Rate, Space, Span
from ansgt.storage import DiskCache


class ACMGCN(NodeModel):
    """Adaptive channel mixing.

    Channels of a layer: Ã H W_L (low-pass), (I - Ã) H W_H (high-pass), H W_I (identity), each through ReLU before
    (variant II) or after the filter; with `structure`, "+", also ReLU(A W_S), W_S [n, d]. Node i mixes them with
    softmax over channels of [sigmoid(H_c w_c)] W_mix / T, times their number.

    Args:
        in_channels: p.
        out_channels: C.
        settings: see `Settings`.
        num_kept: last columns of x that dropout leaves alone.
        num_nodes: n, from `graph_settings`; 0 leaves the structure channel out.
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of ACM-GCN."""

        space: ClassVar[Space] = {
            **GENERAL_SPACE,
            "hidden_channels": WIDTHS,
            "dropout": Span(0.0, 0.8),
            "variant": (False, True),
            "structure": (False, True),
            "residual": (False, True),
        }

        hidden_channels: Count = 64
        """Width of the hidden layers."""
        num_layers: Few = 2
        """Layers in all."""
        dropout: Rate = 0.5
        """Of node features and hidden features."""
        variant: bool = False
        """Filter after the ReLU (ACMII)."""
        structure: bool = True
        """The structure channel (ACM-GCN+)."""
        residual: bool = False
        """Adds ReLU(X W) to the first layer's output (ACM-GCN++)."""
        norm: Literal["row", "sym"] = "row"
        """Of the adjacency with self-loops."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        settings: Settings = Settings(),
        *,
        num_kept: int = 0,
        num_nodes: int = 0,
    ) -> None:
        super().__init__(num_kept)
        hidden, depth = settings.hidden_channels, settings.num_layers
        columns = num_nodes if settings.structure else 0
        pairs = pairwise([in_channels, *[hidden] * (depth - 1), out_channels])
        self.layers = nn.ModuleList(ACMLayer(i, o, columns, settings.variant) for i, o in pairs)
        self.skip = FeatureLinear(in_channels, hidden) if settings.residual and depth > 1 else None
        self.dropout = settings.dropout

    @classmethod
    def graph_settings(cls, graph: Graph) -> dict[str, Any]:
        return {"num_nodes": graph.num_nodes}

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        looped = sp.csr_array(graph.adj + sp.eye_array(graph.num_nodes, format="csr"))
        low = row_norm(looped) if settings.norm == "row" else sym_norm(graph.adj)
        return {
            **super().prepare(graph, cache, settings),
            "low": to_torch(low),
            "transposed": to_torch(sp.csr_array(low.T)),
            "structure": to_torch(graph.adj),
        }

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Of its layers, whose three channels are weighed by gates."""
        return layer_bytes(graph, (6 + settings.structure) * settings.hidden_channels, settings.num_layers)

    def forward(self, inputs: Inputs) -> Tensor:
        x = feature_dropout(inputs["x"], self.dropout, self.training, self.num_kept)
        h = x
        for depth, layer in enumerate(self.layers):
            out: Tensor = layer(h, inputs["low"], inputs["transposed"], inputs["structure"])
            if depth < len(self.layers) - 1:
                h = out.relu()
                if depth == 0 and self.skip is not None:
                    h = h + self.skip(x).relu()
                h = F.dropout(h, self.dropout, self.training)
        return out


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
