"""GT, SAN and Graphormer against dense attention written out, and what they are built from."""

import networkx as nx
import numpy as np
import pytest
import torch
from baseline_cases import build, small_graph

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.models import resolve_model
from ansgt.models.baselines import full_attention as blocks
from ansgt.models.baselines.distances import shortest_paths
from ansgt.models.baselines.gt import flip_signs
from ansgt.models.baselines.spectral import laplacian_eigenvectors
from ansgt.storage import DiskCache
from ansgt.testing import path_graph, power_law_graph, random_graph

OFF = DiskCache(None)


def close(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def linked() -> torch.Tensor:
    return torch.from_numpy(small_graph().adj.toarray()) > 0


def dense_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """[n, heads, d] from queries, keys and values of that shape; rows without anybody allowed give 0."""
    score = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5
    weight = score.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num(0.0)
    return torch.einsum("hij,jhd->ihd", weight, v)


def post_norm(layer: torch.nn.Module, h: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
    h = layer.norm1(h + layer.project(attended.flatten(1)))
    return layer.norm2(h + layer.narrow(layer.widen(h).relu()))


def test_gt() -> None:
    model, inputs = build("gt", small_graph(), hidden_channels=8, heads=2, num_eigenvectors=3, num_layers=2)
    h = model.encode.norm(model.encode.lin(inputs["x"])) + model.encode_position(inputs["position"])
    for layer in model.layers:
        conv = layer.attention
        q, k, v = (f(h).unflatten(1, (2, 4)) for f in (conv.lin_query, conv.lin_key, conv.lin_value))
        h = post_norm(layer, h, dense_attention(q, k, v, linked()))
    close(model(inputs), model.classifier(h))


@pytest.mark.parametrize("block_bytes", [blocks.BLOCK_BYTES, 4 * 2 * 24 * 5])
def test_san(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    model, inputs = build(
        "san", small_graph(), hidden_channels=8, heads=2, num_eigenvectors=3, position_channels=4, gamma=0.3
    )
    pairs = torch.stack([inputs["eigenvalues"].expand(24, 3), inputs["eigenvectors"]], dim=-1)
    spectral = model.encode_position.encoder(model.encode_position.embed(pairs)).mean(1)
    h = torch.cat([model.encode.norm(model.encode.lin(inputs["x"])), spectral], dim=1)
    others = ~linked() & ~torch.eye(24, dtype=torch.bool)
    for layer in model.layers:
        value = layer.value(h).unflatten(1, (2, 4))
        real = [t.unflatten(1, (2, 4)) for t in layer.real(h).chunk(2, 1)]
        added = [t.unflatten(1, (2, 4)) for t in layer.added(h).chunk(2, 1)]
        attended = dense_attention(*real, value, linked()) + 0.3 * dense_attention(*added, value, others)
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


@pytest.mark.parametrize("block_bytes", [blocks.BLOCK_BYTES, 4 * 2 * 24 * 5])
def test_graphormer(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    model, inputs = build(
        "graphormer", small_graph(), hidden_channels=8, heads=2, max_distance=3, max_degree=4
    )
    graph = nx.from_scipy_sparse_array(small_graph().adj)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    distance = torch.tensor(
        [[min(lengths[i].get(j, 99), 3 if j in lengths[i] else 4) for j in range(24)] for i in range(24)]
    )
    degree = torch.tensor([min(d, 4) for _, d in graph.degree])
    h = model.encode.norm(model.encode.lin(inputs["x"])) + model.centrality.weight[degree]
    for layer in model.layers:
        q, k, v = layer.qkv(layer.norm1(h)).unflatten(1, (3, 2, 4)).unbind(1)
        score = torch.einsum("ihd,jhd->hij", q, k) / 2 + model.spatial[:, distance]
        h = h + layer.project(torch.einsum("hij,jhd->ihd", score.softmax(-1), v).flatten(1))
        h = h + layer.narrow(torch.nn.functional.gelu(layer.widen(layer.norm2(h))))
    expected = model.classifier(model.norm(h))
    logits = model(inputs)
    close(logits, expected)
    (wanted,) = torch.autograd.grad(expected.square().sum(), model.spatial)
    (got,) = torch.autograd.grad(logits.square().sum(), model.spatial)
    close(got, wanted)


def test_blocks_give_the_same_gradients_with_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("san", "graphormer"):
        model, inputs = build(name, small_graph(), hidden_channels=16, attention_dropout=0.2)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 4 * 4 * 24 * 7)
        torch.manual_seed(1)
        first = model.train()(inputs)
        first.sum().backward()
        kept = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        torch.manual_seed(1)
        model(inputs).sum().backward()
        assert all(torch.equal(a, p.grad) for a, p in zip(kept, model.parameters(), strict=True))


def test_eigenvectors_of_a_path() -> None:
    values, vectors = laplacian_eigenvectors(path_graph(4), 3, OFF)
    adj = path_graph(4).adj.toarray()
    scale = np.diag(adj.sum(1) ** -0.5)
    laplacian = np.eye(4) - scale @ adj @ scale
    np.testing.assert_allclose(values, np.linalg.eigvalsh(laplacian)[1:], atol=1e-6)
    np.testing.assert_allclose(laplacian @ vectors, vectors * values, atol=1e-5)
    np.testing.assert_allclose(vectors.max(axis=0), 1.0, atol=1e-6)


def test_eigenvectors_skip_component_indicators_and_isolated_nodes() -> None:
    two_edges = Graph.from_arrays(torch.eye(6), torch.tensor([[0, 1, 3], [1, 2, 4]]))
    values, vectors = laplacian_eigenvectors(two_edges, 10, OFF)
    np.testing.assert_allclose(values, [1.0, 2.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(vectors[5], 0.0, atol=1e-6)


def test_lanczos_agrees_with_the_dense_spectrum() -> None:
    graph = power_law_graph(900, mean_degree=6.0)
    values, vectors = laplacian_eigenvectors(graph, 5, OFF)
    adj = graph.adj.toarray()
    scale = np.where(adj.sum(1) > 0, np.maximum(adj.sum(1), 1) ** -0.5, 0)
    normalised = scale[:, None] * adj * scale
    spectrum = np.sort(1 - np.linalg.eigvalsh(normalised))
    np.testing.assert_allclose(values, spectrum[spectrum > 1e-8][:5], atol=1e-5)
    np.testing.assert_allclose(vectors - normalised @ vectors, vectors * values, atol=1e-3)
    again = laplacian_eigenvectors(graph, 5, OFF)[1]
    assert np.array_equal(vectors, again)


def test_sign_flips_are_shared_by_all_nodes_and_only_in_training() -> None:
    vectors = torch.ones(6, 40)
    assert torch.equal(flip_signs(vectors, training=False), vectors)
    flipped = flip_signs(vectors, training=True)
    assert set(flipped.unique().tolist()) == {-1.0, 1.0}
    assert bool((flipped == flipped[0]).all())


def test_shortest_paths_equal_networkx() -> None:
    graph = random_graph(60, mean_degree=2.0, num_isolated=3, seed=1)
    distance = shortest_paths(graph, 5, OFF)
    lengths = dict(nx.all_pairs_shortest_path_length(nx.from_scipy_sparse_array(graph.adj)))
    expected = [[min(lengths[i][j], 5) if j in lengths[i] else 6 for j in range(60)] for i in range(60)]
    assert distance.dtype == np.uint8
    assert np.array_equal(distance, expected)
    with pytest.raises(InputError, match="max_distance"):
        shortest_paths(graph, 255, OFF)


@pytest.mark.parametrize("name", ["san", "graphormer"])
def test_estimate_is_quadratic_only_where_it_must(name: str) -> None:
    cls = resolve_model(name)
    small, large = (cls.estimate_bytes(power_law_graph(n)) for n in (20_000, 80_000))
    assert small < 8 * 2**30
    growth = large / small
    assert growth < 16 if name == "graphormer" else growth < 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("name", ["san", "graphormer"])
def test_the_fused_kernel_on_cuda_gives_the_logits_of_the_cpu(name: str) -> None:
    model, inputs = build(name, random_graph(150, num_features=10), hidden_channels=64, heads=4, fused=True)
    expected = model(inputs)
    model.cuda()
    found = model({key: value.cuda() for key, value in inputs.items()})
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-2, atol=1e-2)  # products in TF32
