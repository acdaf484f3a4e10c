"""The MLP against its formula."""

from cases import (
    build,
    close,
    small_graph,
)


def test_mlp() -> None:
    model, inputs = build("mlp", small_graph(), hidden_channels=5)
    one, two = model.layers
    hidden = (inputs["x"] @ one.weight.T + one.bias).relu()
    close(model(inputs), hidden @ two.weight.T + two.bias)
