"""GPRGNN against its formula; its first weights."""

import torch
from cases import (
    build,
    close,
    dense_gcn_norm,
    small_graph,
)

from ansgt.models.baselines.gprgnn import initial_weights


def test_gprgnn() -> None:
    model, inputs = build("gprgnn", small_graph(), alpha=0.3, num_steps=4)
    adj, h = dense_gcn_norm(small_graph()), model.mlp(inputs)
    filtered = sum(model.gamma[k] * torch.linalg.matrix_power(adj, k) for k in range(5))
    close(model(inputs), filtered @ h)


def test_gprgnn_initial_weights_and_groups() -> None:
    assert initial_weights(3, 0.5, "ppr").tolist() == [0.5, 0.25, 0.125, 0.125]
    assert initial_weights(3, 2, "sgc").tolist() == [0, 0, 1, 0]
    close(initial_weights(1, 0.5, "nppr"), torch.tensor([2 / 3, 1 / 3]))
    close(initial_weights(10, 0.0, "random").abs().sum(), torch.tensor(1.0))
    model, _ = build("gprgnn", small_graph())
    decays = {id(p): g["weight_decay"] for g in model.param_groups(0.1, 5e-4) for p in g["params"]}
    assert decays[id(model.gamma)] == 0.0
