"""GCN against its formula, written out densely."""

from cases import (
    build,
    close,
    dense_gcn_norm,
    small_graph,
)


def test_gcn() -> None:
    model, inputs = build("gcn", small_graph(), hidden_channels=5)
    adj = dense_gcn_norm(small_graph())
    one, two = model.convs
    hidden = (adj @ inputs["x"] @ one.lin.weight.T + one.bias).relu()
    close(model(inputs), adj @ hidden @ two.lin.weight.T + two.bias)


def test_gcn_with_residuals() -> None:
    model, inputs = build("gcn", small_graph(), hidden_channels=5, residual=True)
    adj = dense_gcn_norm(small_graph())
    one, two = model.convs
    x = inputs["x"]
    hidden = (adj @ x @ one.lin.weight.T + one.bias + x @ model.skips[0].weight.T).relu()
    close(model(inputs), adj @ hidden @ two.lin.weight.T + two.bias + hidden @ model.skips[1].weight.T)
