"""Graphormer against dense attention written out."""

import networkx as nx
import pytest
import torch
from cases import build, close, small_graph

from ansgt.kernels import pairs


@pytest.mark.parametrize("block_bytes", [pairs.BLOCK_BYTES, 4 * 2 * 24 * 5])
def test_graphormer(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(pairs, "BLOCK_BYTES", block_bytes)
    model, inputs = build(
        "graphormer", small_graph(), hidden_channels=8, heads=2, max_distance=3, max_degree=4
    )
    graph = nx.from_scipy_sparse_array(small_graph().adj)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    distance = torch.tensor(
        [[min(lengths[i].get(j, 99), 3 if j in lengths[i] else 4) for j in range(24)] for i in range(24)]
    )
    degree = torch.tensor([min(d, 4) for _, d in graph.degree])
    h = model.encode.norm(model.encode.lin(inputs["x"])) + model.centrality.weight[degree]
    for layer in model.layers:
        q, k, v = layer.qkv(layer.norm1(h)).unflatten(1, (3, 2, 4)).unbind(1)
        score = torch.einsum("ihd,jhd->hij", q, k) / 2 + model.spatial[:, distance]
        h = h + layer.project(torch.einsum("hij,jhd->ihd", score.softmax(-1), v).flatten(1))
        h = h + layer.narrow(torch.nn.functional.gelu(layer.widen(layer.norm2(h))))
    expected = model.classifier(model.norm(h))
    logits = model(inputs)
    close(logits, expected)
    (wanted,) = torch.autograd.grad(expected.square().sum(), model.spatial)
    (got,) = torch.autograd.grad(logits.square().sum(), model.spatial)
    close(got, wanted)
