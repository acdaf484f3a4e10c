import copy

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import Coarse, coarse_graph

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import OneHop
from ansgt.sampling import Mixture, NodeSampler, SampledNodes
from ansgt.sequences import BuilderOptions, Proximity, SequenceBuilder, SequenceLayout, TokenKind
from ansgt.testing import random_graph

LAYOUT = SequenceLayout(num_sampled=5, num_supernodes=3, num_global=2)


def drawn(graph: Graph, nodes: torch.Tensor | None = None, num_sequences: int = 3) -> SampledNodes:
    mixture = Mixture.from_heuristics([OneHop().fit(graph)], graph.num_nodes)
    sampler = NodeSampler(mixture, num_sampled=5, num_sequences=num_sequences, mode="distinct")
    return sampler.draw(torch.arange(graph.num_nodes) if nodes is None else nodes, [1.0], round=1)


def builder(graph: Graph, coarse: Coarse | None, mode: str = "dense", **settings: object) -> SequenceBuilder:
    layout = LAYOUT if coarse else SequenceLayout(5, 0, 2)
    proximity = Proximity(num_proximity=4, mode=mode)
    proximity.fit(graph, coarse)
    return SequenceBuilder(graph, layout, proximity, coarse, BuilderOptions(**settings))  # type: ignore[arg-type]


@pytest.fixture
def graph() -> Graph:
    return random_graph(num_isolated=3)


def test_layout_of_a_sequence(graph: Graph) -> None:
    coarse, sampled = coarse_graph(graph), drawn(graph)
    batch = builder(graph, coarse).resample(sampled, round=1).batch(torch.tensor([7, 59]))
    assert batch.ids.shape == (6, 11)
    assert batch.kind[0].tolist() == [0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert batch.centre.tolist() == [7, 7, 7, 59, 59, 59]
    assert torch.equal(batch.ids[:3, 1:6], sampled.ids[7])
    assert torch.equal(batch.mask[:3, 1:6], sampled.mask[7])
    assert not batch.mask[3:, 1:6].any()  # node 59 is isolated
    np.testing.assert_allclose(batch.log_count[:3, 1:6].exp(), sampled.count[7].clamp(min=1), rtol=1e-6)
    assert batch.log_count[:, [0, *range(6, 11)]].abs().sum() == 0
    assert batch.ids[:, 6].tolist() == [60 + coarse.assignment[7]] * 3 + [60 + coarse.assignment[59]] * 3
    assert batch.ids[:, 9:].tolist() == [[-1, -2]] * 6
    assert batch.mask[:, [0, 6, 9, 10]].all()
    assert torch.equal(batch.target, graph.y[[7, 7, 7, 59, 59, 59]])
    assert torch.all(batch.ids[~batch.mask] == 0)
    assert batch.proximity.shape == (6, 11, 11, 4)
    torch.testing.assert_close(batch.proximity, batch.proximity.transpose(1, 2))
    assert batch.proximity[:, :, 9:].abs().sum() == 0


def test_supernodes_are_distinct_neighbours_of_the_own_one(graph: Graph) -> None:
    coarse = coarse_graph(graph, 20)
    batch = builder(graph, coarse).resample(drawn(graph)).batch(torch.arange(60))
    off = coarse.adj.toarray()
    np.fill_diagonal(off, 0)
    slots = batch.ids[:, LAYOUT.supernodes].numpy() - 60
    masks = batch.mask[:, LAYOUT.supernodes].numpy()
    for ids, mask in zip(slots, masks, strict=True):
        own, others = ids[0], ids[1:][mask[1:]]
        assert len(set(others)) == len(others) == min(2, np.count_nonzero(off[own]))
        assert np.all(off[own, others] > 0)


def test_supernode_draw_follows_the_weights() -> None:
    """One centre, many sequences, one other super-node: frequencies are the row of the coarse adjacency."""
    graph = random_graph(num_nodes=30, mean_degree=8)
    coarse = coarse_graph(graph, 6)
    layout = SequenceLayout(5, 2, 0)
    proximity = Proximity(num_proximity=1).fit(graph, coarse)
    built = SequenceBuilder(graph, layout, proximity, coarse)
    built.resample(drawn(graph, torch.tensor([3]), num_sequences=5000))
    counts = np.bincount(built.ids[0, :, -1].numpy() - 30, minlength=6)
    row = coarse.adj.toarray()[coarse.assignment[3]]
    row[coarse.assignment[3]] = 0
    expected = 5000 * row / row.sum()
    kept = expected > 0
    assert counts[~kept].sum() == 0
    chi_square = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    assert chi_square < kept.sum() + 4 * np.sqrt(2 * kept.sum())


def test_rounds_centres_and_chunks(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = coarse_graph(graph, 20)
    whole = builder(graph, coarse).resample(drawn(graph), round=1).batch(torch.tensor([5, 9]))
    some = builder(graph, coarse).resample(drawn(graph, torch.tensor([9, 40, 5])), round=1)
    assert torch.equal(some.batch(torch.tensor([5, 9])).ids, whole.ids)
    monkeypatch.setattr("ansgt.sequences.builder._CHUNK_ELEMENTS", 1)
    again = builder(graph, coarse).resample(drawn(graph), round=1)
    assert torch.equal(again.batch(torch.tensor([5, 9])).ids, whole.ids)
    other = again.resample(drawn(graph), round=2).batch(torch.arange(60))
    assert not torch.equal(other.ids, again.resample(drawn(graph), round=1).batch(torch.arange(60)).ids)


def test_some_sequences(graph: Graph) -> None:
    built = builder(graph, coarse_graph(graph)).resample(drawn(graph))
    whole = built.batch(torch.tensor([4, 8]))
    part = built.batch(torch.tensor([4, 8]), sequences=torch.tensor([2, 0]))
    assert torch.equal(part.ids, whole.ids[[2, 0, 5, 3]])
    assert torch.equal(built.gather(torch.tensor([4 * 3 + 1])).ids, whole.ids[[1]])


@pytest.mark.parametrize("encode", ["all", "unique"])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_every_token(graph: Graph, encode: str, sparse: bool) -> None:
    if sparse:
        graph = Graph.from_arrays(sp.csr_array(np.maximum(graph.x.numpy(), 0)), graph.adj, graph.y)
    coarse = coarse_graph(graph)
    batch = builder(graph, coarse, encode=encode).resample(drawn(graph)).batch(torch.tensor([1, 2]))
    x = batch.x.to_dense()
    everything = torch.cat([graph.x.to_dense(), coarse.x])
    real = batch.mask & (batch.kind != TokenKind.GLOBAL)
    torch.testing.assert_close(x[batch.index[real]], everything[batch.ids[real]])
    assert batch.index[:, -2:].tolist() == [[len(x), len(x) + 1]] * 6
    assert torch.all(batch.index[~batch.mask] == 0)
    if encode == "unique":
        assert len(x) == len(torch.unique(batch.ids[real]))


def test_auto_encodes_the_smaller(graph: Graph) -> None:
    built = builder(graph, None).resample(drawn(graph))
    assert len(built.batch(torch.arange(60)).x) == 60
    assert len(built.batch(torch.tensor([1])).x) < 60


@pytest.mark.parametrize("mode", ["blocked", "approximate"])
def test_kept_and_computed_proximities_agree(graph: Graph, mode: str) -> None:
    coarse, sampled = coarse_graph(graph), drawn(graph)
    expected = builder(graph, coarse).resample(sampled).batch(torch.arange(60)).proximity
    kept = builder(graph, coarse, mode).resample(sampled)
    fresh = builder(graph, coarse, mode, max_table_bytes=10).resample(sampled)
    assert kept.phi is not None
    assert fresh.phi is None
    for built in (kept, fresh):
        got = built.batch(torch.arange(60)).proximity
        torch.testing.assert_close(got, expected, atol=1e-6 if mode == "blocked" else 0.01, rtol=0)


def test_without_coarse_graph(graph: Graph) -> None:
    batch = builder(graph, None).resample(drawn(graph)).batch(torch.tensor([0]))
    assert batch.ids.shape == (3, 8)
    with pytest.raises(InputError, match="num_supernodes is 3, but there is no coarse graph"):
        SequenceBuilder(graph, LAYOUT, Proximity().fit(graph))
    with pytest.raises(InputError, match="Unknown encode setting 'some'"):
        builder(graph, None, encode="some")


def test_without_the_multiplicity_bias_every_token_counts_once(graph: Graph) -> None:
    for bias in (True, False):
        built = builder(graph, None, multiplicity_bias=bias).resample(drawn(graph))
        assert bool(built.log_count.any()) == bias


def test_tables_of_the_same_shape_are_written_in_place(graph: Graph) -> None:
    """What a captured CUDA graph relies on."""
    built = builder(graph, coarse_graph(graph), mode="blocked").resample(
        drawn(graph, torch.arange(6)), round=1
    )
    tables = (built.ids, built.mask, built.log_count, built.phi)
    places, before = [t.data_ptr() for t in tables], built.ids.clone()
    built.resample(drawn(graph, torch.arange(6, 12)), round=2)
    assert [t.data_ptr() for t in (built.ids, built.mask, built.log_count, built.phi)] == places
    assert not torch.equal(built.ids, before)
    fresh = builder(graph, coarse_graph(graph), mode="blocked").resample(
        drawn(graph, torch.arange(6, 12)), round=2
    )
    for name in ("ids", "mask", "log_count", "phi"):
        assert torch.equal(getattr(built, name), getattr(fresh, name)), name
    built.resample(drawn(graph, torch.arange(4)), round=3)
    assert built.ids.data_ptr() != places[0]


def test_copies_of_fresh_tables_do_not_write_into_each_other(graph: Graph) -> None:
    first = builder(graph, None)
    second = copy.copy(first)
    first.resample(drawn(graph))
    assert second.num_sequences == 0
    second.resample(drawn(graph, num_sequences=2))
    assert (first.num_sequences, second.num_sequences) == (3, 2)
