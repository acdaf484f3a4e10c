"""GAT (Velickovic et al., 2018), on PyG's GATConv."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv
from torch_geometric.utils import add_self_loops

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureLinear, feature_dropout
from ansgt.storage import DiskCache


class GAT(NodeModel):
    """Attention over the neighbours and the node itself; hidden heads are concatenated, output heads averaged.

    Args:
        hidden_channels: width of ONE head of a hidden layer.
        heads: heads of a hidden layer.
        output_heads: heads of the last layer.
        num_layers: graph attention layers in all.
        dropout: of hidden features.
        input_dropout: of node features.
        attention_dropout: of attention weights.
        residual: adds a linear map of a layer's input to its output.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 8,
        heads: int = 8,
        output_heads: int = 1,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        attention_dropout: float = 0.5,
        residual: bool = False,
    ) -> None:
        super().__init__()
        wide = hidden_channels * heads
        widths = [in_channels, *[wide] * (num_layers - 1)]
        self.convs = nn.ModuleList(
            gat_conv(width, hidden_channels, heads, True, attention_dropout) for width in widths[:-1]
        )
        self.convs.append(gat_conv(widths[-1], out_channels, output_heads, False, attention_dropout))
        outs = [*widths[1:], out_channels]
        pairs = zip(widths, outs, strict=True)
        self.skips = nn.ModuleList(FeatureLinear(i, o, bias=False) for i, o in pairs if residual)
        self.dropout, self.input_dropout = dropout, input_dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, **settings: Any) -> Inputs:
        looped, _ = add_self_loops(graph.edge_index, num_nodes=graph.num_nodes)
        return {"x": graph.x, "edge_index": looped}

    @classmethod
    def estimate_bytes(cls, graph: Graph, **settings: Any) -> int:
        """Messages of all edges, forward and backward, for every hidden layer."""
        width = settings.get("hidden_channels", 8) * settings.get("heads", 8)
        edges = 2 * graph.num_edges + graph.num_nodes
        return 4 * 4 * edges * width * (settings.get("num_layers", 2) - 1)

    def forward(self, inputs: Inputs) -> Tensor:
        h = feature_dropout(inputs["x"], self.input_dropout, self.training, self.num_kept)
        for depth, conv in enumerate(self.convs):
            out = conv(h, inputs["edge_index"])
            if self.skips:
                out = out + self.skips[depth](h)
            if depth == len(self.convs) - 1:
                return out
            h = F.dropout(F.elu(out), self.dropout, self.training)
        return h


def gat_conv(in_channels: int, out_channels: int, heads: int, concat: bool, dropout: float) -> GATConv:
    """PyG's GATConv on edges that hold the self-loops already; its linear map takes sparse features."""
    conv = GATConv(
        in_channels, out_channels, heads=heads, concat=concat, dropout=dropout, add_self_loops=False
    )
    conv.lin = FeatureLinear(in_channels, heads * out_channels, bias=False)
    nn.init.xavier_uniform_(conv.lin.weight)
    return conv
