import numpy as np
import pytest
import torch
from cases import coarse_graph, dense_powers
from scipy.sparse.csgraph import connected_components

from ansgt.linalg import gcn_norm
from ansgt.sequences.powers import BlockedPowers, Powers, TruncatedPowers
from ansgt.sequences.proximity import TablePowers, fill_powers
from ansgt.testing import power_law_graph, random_graph


def pairs(powers: Powers, ids: torch.Tensor, rows: int | None = None) -> torch.Tensor:
    out = torch.zeros(len(ids), rows or ids.shape[1], ids.shape[1], powers.num_proximity)
    powers.fill(out, ids)
    return out


POWERS = {
    "blocked": lambda adj: BlockedPowers(adj, 4, "cpu", block_size=7),
    "approximate": lambda adj: TruncatedPowers(adj, 4, 1e-3),
}


@pytest.mark.parametrize("kind", POWERS)
def test_first_rows_are_those_of_all_pairs(kind: str) -> None:
    graph = power_law_graph(200, mean_degree=4)
    powers = POWERS[kind](graph.adj)
    ids = torch.randint(-1, 200, (40, 9), generator=torch.Generator().manual_seed(0))
    for rows in (1, 3):
        some, every = pairs(powers, ids, rows), pairs(powers, ids)[:, :rows]
        torch.testing.assert_close(some, every, rtol=1e-6, atol=1e-7)  # fewer rows may sum in another order


@pytest.mark.parametrize("kind", POWERS)
def test_what_is_known_already_is_left_alone(kind: str) -> None:
    powers = POWERS[kind](power_law_graph(50, mean_degree=4).adj)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(-1, 50, (20, 6), generator=generator)
    apart = torch.rand(20, 6, generator=generator) < 0.5
    out = torch.full((20, 6, 6, 4), 7.0)
    powers.fill(out, ids, apart)
    left = (ids < 0)[:, :, None] | (ids < 0)[:, None, :] | (apart[:, :, None] & apart[:, None, :])
    assert (out[left] == 7).all()
    assert torch.equal(out[~left], pairs(powers, ids)[~left])


def test_a_trial_measures_what_truncation_costs_and_saves() -> None:
    graph = power_law_graph(400, mean_degree=6)
    exact = dense_powers(graph.adj.toarray(), 5)
    for eps in (1e-6, 1e-2):
        powers = TruncatedPowers(graph.adj, 5, eps)
        trial = powers.trial()
        error = np.abs(pairs(powers, torch.arange(400)[None])[0].numpy().transpose(1, 0, 2) - exact)
        assert 0 <= trial.largest_error <= error.max() + 1e-6
        assert trial == powers.trial()
        if eps == 1e-6:
            assert trial.relative_error < 1e-5
        else:
            assert trial.relative_error == pytest.approx(
                np.sqrt((error[..., 1:] ** 2).sum() / (exact[..., 1:] ** 2).sum()), rel=0.5
            )
        assert trial.visits < trial.exact_visits
        assert trial.pays == (4 * trial.visits < trial.exact_visits)


def test_blocks_of_any_size_and_a_table_give_the_same() -> None:
    graph = random_graph(num_nodes=40, num_isolated=2)
    ids = torch.randint(-1, 40, (9, 6), generator=torch.Generator().manual_seed(1))
    table = torch.zeros(41, 41, 4)
    fill_powers(table[:40, :40], gcn_norm(graph))
    expected = TablePowers(table).pairs(ids, 6)
    for size in (1, 3, 256):
        blocked = BlockedPowers(graph.adj, 4, "cpu", block_size=size)
        torch.testing.assert_close(pairs(blocked, ids), expected)


def test_nothing_but_masked_tokens() -> None:
    graph = random_graph(num_nodes=5)
    blocked = BlockedPowers(graph.adj, 3, "cpu")
    assert pairs(blocked, torch.full((2, 4), -1)).abs().sum() == 0
    assert pairs(blocked, torch.zeros(0, 4, dtype=torch.int64)).shape == (0, 4, 4, 3)


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("weighted", [False, True])
def test_truncated_error_is_within_its_bound(eps: float, weighted: bool) -> None:
    """|error| <= sqrt(d(v)) max(m eps, sqrt(d(u)) / vol), on a power-law graph and on a weighted coarse one."""
    graph = power_law_graph(300, mean_degree=6)
    adj = coarse_graph(graph, 80).adj if weighted else graph.adj
    n, scale = adj.shape[0], np.sqrt(np.asarray(adj.sum(axis=1)).ravel() + 1)
    powers = TruncatedPowers(adj, 6, eps)
    found = pairs(powers, torch.arange(n)[None])[0].numpy()  # [column u, row v, m]
    missing = dense_powers(adj.toarray(), 6).transpose(1, 0, 2) - found
    _, component = connected_components(adj, directed=False)
    volume = np.bincount(component, weights=scale**2)[component]
    bound = np.maximum(np.arange(6) * eps, (scale / volume)[:, None, None]) * scale[None, :, None]
    assert np.all(np.abs(missing) <= bound + 1e-6)
    assert np.abs(missing[..., 0]).max() == 0
    if eps == 1e-2:
        assert np.abs(missing).max() > 1e-4  # it does drop something


def test_truncated_without_any_token() -> None:
    powers = TruncatedPowers(random_graph(num_nodes=20).adj, 3, 1e-3)
    assert pairs(powers, torch.full((1, 4), -1)).abs().sum() == 0


@pytest.mark.parametrize("masked", [False, True])
def test_tokens_in_any_order_and_number_get_the_same_entries(masked: bool) -> None:
    graph = power_law_graph(200, mean_degree=4)
    powers = TruncatedPowers(graph.adj, 4, 1e-3)
    ids = torch.randint(-1 if masked else 0, 200, (40, 9), generator=torch.Generator().manual_seed(0))
    together = pairs(powers, ids)
    alone = torch.cat([pairs(powers, row[None]) for row in ids])
    assert torch.equal(together, alone)
    assert bool(together[(ids < 0)].any()) is False
