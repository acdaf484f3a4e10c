"""GAT against its formula, written out densely."""

import torch
from cases import (
    build,
    close,
    dense_adjacency,
    small_graph,
)
from torch_geometric.nn import GATConv


def dense_gat(conv: GATConv, h: torch.Tensor) -> torch.Tensor:
    """One GAT layer [n, heads, d]: softmax over j in N(i) and i of LeakyReLU(a_src . Wh_j + a_dst . Wh_i)."""
    z = (h @ conv.lin.weight.T).view(len(h), conv.heads, -1)
    score = (z * conv.att_dst).sum(-1)[:, None] + (z * conv.att_src).sum(-1)[None]
    linked = (dense_adjacency(small_graph()) + torch.eye(len(h)))[..., None] > 0
    weight = torch.nn.functional.leaky_relu(score, 0.2).masked_fill(~linked, -torch.inf).softmax(1)
    return torch.einsum("ijh,jhd->ihd", weight, z)


def test_gat() -> None:
    model, inputs = build("gat", small_graph(), hidden_channels=4, heads=3, output_heads=2)
    one, two = model.convs
    hidden = torch.nn.functional.elu(dense_gat(one, inputs["x"]).flatten(1) + one.bias)
    close(model(inputs), dense_gat(two, hidden).mean(1) + two.bias)


def test_gat_with_a_norm() -> None:
    model, inputs = build("gat", small_graph(), hidden_channels=4, heads=3, norm="batch")
    one, two = model.convs
    hidden = torch.nn.functional.elu(model.norms[0](dense_gat(one, inputs["x"]).flatten(1) + one.bias))
    close(model(inputs), dense_gat(two, hidden).mean(1) + two.bias)
