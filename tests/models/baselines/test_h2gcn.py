"""H2GCN against its formula, written out densely."""

import numpy as np
import scipy.sparse as sp
import torch
from cases import (
    build,
    close,
    dense_adjacency,
    small_graph,
)

from ansgt.models.baselines.h2gcn import two_hop


def test_h2gcn() -> None:
    model, inputs = build("h2gcn", small_graph(), hidden_channels=4, num_rounds=2)
    adj = dense_adjacency(small_graph())
    reached = ((adj @ adj > 0) & (adj == 0)).float() * (1 - torch.eye(24))
    norms = []
    for matrix in (adj, reached):
        scale = matrix.sum(1).clamp(min=1e-9).rsqrt() * (matrix.sum(1) > 0)
        norms.append(scale[:, None] * matrix * scale[None])
    r0 = (inputs["x"] @ model.embed.weight.T).relu()
    r1 = torch.cat([m @ r0 for m in norms], 1)
    r2 = torch.cat([m @ r1 for m in norms], 1)
    close(model(inputs), model.classifier(torch.cat([r0, r1, r2], 1)))


def test_two_hop_on_a_cycle() -> None:
    ring = sp.csr_array(np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))
    assert np.array_equal(
        two_hop(ring).toarray(), np.roll(np.eye(5), 2, axis=0) + np.roll(np.eye(5), -2, axis=0)
    )
