"""GraphSAGE against PyG's own layer."""

from cases import build, close, small_graph
from torch_geometric.nn import SAGEConv


def test_sage_equals_pyg() -> None:
    model, inputs = build("sage", small_graph(), hidden_channels=5)
    h = inputs["x"]
    for depth, layer in enumerate(model.layers):
        conv = SAGEConv(h.shape[1], layer.root.out_features)
        conv.lin_l.weight.data, conv.lin_l.bias.data = layer.neighbours.weight.data, layer.root.bias.data
        conv.lin_r.weight.data = layer.root.weight.data
        h = conv(h, inputs["edge_index"])
        h = h.relu() if depth == 0 else h
    close(model(inputs), h)
