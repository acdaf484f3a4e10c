"""`check_model`: whether a full-batch model of your own keeps the contract of `NodeModel`."""

import tempfile
from dataclasses import is_dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.storage import DiskCache
from ansgt.testing.graphs import demand, fail, random_graph, unchanged

STEP = 1e-6
"""Half the distance of the central difference that a gradient is compared with."""


def check_model(model: type[NodeModel], settings: Any = None) -> None:
    """Raises `AssertionError`, with a sentence that says what is wrong, unless the model keeps its contract.

    It is built for small graphs: one with isolated nodes, the same with sparse features, one without edges, one with a
    single class. Its logits must be finite and of shape [n, C], repeatable from a seed and from stored weights, its
    gradients right and complete, and what it prepares the same with and without the cache.

    Args:
        model: a subclass of `NodeModel`.
        settings: an instance of its `Settings`; None: the defaults. Small sizes make the check fast.

    >>> from ansgt.models.baselines.mlp import MLP
    >>> check_model(MLP)
    """
    demand(
        isinstance(model, type) and issubclass(model, NodeModel), f"{model!r} is not a subclass of NodeModel."
    )
    demand(is_dataclass(model.Settings), f"{model.__name__}.Settings is not a dataclass.")
    case = _Case(model, model.Settings() if settings is None else settings)
    with torch.random.fork_rng(devices=[]):
        _check_logits(case)
        _check_other_graphs(case)
        _check_gradients(case)
        _check_sparse_features(case)
        _check_weights(case)
        _check_prepare(case)
        _check_estimate(case)


class _Case:
    """A model class with its settings, built and prepared for one graph after another."""

    def __init__(self, model: type[NodeModel], settings: Any) -> None:
        self.model, self.settings, self.name = model, settings, model.__name__
        self.graph = random_graph(24, mean_degree=4.0, num_features=10, num_isolated=2, seed=3)

    def prepared(self, graph: Graph | None = None, cache: DiskCache | None = None) -> Inputs:
        graph = self.graph if graph is None else graph
        with unchanged(graph, f"{self.name}.prepare"):
            inputs = self.model.prepare(graph, cache or DiskCache(None), self.settings)
        demand("x" in inputs, f"{self.name}.prepare gives no 'x'.")
        for key, value in inputs.items():
            demand(isinstance(value, Tensor), f"{self.name}.prepare gives no tensor for '{key}'.")
        return inputs

    def built(self, graph: Graph | None = None, seed: int = 0, num_kept: int = 0) -> NodeModel:
        """The model with weights from a seed, in evaluation mode."""
        graph = self.graph if graph is None else graph
        decided = self.model.graph_settings(graph)
        torch.manual_seed(seed)
        constructor: Any = self.model  # which takes more than that of NodeModel
        try:
            model: NodeModel = constructor(
                graph.num_features, graph.num_classes, self.settings, num_kept=num_kept, **decided
            )
        except TypeError as error:
            fail(
                f"{self.name} cannot be built as {self.name}(in_channels, out_channels, settings, *, num_kept=0): "
                f"{error}."
            )
        demand(model.num_kept == num_kept, f"{self.name} does not keep num_kept.")
        return model.eval()

    def logits(self, model: NodeModel, inputs: Inputs, what: str) -> Tensor:
        try:
            logits = model(inputs)
        except Exception as error:
            raise AssertionError(f"{self.name} fails {what}: {type(error).__name__}: {error}") from error
        if not isinstance(logits, Tensor):
            fail(f"{self.name} gives no tensor {what}.")
        demand(torch.isfinite(logits).all(), f"{self.name} gives logits that are not finite {what}.")
        return logits


def _check_logits(case: _Case) -> None:
    model, inputs = case.built(num_kept=1), case.prepared()
    before = {key: _dense(value).clone() for key, value in inputs.items()}
    logits = case.logits(model, inputs, "on a graph with isolated nodes")
    shape, wanted = tuple(logits.shape), (case.graph.num_nodes, case.graph.num_classes)
    demand(shape == wanted, f"{case.name} gives logits of shape {shape} in place of {wanted}.")
    for key, value in inputs.items():
        demand(torch.equal(_dense(value), before[key]), f"{case.name} changes its input '{key}'.")
    again = case.logits(model, inputs, "at a second call")
    demand(torch.equal(again, logits), f"{case.name} gives other logits at a second call in evaluation mode.")
    trained = []
    for _ in range(2):
        model = case.built().train()
        torch.manual_seed(7)
        trained.append(case.logits(model, inputs, "in training mode"))
    demand(torch.equal(*trained), f"{case.name} gives other logits from the same seed in training mode.")
    other = case.logits(case.built(seed=1), inputs, "from another seed")
    first = case.logits(case.built(), inputs, "from a seed")
    demand(not torch.equal(other, first), f"{case.name} has the same weights from every seed.")


def _check_other_graphs(case: _Case) -> None:
    bare = Graph.from_arrays(torch.eye(6, 4), torch.empty(2, 0, dtype=torch.int64), torch.arange(6) % 2)
    single = replace(case.graph, y=torch.zeros(case.graph.num_nodes, dtype=torch.int64), num_classes=1)
    for graph, what in ((bare, "on a graph without edges"), (single, "with a single class")):
        model, inputs = case.built(graph).train(), case.prepared(graph)
        logits = case.logits(model, inputs, what)
        shape, wanted = tuple(logits.shape), (graph.num_nodes, graph.num_classes)
        demand(shape == wanted, f"{case.name} gives logits of shape {shape} in place of {wanted} {what}.")
        F.cross_entropy(logits, graph.y).backward()
        for key, parameter in model.named_parameters():
            finite = parameter.grad is None or bool(torch.isfinite(parameter.grad).all())
            demand(finite, f"{case.name}: the gradient of {key} is not finite {what}.")


def _check_gradients(case: _Case) -> None:
    """Complete, and the slope of the loss along a random direction, in double precision and without dropout."""
    model = case.built().double()
    inputs = {k: v.double() if v.is_floating_point() else v for k, v in case.prepared().items()}

    def loss() -> Tensor:
        return F.cross_entropy(case.logits(model, inputs, "in double precision"), case.graph.y)

    loss().backward()
    expected, generator = 0.0, torch.Generator().manual_seed(1)
    directions = []
    for key, parameter in model.named_parameters():
        if parameter.grad is None or not bool(parameter.grad.abs().sum() > 0):
            fail(f"{case.name}: no gradient reaches {key}.")
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        expected += float((parameter.grad * direction).sum())
        directions.append((parameter, direction))
    values = []
    with torch.no_grad():
        for step in (STEP, -2 * STEP):
            for parameter, direction in directions:
                parameter.add_(direction, alpha=step)
            values.append(float(loss()))
    slope = (values[0] - values[1]) / (2 * STEP)
    demand(
        abs(slope - expected) <= max(1e-4 * abs(expected), 1e-7),
        f"{case.name}: the gradients say that the loss changes by {expected:.6g} along a direction, but it changes by "
        f"{slope:.6g}.",
    )


def _check_sparse_features(case: _Case) -> None:
    found = []
    for sparse in (False, True):
        model, inputs = case.built(), case.prepared()
        if sparse:
            inputs["x"] = inputs["x"].to_sparse_csr()
        logits = case.logits(model, inputs, "on sparse features" if sparse else "on dense features")
        logits.square().sum().backward()
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
        found.append([logits, *gradients])
    for at, (one, other) in enumerate(zip(*found, strict=True)):
        what = "gradients" if at else "logits"
        same = torch.allclose(one, other, rtol=1e-4, atol=1e-4)
        demand(
            same, f"{case.name} gives other {what} for sparse features than for the same ones held densely."
        )
    model = case.built().train()
    inputs = {**case.prepared(), "x": case.graph.x.to_sparse_csr()}
    case.logits(model, inputs, "on sparse features in training mode").sum().backward()


def _check_weights(case: _Case) -> None:
    model, inputs = case.built(), case.prepared()
    grouped = [id(p) for group in model.param_groups(0.01, 5e-4) for p in group["params"]]
    every = [id(p) for p in model.parameters()]
    demand(sorted(grouped) == sorted(every), f"{case.name}: param_groups do not hold every parameter once.")
    other = case.built(seed=9)
    other.load_state_dict({key: value.clone() for key, value in model.state_dict().items()})
    demand(
        torch.equal(
            case.logits(other, inputs, "with loaded weights"), case.logits(model, inputs, "with its own")
        ),
        f"{case.name} gives other logits once its weights are stored and loaded: some state is not in state_dict.",
    )


def _check_prepare(case: _Case) -> None:
    fresh = case.prepared()
    with tempfile.TemporaryDirectory() as folder:
        for when in ("with an empty cache", "from the cache"):
            stored = case.prepared(cache=DiskCache(folder))
            demand(stored.keys() == fresh.keys(), f"{case.name}.prepare gives other inputs {when}.")
            for key, value in fresh.items():
                same = stored[key].shape == value.shape and torch.allclose(
                    _dense(stored[key]).double(), _dense(value).double()
                )
                demand(same, f"{case.name}.prepare gives another '{key}' {when}.")


def _check_estimate(case: _Case) -> None:
    small, large = (case.model.estimate_bytes(random_graph(size), case.settings) for size in (50, 500))
    demand(
        isinstance(small, int) and small >= 0,
        f"{case.name}.estimate_bytes gives {small!r}, not a whole number.",
    )
    demand(
        large > small or large == small == 0,
        f"{case.name}.estimate_bytes gives {large} bytes for 500 nodes and {small} for 50; 0 means no concern.",
    )


def _dense(value: Tensor) -> Tensor:
    return value if value.layout == torch.strided else value.to_dense()
