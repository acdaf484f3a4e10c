"""GAT (Velickovic et al., 2018), on PyG's GATConv."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv
from torch_geometric.utils import add_self_loops

from ansgt.graph import Graph
from ansgt.models.base import SPACE, Inputs, NodeModel
from ansgt.models.baselines.layers import FeatureLinear, Norm, feature_dropout, make_norm
from ansgt.settings import Count, Few, ModelSettings, Rate, Space, Span
from ansgt.storage import DiskCache


class GAT(NodeModel):
    """Attention over the neighbours and the node itself; hidden heads are concatenated, output heads averaged."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of GAT."""

        space: ClassVar[Space] = {
            **SPACE,
            "hidden_channels": (8, 16, 32),
            "num_layers": (2, 3),
            "attention_dropout": Span(0.0, 0.6),
            "norm": ("none", "layer", "batch"),
            "residual": (False, True),
        }

        hidden_channels: Count = 8
        """Width of ONE head of a hidden layer."""
        heads: Count = 8
        """Heads of a hidden layer."""
        output_heads: Count = 1
        """Heads of the last layer."""
        num_layers: Few = 2
        """Graph attention layers in all."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.5
        """Of node features."""
        attention_dropout: Rate = 0.5
        """Of attention weights."""
        residual: bool = False
        """Adds a linear map of a layer's input to its output."""
        norm: Norm = "none"
        """Before every ELU."""

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        width, heads, drop = settings.hidden_channels, settings.heads, settings.attention_dropout
        widths = [in_channels, *[width * heads] * (settings.num_layers - 1)]
        self.convs = nn.ModuleList(gat_conv(i, width, heads, True, drop) for i in widths[:-1])
        self.convs.append(gat_conv(widths[-1], out_channels, settings.output_heads, False, drop))
        self.norms = nn.ModuleList(make_norm(settings.norm, i) for i in widths[1:])
        pairs = zip(widths, [*widths[1:], out_channels], strict=True)
        self.skips = nn.ModuleList(FeatureLinear(i, o, bias=False) for i, o in pairs if settings.residual)
        self.dropout, self.input_dropout = settings.dropout, settings.input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        looped, _ = add_self_loops(graph.edge_index, num_nodes=graph.num_nodes)
        return {"x": graph.x, "edge_index": looped}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        """Messages of all edges, forward and backward, for every hidden layer."""
        width = settings.hidden_channels * settings.heads
        edges = 2 * graph.num_edges + graph.num_nodes
        return 4 * 4 * edges * width * (settings.num_layers - 1)

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        for depth, conv in enumerate(self.convs):
            out: Tensor = conv(h, inputs["edge_index"])
            if self.skips:
                out = out + self.skips[depth](h)
            if depth < len(self.convs) - 1:
                h = F.dropout(F.elu(self.norms[depth](out)), self.dropout, self.training)
        return out


def gat_conv(in_channels: int, out_channels: int, heads: int, concat: bool, dropout: float) -> GATConv:
    """PyG's GATConv on edges that hold the self-loops already; its linear map takes sparse features."""
    conv = GATConv(
        in_channels, out_channels, heads=heads, concat=concat, dropout=dropout, add_self_loops=False
    )
    conv.lin = FeatureLinear(in_channels, heads * out_channels, bias=False)
    nn.init.xavier_uniform_(conv.lin.weight)
    return conv
