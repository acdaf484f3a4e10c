"""APPNP against its formula, written out densely."""

from cases import (
    build,
    close,
    dense_gcn_norm,
    small_graph,
)


def test_appnp() -> None:
    model, inputs = build("appnp", small_graph(), alpha=0.2, num_steps=3)
    adj, h = dense_gcn_norm(small_graph()), model.mlp(inputs)
    z = h
    for _ in range(3):
        z = 0.8 * adj @ z + 0.2 * h
    close(model(inputs), z)
