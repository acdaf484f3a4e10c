"""Columns of links: which entries they have, whose columns a graph that grew keeps, when the labels speak for them."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ansgt import NodeClassifier
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.links import LinkVote, Origin, beside, column_of, drop_links, left_out, link_columns
from ansgt.names import Names
from ansgt.runs.prepare import Request, build_config
from ansgt.settings import DataSettings
from ansgt.storage import DiskCache
from ansgt.testing import random_graph
from ansgt.training import build_learner

GRAPH = random_graph(60, num_features=16, num_isolated=2)
LINKS = DataSettings(link_features="links")


def dense(graph: Graph, data: DataSettings, origin: Origin | None = None) -> np.ndarray:
    columns = link_columns(graph, data, origin)
    assert columns is not None
    return columns.to_dense().numpy()


def test_a_column_per_node() -> None:
    assert link_columns(GRAPH, DataSettings()) is None
    assert np.array_equal(dense(GRAPH, LINKS), GRAPH.adj.toarray())
    assert np.array_equal(dense(GRAPH, replace(LINKS, link_scale=0.5)), GRAPH.adj.toarray() / 2)
    with pytest.raises(InputError, match="decided per split"):
        link_columns(GRAPH, DataSettings(link_features="auto"))


def test_nodes_share_columns_where_there_are_more_of_them() -> None:
    spread = np.zeros((60, 7))
    spread[np.arange(60), column_of(np.arange(60), 7)] = 1
    assert np.allclose(dense(GRAPH, replace(LINKS, link_width=7)), GRAPH.adj.toarray() @ spread)
    counts = np.bincount(column_of(np.arange(100_000), 100), minlength=100)
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000)


def grown(graph: Graph, more: int) -> Graph:
    """The graph with `more` further nodes, each linked to node 0 and to the one before."""
    size = graph.num_nodes + more
    new = np.arange(graph.num_nodes, size)
    extra = np.stack([np.concatenate([new, new]), np.concatenate([new - 1, 0 * new])])
    x = torch.cat([graph.x, torch.rand(more, graph.num_features)])
    return Graph.from_arrays(x, np.concatenate([graph.edge_index.numpy(), extra], axis=1))


def test_columns_of_nodes_that_were_not_there_are_empty() -> None:
    larger = grown(GRAPH, 3)
    assert np.array_equal(dense(larger, LINKS, Origin.of(larger, GRAPH)), larger.adj.toarray()[:, :60])
    other = random_graph(70, num_features=16, seed=5)
    empty = dense(other, LINKS, Origin.of(other, GRAPH))
    assert empty.shape == (70, 60)
    assert not empty.any()
    named = replace(GRAPH, node_names=Names(range(100, 160)))
    renamed = replace(other, node_names=Names([*range(159, 99, -1), *range(10)]))
    assert np.array_equal(Origin.of(renamed, named).ids, [*range(59, -1, -1), *[-1] * 10])


@pytest.mark.parametrize("sparse", [False, True])
def test_links_have_a_dropout_of_their_own(sparse: bool) -> None:
    columns = link_columns(GRAPH, LINKS)
    assert columns is not None
    x = beside(GRAPH.x.to_sparse_csr() if sparse else GRAPH.x, columns, torch.device("cpu"))
    whole = x.to_dense()
    assert np.allclose(whole, np.hstack([GRAPH.x.numpy(), GRAPH.adj.toarray()]), atol=1e-6)
    torch.manual_seed(0)
    for given in (x, whole):
        dropped = drop_links(given, 60, 0.5).to_dense()
        assert torch.equal(dropped[:, :16], whole[:, :16])
        kept = dropped[:, 16:][whole[:, 16:] > 0]
        assert set(kept.unique().tolist()) == {0.0, 2.0}
    assert drop_links(x, 0, 0.5) is x


def test_who_isleft_out_is_told_by_the_others() -> None:
    """Against a ridge regression that is fitted anew without each node."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(25, 6)), rng.integers(0, 3, 25)
    kernel, labels = rows @ rows.T, np.eye(3)[y]
    right = []
    for ridge in (0.03, 0.3, 3.0):
        told = np.zeros(25, dtype=bool)
        for node in range(25):
            others = np.arange(25) != node
            fitted = np.linalg.solve(kernel[np.ix_(others, others)] + 1 + ridge * np.eye(24), labels[others])
            told[node] = ((kernel[node, others] + 1) @ fitted).argmax() == y[node]
        right.append(told)
    assert np.array_equal(left_out(kernel, y), max(right, key=lambda one: one.mean()))


@pytest.mark.parametrize("speaks", [True, False])
def test_labels_speak_for_links_where_hubs_tell_the_class(speaks: bool) -> None:
    """Every node is linked to three of eight hubs; the class is which half they are of, or has nothing to do with them."""
    rng = np.random.default_rng(1)
    size = 308
    half = rng.integers(0, 2, size)
    hubs = np.stack([rng.choice(4, 3, replace=False) + 4 * side for side in half[8:]])
    edges = np.stack([np.repeat(np.arange(8, size), 3), hubs.flatten()])
    y = half if speaks else rng.integers(0, 2, size)
    x = rng.normal(size=(size, 5)).astype(np.float32)
    x[:8] = 1  # or the mean of the neighbours' words would tell it
    graph = Graph.from_arrays(x, edges, y)
    vote = LinkVote.of(graph, torch.arange(8, 208))
    assert vote.in_favour == speaks
    hidden = replace(graph, y=torch.where(torch.arange(size) < 208, graph.y, 0))
    assert LinkVote.of(hidden, torch.arange(8, 208)) == vote  # no other node's label is read


def learner(model: str, *overrides: str) -> Any:
    split = Split(torch.arange(30), torch.arange(30, 45), torch.arange(45, 60), name="given", index=0)
    config = build_config(Request("graph", model, "given"), overrides=overrides)
    torch.manual_seed(0)
    return build_learner(config, GRAPH, split, 0, DiskCache(None))


@pytest.mark.parametrize("model", ["ansgt", "mlp", "gcn", "h2gcn"])
def test_models_learn_with_links(model: str) -> None:
    with_links = learner(model, "link_features=links")
    assert np.isfinite(with_links.train_epoch(0))
    assert with_links.trained.num_parameters > learner(model).trained.num_parameters
    if model == "ansgt":
        with pytest.raises(InputError, match="'gophormer' does not read links"):
            learner("gophormer", "link_features=links")


def test_the_transformer_sees_links_beside_what_it_saw() -> None:
    plain, linked = learner("ansgt"), learner("ansgt", "link_features=links", "link_dropout=0")
    first, own = plain.trained.weights(), linked.trained.weights()
    assert all(torch.equal(value, own[name]) for name, value in first.items())
    pipeline = linked.trained.pipeline
    assert torch.equal(pipeline.mixture.Q, plain.trained.pipeline.mixture.Q)
    tables, assignment = pipeline.tables(), pipeline.coarse.assignment
    means = np.stack([GRAPH.adj.toarray()[assignment == c].mean(axis=0) for c in range(assignment.max() + 1)])
    assert np.allclose(tables.links.to_dense()[60:], means, atol=1e-6)
    batch, model = linked.tables.batch(torch.arange(5)), linked.model.eval()
    bare = plain.model.eval()
    logits = model(batch)
    assert not torch.allclose(logits, bare(replace(batch, links=None)))
    torch.nn.init.zeros_(model.links.weight)
    assert torch.allclose(model(batch), bare(replace(batch, links=None)), atol=1e-6)
    for given, reader in ((replace(batch, links=None), model), (batch, bare)):
        with pytest.raises(InputError, match="columns of links"):
            reader(given)


def test_a_classifier_decides_stores_and_moves(tmp_path: Path) -> None:
    """`auto` is decided once, travels with the record, and a grown graph keeps the columns of the nodes it had."""
    import ansgt

    data = ansgt.load_dataset("newman")
    small = {"num_layers": 1, "num_augmentations": 1, "hidden_channels": 16, "num_heads": 2}
    clf = NodeClassifier(epochs=2, device="cpu", cache_dir=tmp_path / "c", link_features="auto", **small).fit(
        data
    )
    result = clf._fitted().folder.split(0).result()
    chosen, reasons = (result["chosen"][part]["link_features"] for part in ("data", "reasons"))
    assert (chosen == "links") == (reasons["with"] - reasons["without"] > 2 * reasons["error"])
    linked = NodeClassifier(epochs=2, device="cpu", cache_dir=tmp_path / "c", link_features="links", **small)
    linked.fit(data).save(tmp_path / "run")
    again = NodeClassifier.load(tmp_path / "run", device="cpu", cache_dir=tmp_path / "c")
    nodes = torch.arange(data.num_nodes)
    np.testing.assert_allclose(again.trained_.predict_proba(nodes), linked.predict_proba(), atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(again.predict_proba(data), linked.predict_proba(), atol=1e-5)
    flipped = data.clone()
    flipped.x = flipped.x.flip(0)
    with pytest.warns(UserWarning, match="columns of links stay empty"):
        assert again.predict_proba(flipped).shape == (data.num_nodes, 4)
