"""GT against its formula; the signs of its positions."""

import torch
from cases import (
    build,
    close,
    dense_attention,
    linked,
    post_norm,
    small_graph,
)

from ansgt.models.baselines.gt import flip_signs


def test_gt() -> None:
    model, inputs = build("gt", small_graph(), hidden_channels=8, heads=2, num_eigenvectors=3, num_layers=2)
    h = model.encode.norm(model.encode.lin(inputs["x"])) + model.encode_position(inputs["position"])
    for layer in model.layers:
        conv = layer.attention
        q, k, v = (f(h).unflatten(1, (2, 4)) for f in (conv.lin_query, conv.lin_key, conv.lin_value))
        h = post_norm(layer, h, dense_attention(q, k, v, linked(small_graph())))
    close(model(inputs), model.classifier(h))


def test_sign_flips_are_shared_by_all_nodes_and_only_in_training() -> None:
    vectors = torch.ones(6, 40)
    assert torch.equal(flip_signs(vectors, training=False), vectors)
    flipped = flip_signs(vectors, training=True)
    assert set(flipped.unique().tolist()) == {-1.0, 1.0}
    assert bool((flipped == flipped[0]).all())
