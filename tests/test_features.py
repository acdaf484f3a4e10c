"""What a model sees of the features: normalisation, the number of words, and that dropout leaves that number alone."""

import dataclasses
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.features import SIZES, compared_features, num_appended, prepare_features, size_columns, suited
from ansgt.graph import Split
from ansgt.models import MODELS, resolve_model
from ansgt.runs.prepare import Request, build_config
from ansgt.settings import DataSettings
from ansgt.storage import DiskCache
from ansgt.testing import random_graph
from ansgt.training import build_learner

CPU = torch.device("cpu")


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(np.float32, (6, 130), elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0])))
def test_size_columns_count(values: np.ndarray) -> None:
    counted = [[float(sum(v != 0 for v in row) >= size) for size in SIZES] for row in values]
    x = torch.from_numpy(values)
    assert size_columns(x).tolist() == counted
    assert size_columns(x.to_sparse_csr()).tolist() == counted


def test_sizes_are_each_number_up_to_eight_then_a_quarter_more() -> None:
    expected = list(range(1, 9))
    while len(expected) < 20:
        expected.append(round(1.25 * expected[-1]))
    assert list(SIZES) == expected


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("rows", "kind", "facts"),
    [
        ([[3.0, 0.0], [1.0, 2.0]], "row", (0.0, 0.75, True)),
        ([[0.5, 0.0], [0.0, 2.0]], "row", (0.0, 0.5, False)),
        ([[0.5, 0.0, 1.0], [0.1, 2.0, 0.0]], "none", (0.0, 0.6667, False)),
        ([[-1.0, 0.0], [0.0, 2.0]], "none", (-1.0, 0.5, True)),
        ([[], []], "row", (0.0, 0.0, True)),
        ([[2.0]], "row", (2.0, 1.0, True)),
    ],
)
def test_what_suits_features(
    rows: list[list[float]], kind: str, facts: tuple[Any, ...], is_sparse: bool
) -> None:
    x = torch.tensor(rows)
    found, known = suited(x.to_sparse_csr() if is_sparse else x)
    if is_sparse and x.numel():
        facts = (float(x[x != 0].min()), *facts[1:])  # of what is stored
    assert found == kind
    assert known == dict(zip(("smallest", "not_zero", "whole_numbers"), facts, strict=True))
    chosen = prepare_features(x, DataSettings("auto"), CPU)
    assert torch.equal(chosen, prepare_features(x, DataSettings(kind), CPU))


@pytest.mark.parametrize(
    ("width", "words", "is_sparse"), [(70, 6, True), (70, 7, False), (64, 6, True), (63, 6, False)]
)
def test_wide_features_with_few_entries_become_sparse(width: int, words: int, is_sparse: bool) -> None:
    """Fewer than a tenth, of at least 64 columns; whatever is given sparse stays so."""
    x = (torch.arange(width) < words).float().repeat(5, 1)
    data = DataSettings("none")
    assert (prepare_features(x, data, CPU).layout == torch.sparse_csr) == is_sparse
    assert prepare_features(x.to_sparse_csr(), data, CPU).layout == torch.sparse_csr
    for one in (x, x.to_sparse_csr()):
        assert torch.equal(prepare_features(one, data, torch.device("cuda")), x)  # a GPU prefers dense


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_are_scaled_to_their_mean_sum(is_sparse: bool) -> None:
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [2.0, 0.0]])
    found = prepare_features(x.to_sparse_csr() if is_sparse else x, DataSettings("scaled", True), CPU)
    np.testing.assert_allclose(found.to_dense()[:, :2], [[0.5, 1.5], [0, 0], [2, 0]])
    assert torch.equal(found.to_dense()[:, 2:], size_columns(x))
    compared = compared_features(x, DataSettings("scaled", True), CPU)
    np.testing.assert_allclose(compared, [[0.5, 1.5], [0, 0], [2, 0]])


def test_a_stored_zero_is_no_word() -> None:
    x = torch.sparse_csr_tensor([0, 2, 2], [0, 1], [0.0, 3.0], size=(2, 4))
    assert size_columns(x)[:, :2].tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("normalize", ["row", "scaled", "none"])
@pytest.mark.parametrize("sizes", [False, True])
def test_dense_and_sparse_features_come_out_equal(normalize: str, sizes: bool) -> None:
    torch.manual_seed(0)
    x = torch.rand(40, 200) * (torch.rand(40, 200) < 0.03)
    x[5] = 0.0
    data = DataSettings(normalize, sizes)
    out = prepare_features(x, data, CPU)
    assert out.layout == torch.sparse_csr
    again = prepare_features(x.to_sparse_csr(), data, CPU)
    assert torch.allclose(out.to_dense(), again.to_dense(), atol=1e-6)
    rows = out.to_dense()[:, :200].sum(dim=1)
    total = {"row": torch.ones(40), "scaled": x.sum(dim=1).mean().expand(40), "none": x.sum(dim=1)}[normalize]
    assert torch.allclose(rows[x.sum(dim=1) > 0], total[x.sum(dim=1) > 0], atol=1e-5)
    assert torch.equal(out.to_dense()[:, 200:], size_columns(x) if sizes else torch.zeros(40, 0))


def build(model: str, *overrides: str) -> Any:
    graph = random_graph(60, num_features=16, num_isolated=2)
    split = Split(torch.arange(30), torch.arange(30, 45), torch.arange(45, 60), name="given", index=0)
    config = build_config(Request("graph", model, "given"), overrides=overrides)
    torch.manual_seed(0)
    return build_learner(config, graph, split, 0, DiskCache(None))


@pytest.mark.parametrize("model", ["ansgt", *MODELS])
def test_every_model_learns_with_the_columns(model: str) -> None:
    learner = build(model, "size_columns=true")
    assert np.isfinite(learner.train_epoch(0))
    assert learner.trained.num_parameters > build(model).trained.num_parameters


def test_number_of_appended_columns() -> None:
    assert num_appended(DataSettings(size_columns=True)) == len(SIZES)
    assert num_appended(DataSettings()) == 0


@pytest.mark.parametrize("name", [m for m in MODELS if m not in ("ansgt", "gophormer")])
def test_no_baseline_drops_the_kept_columns(name: str) -> None:
    """The gradient at a dropped entry is exactly 0; at a kept one only where the whole row has none."""
    graph = random_graph(40, num_features=30)
    cls = resolve_model(name)
    inputs = cls.prepare(graph, DiskCache(None), cls.Settings())
    known = {field.name for field in dataclasses.fields(cls.Settings)}
    chosen = cls.Settings(**({"input_dropout": 0.8} if "input_dropout" in known else {"dropout": 0.5}))
    torch.manual_seed(0)
    model = cls(30, graph.num_classes, chosen, num_kept=10, **cls.graph_settings(graph)).train()
    x = torch.rand(40, 30, requires_grad=True)
    model({**inputs, "x": x}).square().sum().backward()
    zero = x.grad == 0
    alive = ~zero[:, 20:].all(dim=1)
    assert alive.sum() > 5
    assert not zero[alive][:, 20:].any()
    assert zero[alive][:, :20].float().mean() > 0.3


def test_heuristics_do_not_see_the_columns() -> None:
    pipelines = [build("ansgt", *chosen).trained.pipeline for chosen in (("size_columns=true",), ())]
    assert torch.equal(pipelines[0].mixture.Q, pipelines[1].mixture.Q)
    with_sizes, without = (pipeline.tables().x.shape[1] for pipeline in pipelines)
    assert with_sizes == without + len(SIZES)
