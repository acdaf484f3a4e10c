from dataclasses import replace

import numpy as np
import pytest
import torch
from cases import coarse_graph, dense_powers, reference_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.datasets import load_graph
from ansgt.device import table_limit
from ansgt.errors import InputError
from ansgt.linalg import gcn_norm
from ansgt.sequences import Proximity
from ansgt.sequences.proximity import fill_powers
from ansgt.testing import path_graph, power_law_graph, random_graph, star_graph

EXACT = ("dense", "blocked")


def random_tokens(num_ids: int, batch: int = 7, length: int = 11) -> tuple[torch.Tensor, torch.Tensor]:
    """Extended ids with two global slots at the end and some masked ones."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, num_ids, (batch, length), generator=generator)
    mask = torch.rand(batch, length, generator=generator) > 0.2
    ids[:, -2:] = torch.tensor([-1, -2])
    mask[:, -2:] = True
    return ids * mask, mask


def test_by_hand_on_two_nodes() -> None:
    proximity = Proximity(num_proximity=3, mode="dense").fit(path_graph(2))
    phi = proximity.pairs(torch.tensor([[0, 1, -1]]), torch.ones(1, 3, dtype=torch.bool))[0]
    assert phi[0, 0].tolist() == [1, 0.5, 0.5]
    assert phi[0, 1].tolist() == [0, 0.5, 0.5]
    assert phi[2].abs().sum() == phi[:, 2].abs().sum() == 0


@pytest.mark.parametrize("mode", [*EXACT, "approximate"])
@pytest.mark.parametrize("with_coarse", [False, True])
def test_equals_the_definition(mode: str, with_coarse: bool) -> None:
    graph = random_graph(num_isolated=4)
    coarse = coarse_graph(graph) if with_coarse else None
    ids, mask = random_tokens(72 if with_coarse else 60)
    fine = dense_powers(graph.adj.toarray(), 10)
    above = dense_powers(coarse.adj.toarray(), 10) if coarse else None
    expected = reference_pairs(ids.numpy(), mask.numpy(), fine, above, coarse.assignment if coarse else None)
    proximity = Proximity(mode=mode, eps=1e-9)
    proximity.fit(graph, coarse)
    phi = proximity.pairs(ids, mask)
    assert phi.dtype == torch.float32
    np.testing.assert_allclose(phi, expected, atol=1e-6)


@pytest.mark.parametrize("data", ["cora", "chameleon", "texas"])
@pytest.mark.parametrize("mode", EXACT)
def test_equals_dense_powers_on_real_graphs(data: str, mode: str, root, cache_dir) -> None:
    graph = load_graph(data, root=root, cache_dir=cache_dir)
    ids, mask = random_tokens(graph.num_nodes, batch=20, length=26)
    start = np.zeros((graph.num_nodes, ids.numel()))
    start[ids.flatten().clamp(min=0), np.arange(ids.numel())] = 1
    adj = graph.adj.toarray() + np.eye(graph.num_nodes)
    degree = adj.sum(axis=1)
    normalized, power = adj / np.sqrt(np.outer(degree, degree)), start
    phi = Proximity(mode=mode).fit(graph).pairs(ids, mask)
    real = mask & (ids >= 0)
    both = (real[:, :, None] & real[:, None, :]).numpy()
    rows = np.broadcast_to(ids.clamp(min=0).numpy()[:, None, :], both.shape)
    columns = np.broadcast_to(np.arange(ids.numel()).reshape(*ids.shape, 1), both.shape)
    for m in range(10):
        expected = np.where(both, power[rows, columns], 0)
        assert np.abs(phi[..., m].numpy() - expected).max() < 1e-5
        power = normalized @ power


@given(n=st.integers(2, 15), degree=st.floats(0, 5), isolated=st.integers(0, 3), mode=st.sampled_from(EXACT))
@settings(deadline=None, max_examples=30)
def test_any_graph(n: int, degree: float, isolated: int, mode: str) -> None:
    graph = random_graph(num_nodes=n, mean_degree=degree, num_isolated=min(isolated, n - 1))
    ids, mask = random_tokens(n, batch=2, length=6)
    expected = reference_pairs(ids.numpy(), mask.numpy(), dense_powers(graph.adj.toarray(), 4), None, None)
    phi = Proximity(num_proximity=4, mode=mode).fit(graph).pairs(ids, mask)
    np.testing.assert_allclose(phi, expected, atol=1e-6)


def test_bfloat16_table() -> None:
    graph = star_graph(6)
    ids, mask = random_tokens(7)
    half = Proximity(dtype=torch.bfloat16, mode="dense").fit(graph).pairs(ids, mask)
    full = Proximity(mode="dense").fit(graph).pairs(ids, mask)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), full, atol=4e-3, rtol=1e-2)


def test_auto_takes_what_costs_less() -> None:
    """A table where it fits; else columns without small entries, unless they would keep nearly all of them."""
    assert Proximity().fit(random_graph()).mode_ == "dense"
    assert Proximity(max_table_bytes=1000).fit(random_graph()).mode_ == "blocked"
    large = Proximity(max_table_bytes=1000, eps=1e-2).fit(power_law_graph(3000, mean_degree=6))
    assert large.mode_ == "approximate"
    assert large.measured_["visits"] < large.measured_["exact_visits"]
    assert 0 < large.measured_["relative_error"] < 1


@pytest.mark.parametrize("mode", [*EXACT, "approximate"])
@pytest.mark.parametrize("with_coarse", [False, True])
def test_the_centres_row_is_the_first_of_all_pairs(mode: str, with_coarse: bool) -> None:
    graph = random_graph(num_isolated=4)
    coarse = coarse_graph(graph) if with_coarse else None
    ids, mask = random_tokens(72 if with_coarse else 60)
    mask[:, 0] = True
    every, centre = (
        Proximity(mode=mode, centre_only=only).fit(graph, coarse).pairs(ids, mask) for only in (False, True)
    )
    torch.testing.assert_close(
        centre, every[:, :1], rtol=1e-6, atol=1e-7
    )  # fewer rows may sum in another order


def test_bad_input() -> None:
    with pytest.raises(InputError, match="Unknown proximity mode 'sparse'"):
        Proximity(mode="sparse").fit(path_graph())
    with pytest.raises(InputError, match="num_proximity must be at least 1"):
        Proximity(num_proximity=0).fit(path_graph())
    graph = random_graph()
    with pytest.raises(InputError, match="assignment must name a super-node for every node"):
        Proximity().fit(graph, replace(coarse_graph(graph), assignment=np.zeros(3)))


@pytest.mark.parametrize(("free_gib", "kept_gib", "limit_gib"), [(100, 0, 24), (10, 0, 5), (6, 4, 5)])
def test_a_dense_table_takes_at_most_half_of_a_gpu(
    monkeypatch: pytest.MonkeyPatch, free_gib: int, kept_gib: int, limit_gib: int
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free_gib << 30, 100 << 30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: (kept_gib + 1) << 30)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 1 << 30)
    assert table_limit(torch.device("cuda")) == limit_gib << 30
    assert table_limit(torch.device("cpu")) == 4 << 30


def test_fill_powers() -> None:
    graph = random_graph(num_nodes=20)
    table = torch.zeros(20, 20, 5)
    fill_powers(table, gcn_norm(graph))
    np.testing.assert_allclose(table, dense_powers(graph.adj.toarray(), 5), atol=1e-6)
