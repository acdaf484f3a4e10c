"""NAGphormer against its formula, written out densely."""

import torch
from cases import (
    build,
    close,
    dense_gcn_norm,
    small_graph,
)


def test_nagphormer() -> None:
    model, inputs = build("nagphormer", small_graph(), hidden_channels=8, heads=2, num_hops=2, num_layers=1)
    adj, layer = dense_gcn_norm(small_graph()), model.layers[0]
    both = torch.cat([inputs["x"], inputs["position"]], 1)
    weight = torch.cat([model.encode.weight, model.encode_position.weight], 1)
    hops = [torch.linalg.matrix_power(adj, k) @ both @ weight.T + model.bias for k in range(3)]
    h = torch.stack(hops, 1)
    parts = layer.qkv(layer.norm1(h)).reshape(24, 3, 3, 2, 4)
    q, k, v = (parts[:, :, at] for at in range(3))
    shares = (torch.einsum("nihd,njhd->nhij", q, k) / 2).softmax(-1)
    h = h + layer.project(torch.einsum("nhij,njhd->nihd", shares, v).reshape(24, 3, 8))
    h = model.norm(h + layer.contract(torch.nn.functional.gelu(layer.widen(layer.norm2(h)))))
    scores = torch.stack([model.score(torch.cat([h[:, 0], h[:, at]], 1)) for at in (1, 2)], 1).softmax(1)
    read = h[:, 0] + scores[:, 0] * h[:, 1] + scores[:, 1] * h[:, 2]
    close(model(inputs), model.classifier(model.narrow(read).relu()))
