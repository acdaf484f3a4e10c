"""H2GCN against its formula, written out densely."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import (
    build,
    close,
    dense_adjacency,
    small_graph,
)

from ansgt.models.baselines.h2gcn import H2GCN, two_hop
from ansgt.testing import power_law_graph, star_graph


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


def test_a_hub_is_refused_before_any_work() -> None:
    assert H2GCN.estimate_bytes(star_graph(30_000), H2GCN.Settings()) > 40 * 30_000**2


def test_blocks_of_rows_are_one_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    adj = power_law_graph(300, mean_degree=4).adj
    whole = two_hop(adj)
    monkeypatch.setattr("ansgt.models.baselines.h2gcn._WALKS", 50)
    assert (two_hop(adj) != whole).nnz == 0
    dense = adj.toarray()
    expected = ((dense @ dense) > 0) & (dense == 0) & ~np.eye(300, dtype=bool)
    assert np.array_equal(whole.toarray() > 0, expected)
