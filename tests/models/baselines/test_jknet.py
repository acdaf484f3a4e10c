"""JKNet against its formula, written out densely."""

import torch
from cases import (
    build,
    close,
    dense_gcn_norm,
    small_graph,
)


def test_jknet_cat_and_max() -> None:
    adj = dense_gcn_norm(small_graph())
    for mode in ("cat", "max"):
        model, inputs = build("jknet", small_graph(), hidden_channels=5, mode=mode)
        one, two = model.convs
        first = (adj @ inputs["x"] @ one.lin.weight.T + one.bias).relu()
        second = (adj @ first @ two.lin.weight.T + two.bias).relu()
        joined = torch.cat([first, second], 1) if mode == "cat" else torch.maximum(first, second)
        close(model(inputs), model.classifier(joined))
