import numpy as np
import pytest
import torch
from cases import coarse_graph, dense_powers
from scipy.sparse.csgraph import connected_components

from ansgt.linalg import gcn_norm
from ansgt.sequences.powers import BlockedPowers, TruncatedPowers
from ansgt.sequences.proximity import TablePowers, fill_powers
from ansgt.testing import power_law_graph, random_graph


def test_blocks_of_any_size_and_a_table_give_the_same() -> None:
    graph = random_graph(num_nodes=40, num_isolated=2)
    ids = torch.randint(-1, 40, (9, 6), generator=torch.Generator().manual_seed(1))
    table = torch.zeros(41, 41, 4)
    fill_powers(table[:40, :40], gcn_norm(graph))
    expected = TablePowers(table).pairs(ids)
    for size in (1, 3, 256):
        blocked = BlockedPowers(graph.adj, 4, torch.float32, "cpu", block_size=size)
        torch.testing.assert_close(blocked.pairs(ids), expected)


def test_nothing_but_masked_tokens() -> None:
    graph = random_graph(num_nodes=5)
    blocked = BlockedPowers(graph.adj, 3, torch.float32, "cpu")
    assert blocked.pairs(torch.full((2, 4), -1)).abs().sum() == 0
    assert blocked.pairs(torch.zeros(0, 4, dtype=torch.int64)).shape == (0, 4, 4, 3)


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("weighted", [False, True])
def test_truncated_error_is_within_its_bound(eps: float, weighted: bool) -> None:
    """|error| <= sqrt(d(v)) max(m eps, sqrt(d(u)) / vol), on a power-law graph and on a weighted coarse one."""
    graph = power_law_graph(300, mean_degree=6)
    adj = coarse_graph(graph, 80).adj if weighted else graph.adj
    n, scale = adj.shape[0], np.sqrt(np.asarray(adj.sum(axis=1)).ravel() + 1)
    powers = TruncatedPowers(adj, 6, eps, torch.float32, "cpu")
    found = powers.pairs(torch.arange(n)[None])[0].numpy()  # [column u, row v, m]
    missing = dense_powers(adj.toarray(), 6).transpose(1, 0, 2) - found
    _, component = connected_components(adj, directed=False)
    volume = np.bincount(component, weights=scale**2)[component]
    bound = np.maximum(np.arange(6) * eps, (scale / volume)[:, None, None]) * scale[None, :, None]
    assert np.all(np.abs(missing) <= bound + 1e-6)
    assert np.abs(missing[..., 0]).max() == 0
    if eps == 1e-2:
        assert np.abs(missing).max() > 1e-4  # it does drop something


def test_truncated_without_any_token() -> None:
    powers = TruncatedPowers(random_graph(num_nodes=20).adj, 3, 1e-3, torch.float32, "cpu")
    assert powers.pairs(torch.full((1, 4), -1)).abs().sum() == 0


@pytest.mark.parametrize("masked", [False, True])
def test_tokens_in_any_order_and_number_get_the_same_entries(masked: bool) -> None:
    graph = power_law_graph(200, mean_degree=4)
    powers = TruncatedPowers(graph.adj, 4, 1e-3, torch.float32, "cpu")
    ids = torch.randint(-1 if masked else 0, 200, (40, 9), generator=torch.Generator().manual_seed(0))
    together = powers.pairs(ids)
    alone = torch.cat([powers.pairs(row[None]) for row in ids])
    assert torch.equal(together, alone)
    assert bool(together[(ids < 0)].any()) is False
