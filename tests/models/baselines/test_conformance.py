"""What every full-batch baseline must do, whatever it computes."""

import pytest
import torch
from baseline_cases import build, permuted, small_graph
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.models import MODELS, NodeModel, resolve_model
from ansgt.storage import DiskCache

FULL_BATCH = [name for name in MODELS if name not in ("ansgt", "gophormer")]
SMALL: dict[str, dict[str, object]] = {
    "gt": {"hidden_channels": 16, "num_eigenvectors": 4},
    "san": {"hidden_channels": 16, "num_eigenvectors": 4},
    "graphormer": {"hidden_channels": 16},
}

each = pytest.mark.parametrize("name", FULL_BATCH)


def case(name: str, **more: object) -> tuple[NodeModel, dict[str, torch.Tensor]]:
    return build(name, small_graph(), **{**SMALL.get(name, {}), **more})


def test_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"Unknown model 'gnc'; known: .*gcn"):
        resolve_model("gnc")


@each
def test_shape_and_finite(name: str) -> None:
    model, inputs = case(name)
    logits = model(inputs)
    assert logits.shape == (24, 3)
    assert bool(torch.isfinite(logits).all())


@each
def test_same_seed_same_result(name: str) -> None:
    outputs = []
    for _ in range(2):
        model, inputs = case(name)
        torch.manual_seed(7)
        outputs.append(model.train()(inputs))
    assert torch.equal(*outputs)
    other, inputs = build(name, small_graph(), seed=1, **SMALL.get(name, {}))
    assert not torch.equal(outputs[0], other(inputs))


@each
def test_gradient_reaches_every_parameter(name: str) -> None:
    model, inputs = case(name)
    model.train()
    for module in model.modules():
        if hasattr(module, "dropout") and isinstance(module.dropout, float):
            module.dropout = 0.0  # so that no unit is dropped by chance
    F.cross_entropy(model(inputs), small_graph().y).backward()
    missing = [
        key for key, p in model.named_parameters() if p.grad is None or not bool(p.grad.abs().sum() > 0)
    ]
    assert missing == []


@each
def test_gradient_is_the_slope(name: str) -> None:
    """Central differences along a random direction, float64: products with hand-written gradients are in here."""
    model, inputs = case(name)
    model = model.double()
    inputs = {key: value.double() if value.is_floating_point() else value for key, value in inputs.items()}
    labels = small_graph().y

    def loss() -> torch.Tensor:
        return F.cross_entropy(model(inputs), labels)

    parameters = list(model.parameters())
    generator = torch.Generator().manual_seed(1)
    directions = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in parameters]
    gradients = torch.autograd.grad(loss(), parameters)
    expected = sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))
    values = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter += step * direction
            values.append(float(loss()))
    assert (values[0] - values[1]) / 2e-6 == pytest.approx(expected, rel=1e-4, abs=1e-7)


@each
def test_param_groups_hold_every_parameter_once(name: str) -> None:
    model, _ = case(name)
    grouped = [id(p) for group in model.param_groups(0.01, 5e-4) for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in model.parameters())


@each
def test_renumbering_nodes_renumbers_logits(name: str) -> None:
    model, inputs = case(name)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(model(permuted(inputs, order)), model(inputs)[order], rtol=1e-4, atol=1e-5)


@each
def test_sparse_features_give_the_same_logits_and_gradients(name: str) -> None:
    results = []
    for sparse in (False, True):
        model, inputs = case(name)
        if sparse:
            inputs["x"] = inputs["x"].to_sparse_csr()
        logits = model(inputs)
        logits.square().sum().backward()
        results.append([logits, *(p.grad for p in model.parameters())])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@each
def test_sparse_features_in_training_mode(name: str) -> None:
    model, inputs = case(name)
    inputs["x"] = inputs["x"].to_sparse_csr()
    F.cross_entropy(model.train()(inputs), small_graph().y).backward()
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters())


@each
def test_graph_without_edges(name: str) -> None:
    graph = Graph.from_arrays(torch.eye(6, 4), torch.empty(2, 0, dtype=torch.int64), torch.arange(6) % 2)
    model, inputs = build(name, graph, **SMALL.get(name, {}))
    logits = model.train()(inputs)
    logits.sum().backward()
    assert logits.shape == (6, 2)
    assert bool(torch.isfinite(logits).all())
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters() if p.grad is not None)


@each
def test_one_class(name: str) -> None:
    graph = small_graph()
    single = Graph.from_arrays(graph.x, graph.edge_index, torch.zeros(24, dtype=torch.int64))
    model, inputs = build(name, single, **SMALL.get(name, {}))
    logits = model(inputs)
    assert logits.shape == (24, 1)
    assert F.cross_entropy(logits, single.y).item() == 0.0


@each
def test_saved_and_loaded_model_gives_the_same_logits(name: str, tmp_path) -> None:
    model, inputs = case(name)
    save_file(
        {key: value.contiguous() for key, value in model.state_dict().items()}, tmp_path / "m.safetensors"
    )
    other, _ = build(name, small_graph(), seed=9, **SMALL.get(name, {}))
    other.load_state_dict(load_file(tmp_path / "m.safetensors"))
    assert torch.equal(other(inputs), model(inputs))


@each
def test_prepare_is_deterministic_and_survives_the_cache(name: str, tmp_path) -> None:
    cls, settings = resolve_model(name), SMALL.get(name, {})
    fresh = cls.prepare(small_graph(), DiskCache(None), **settings)
    for _ in range(2):  # written, then read
        stored = cls.prepare(small_graph(), DiskCache(tmp_path), **settings)
        assert stored.keys() == fresh.keys()
        for key in fresh:
            torch.testing.assert_close(_dense(stored[key]), _dense(fresh[key]))


@each
def test_estimate_grows_with_the_graph(name: str) -> None:
    cls = resolve_model(name)
    assert 0 <= cls.estimate_bytes(small_graph()) < 1e9


def _dense(value: torch.Tensor) -> torch.Tensor:
    return value if value.layout == torch.strided else value.to_dense()
