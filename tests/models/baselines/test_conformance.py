"""What every full-batch baseline must do, whatever it computes."""

import ast
import inspect
import textwrap

import pytest
import torch
from cases import DEVICE, INTERPRETED, build, needs_triton, permuted, small_graph
from torch import Tensor

from ansgt.kernels import pairs
from ansgt.models import MODELS, resolve_model
from ansgt.settings import fitted
from ansgt.storage import DiskCache
from ansgt.testing import check_model, power_law_graph, random_graph

FULL_BATCH = [name for name in MODELS if name not in ("ansgt", "gophormer")]
SMALL: dict[str, dict[str, object]] = {
    "gt": {"hidden_channels": 16, "num_eigenvectors": 4},
    "san": {"hidden_channels": 16, "num_eigenvectors": 4},
    "graphormer": {"hidden_channels": 16},
    "nagphormer": {"hidden_channels": 16},
    "polynormer": {"local_epochs": 0},
}

each = pytest.mark.parametrize("name", FULL_BATCH)


@each
def test_conformance(name: str) -> None:
    cls = resolve_model(name)
    check_model(cls, fitted(cls.Settings, SMALL.get(name, {})))


@each
def test_renumbering_nodes_renumbers_logits(name: str) -> None:
    model, inputs = build(name, small_graph(), **SMALL.get(name, {}))
    order = torch.randperm(24, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(model(permuted(inputs, order)), model(inputs)[order], rtol=1e-4, atol=1e-5)


@each
def test_estimate_grows_with_the_graph_or_is_of_no_concern(name: str) -> None:
    cls = resolve_model(name)
    settings = cls.Settings()
    small, large = (cls.estimate_bytes(random_graph(size), settings) for size in (50, 500))
    assert small < 1e9
    no_concern = name in ("geomgcn", "gt", "polynormer", "sgformer")
    assert small == large == 0 if no_concern else 0 < small < large


@each
def test_feature_dropout_leaves_the_kept_columns_alone(name: str) -> None:
    """The gradient at a dropped entry is exactly 0; at a kept one only where the whole row has none."""
    graph = random_graph(40, num_features=30)
    settings = SMALL.get(name, {}) | (
        {"dropout": 0.5} if name in ("gprgnn", "acmgcn") else {"input_dropout": 0.8}
    )
    model, inputs = build(name, graph, num_kept=10, **settings)
    x = torch.rand(40, 30, requires_grad=True)
    model.train()({**inputs, "x": x}).square().sum().backward()
    zero = x.grad == 0
    alive = ~zero[:, 20:].all(dim=1)
    assert alive.sum() > 5
    assert not zero[alive][:, 20:].any()
    assert zero[alive][:, :20].float().mean() > 0.3


@each
def test_settings_have_a_docstring_per_field(name: str) -> None:
    """What the reference of the settings is made of."""
    cls = resolve_model(name)
    body = ast.parse(textwrap.dedent(inspect.getsource(cls.Settings))).body[0].body
    for line, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(line, ast.AnnAssign) and not ast.unparse(line.annotation).startswith("ClassVar"):
            assert isinstance(following, ast.Expr), f"{name}: {line.target.id} has no docstring"


def test_blocks_give_the_same_gradients_with_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("san", "graphormer"):
        model, inputs = build(name, small_graph(), hidden_channels=16, attention_dropout=0.2)
        monkeypatch.setattr(pairs, "BLOCK_BYTES", 4 * 4 * 24 * 7)
        torch.manual_seed(1)
        first = model.train()(inputs)
        first.sum().backward()
        kept = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        torch.manual_seed(1)
        model(inputs).sum().backward()
        assert all(torch.equal(a, p.grad) for a, p in zip(kept, model.parameters(), strict=True))


@pytest.mark.parametrize("name", ["san", "graphormer"])
def test_estimate_is_quadratic_only_where_it_must(name: str) -> None:
    cls = resolve_model(name)
    small, large = (cls.estimate_bytes(power_law_graph(n), cls.Settings()) for n in (20_000, 80_000))
    assert small < 8 * 2**30
    growth = large / small
    assert growth < 16 if name == "graphormer" else growth < 4


def baseline(name: str, num_nodes: int, **changes: float) -> tuple[torch.nn.Module, dict[str, Tensor]]:
    """A model in evaluation mode and its inputs, on the CPU."""
    graph, cls = random_graph(num_nodes, num_features=10), resolve_model(name)
    torch.manual_seed(0)
    settings = cls.Settings(hidden_channels=64, heads=4, **changes)
    model = cls(10, graph.num_classes, settings).eval()
    return model, cls.prepare(graph, DiskCache(None), settings)


@needs_triton
@pytest.mark.parametrize(("name", "settings"), [("san", {"gamma": 0.3}), ("graphormer", {})])
def test_a_baseline_with_and_without_the_kernel(
    name: str, settings: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs = baseline(name, num_nodes=70, **settings)
    model.to(DEVICE)
    inputs = {key: value.to(DEVICE) for key, value in inputs.items()}
    results = []
    for way in ("plain", "triton"):
        monkeypatch.setattr(pairs, "choose", lambda operation, *rest, way=way: way)
        logits = model(inputs)
        gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()))
        results.append([logits.detach(), *gradients])
    for one, other in zip(*results, strict=True):
        scale = float(one.abs().max()) + 1e-6
        assert torch.allclose(one, other, atol=(1e-4 if INTERPRETED else 2e-2) * scale)


@pytest.mark.skipif(DEVICE != "cuda", reason="needs CUDA")
@pytest.mark.parametrize("name", ["san", "graphormer"])
def test_a_baseline_on_cuda_gives_the_logits_of_the_cpu(name: str) -> None:
    model, inputs = baseline(name, num_nodes=150)
    expected = model(inputs)
    found = model.cuda()({key: value.cuda() for key, value in inputs.items()})
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-2, atol=1e-2)  # products in TF32
