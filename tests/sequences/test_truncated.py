import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components
from sequence_cases import coarse_graph, dense_powers

from ansgt.linalg import sym_norm
from ansgt.sequences.powers import TruncatedPowers
from ansgt.testing import power_law_graph, random_graph


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("weighted", [False, True])
def test_error_bound(eps: float, weighted: bool) -> None:
    """|error| <= sqrt(d(v)) max(m eps, sqrt(d(u)) / vol), on a power-law graph and on a weighted coarse one."""
    graph = power_law_graph(300, mean_degree=6)
    adj = coarse_graph(graph, 80).adj if weighted else graph.adj
    n, scale = adj.shape[0], np.sqrt(np.asarray(adj.sum(axis=1)).ravel() + 1)
    powers = TruncatedPowers(sym_norm(adj), scale, 6, eps, torch.float32, "cpu")
    found = powers.pairs(torch.arange(n)[None])[0].numpy()  # [column u, row v, m]
    missing = dense_powers(adj.toarray(), 6).transpose(1, 0, 2) - found
    _, component = connected_components(adj, directed=False)
    volume = np.bincount(component, weights=scale**2)[component]
    bound = np.maximum(np.arange(6) * eps, (scale / volume)[:, None, None]) * scale[None, :, None]
    assert np.all(np.abs(missing) <= bound + 1e-6)
    assert np.abs(missing[..., 0]).max() == 0
    if eps == 1e-2:
        assert np.abs(missing).max() > 1e-4  # it does drop something


def test_no_tokens() -> None:
    adj = random_graph(num_nodes=20).adj
    scale = np.sqrt(np.asarray(adj.sum(axis=1)).ravel() + 1)
    powers = TruncatedPowers(sym_norm(adj), scale, 3, 1e-3, torch.float32, "cpu")
    assert powers.pairs(torch.full((1, 4), -1)).abs().sum() == 0
