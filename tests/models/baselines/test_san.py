"""SAN against dense attention written out."""

import pytest
import torch
from cases import build, close, dense_attention, linked, post_norm, small_graph

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.kernels import pairs


@pytest.mark.parametrize("block_bytes", [pairs.BLOCK_BYTES, 4 * 2 * 24 * 5])
def test_san(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(pairs, "BLOCK_BYTES", block_bytes)
    model, inputs = build(
        "san", small_graph(), hidden_channels=8, heads=2, num_eigenvectors=3, position_channels=4, gamma=0.3
    )
    spectrum = torch.stack([inputs["eigenvalues"].expand(24, 3), inputs["eigenvectors"]], dim=-1)
    spectral = model.encode_position.encoder(model.encode_position.embed(spectrum)).mean(1)
    h = torch.cat([model.encode.norm(model.encode.lin(inputs["x"])), spectral], dim=1)
    others = ~linked(small_graph()) & ~torch.eye(24, dtype=torch.bool)
    for layer in model.layers:
        value = layer.value(h).unflatten(1, (2, 4))
        real = [t.unflatten(1, (2, 4)) for t in layer.real(h).chunk(2, 1)]
        added = [t.unflatten(1, (2, 4)) for t in layer.added(h).chunk(2, 1)]
        attended = dense_attention(*real, value, linked(small_graph())) + 0.3 * dense_attention(
            *added, value, others
        )
        h = post_norm(layer, h, attended / 1.3)
    close(model(inputs), model.classifier(h))


def test_san_on_a_complete_graph_has_nobody_to_add() -> None:
    edges = torch.combinations(torch.arange(5)).T
    graph = Graph.from_arrays(torch.eye(5), edges, torch.arange(5) % 2)
    model, inputs = build("san", graph, hidden_channels=16)
    logits = model(inputs)
    logits.sum().backward()
    assert bool(torch.isfinite(logits).all())
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hidden_channels": 10}, "hidden_channels must be a multiple of heads=4, not 10"),
        ({"position_channels": 6}, "position_channels must be a multiple of position_heads=4, not 6"),
        ({"hidden_channels": 8}, "hidden_channels must be greater than position_channels=8, not 8"),
    ],
)
def test_widths_that_do_not_fit_together(values: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build("san", small_graph(), **values)
