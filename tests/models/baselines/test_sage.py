"""GraphSAGE against PyG's own layer, and against its formula."""

from cases import (
    build,
    close,
    dense_adjacency,
    small_graph,
)
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


def test_sage_with_residuals_and_a_norm() -> None:
    model, inputs = build("sage", small_graph(), hidden_channels=5, residual=True, norm="layer")
    x, (one, two) = inputs["x"], model.layers
    mean = dense_adjacency(small_graph())
    mean = mean / mean.sum(1, keepdim=True).clamp(min=1)
    hidden = model.norms[0](mean @ one.neighbours(x) + one.root(x) + model.skips[0](x)).relu()
    close(model(inputs), mean @ two.neighbours(hidden) + two.root(hidden) + model.skips[1](hidden))
