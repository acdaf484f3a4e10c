"""`check_model` lets right models pass and says what is wrong with wrong ones."""

import itertools
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ansgt.graph import Graph
from ansgt.linalg import gcn_norm, to_torch
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout
from ansgt.settings import ModelSettings, Rate
from ansgt.storage import DiskCache
from ansgt.testing import check_model


class Smooth(NodeModel):
    """Logits X W, averaged over neighbours: right."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        dropout: Rate = 0.5

    def __init__(
        self, in_channels: int, out_channels: int, settings: Any = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        self.lin = FeatureLinear(in_channels, out_channels)
        self.dropout = settings.dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        return {"x": graph.x, "adj": to_torch(gcn_norm(graph))}

    def forward(self, inputs: Inputs) -> Any:
        x = feature_dropout(inputs["x"], self.dropout, self.training, self.num_kept)
        return inputs["adj"] @ self.lin(x)


class Transposed(Smooth):
    def forward(self, inputs: Inputs) -> Any:
        return super().forward(inputs).T


class DividesByDegree(Smooth):
    """Not finite where a node has no neighbour."""

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        return {**super().prepare(graph, cache, settings), "degree": torch.from_numpy(graph.degree)}

    def forward(self, inputs: Inputs) -> Any:
        return super().forward(inputs) / inputs["degree"][:, None]


class WithoutNumKept(Smooth):
    def __init__(self, in_channels: int, out_channels: int, settings: Any = None) -> None:
        super().__init__(in_channels, out_channels)


class ForgetsNumKept(Smooth):
    def __init__(
        self, in_channels: int, out_channels: int, settings: Any = Smooth.Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(in_channels, out_channels, settings)


class Moody(Smooth):
    """Draws from a generator of its own, also in evaluation mode."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.generator = torch.Generator()

    def forward(self, inputs: Inputs) -> Any:
        logits = super().forward(inputs)
        return logits + torch.rand(logits.shape, generator=self.generator)


class CountsCalls(Smooth):
    """In training mode it depends on how many models were built before."""

    built = itertools.count()

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.number = next(self.built)

    def forward(self, inputs: Inputs) -> Any:
        return super().forward(inputs) + self.number * self.training


class SameFromEverySeed(Smooth):
    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        nn.init.constant_(self.lin.weight, 0.1)
        nn.init.constant_(self.lin.bias, 0.1)


class ChangesItsInput(Smooth):
    def forward(self, inputs: Inputs) -> Any:
        if inputs["x"].layout == torch.strided:
            inputs["x"].mul_(0.5)
        return super().forward(inputs)

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        return {**super().prepare(graph, cache, settings), "x": graph.x.clone()}


class ChangesTheGraph(Smooth):
    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        graph.x.div_(2.0)
        return super().prepare(graph, cache, settings)


class UnusedLayer(Smooth):
    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.unused = nn.Linear(2, 2)


class Doubled(torch.autograd.Function):
    """x, with a gradient that is twice too large."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return 2 * gradient


class WrongGradient(Smooth):
    def forward(self, inputs: Inputs) -> Any:
        return Doubled.apply(super().forward(inputs))


class DenseOnly(Smooth):
    def forward(self, inputs: Inputs) -> Any:
        if inputs["x"].layout != torch.strided:
            raise TypeError("dense features, please")
        return super().forward(inputs)


class OtherOnSparse(Smooth):
    def forward(self, inputs: Inputs) -> Any:
        return super().forward(inputs) * (1 if inputs["x"].layout == torch.strided else 2)


class HiddenState(Smooth):
    """Random numbers of the constructor that no state_dict holds."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.shift = torch.rand(1)

    def forward(self, inputs: Inputs) -> Any:
        return super().forward(inputs) + torch.cat([self.shift, torch.zeros(self.lin.weight.shape[0] - 1)])


class HalfOfTheParameters(Smooth):
    def param_groups(self, lr: float, weight_decay: float) -> Any:
        return [{"params": [self.lin.weight], "lr": lr, "weight_decay": weight_decay}]


class MoodyPrepare(Smooth):
    calls = itertools.count()

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        return {**super().prepare(graph, cache, settings), "noise": torch.tensor([float(next(cls.calls))])}


class OtherFromTheCache(Smooth):
    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        inputs = super().prepare(graph, cache, settings)
        return inputs if cache.directory is None else {**inputs, "extra": graph.x}


class ShrinkingEstimate(Smooth):
    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Any) -> int:
        return 10_000 - graph.num_nodes


class NoFeatures(Smooth):
    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Any) -> Inputs:
        return {"adj": to_torch(gcn_norm(graph))}


def test_a_right_model_passes_and_leaves_the_global_generator_alone() -> None:
    state = torch.get_rng_state()
    check_model(Smooth)
    check_model(Smooth, Smooth.Settings(dropout=0.0))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Transposed, r"Transposed gives logits of shape \(3, 24\) in place of \(24, 3\)"),
        (DividesByDegree, "logits that are not finite on a graph with isolated nodes"),
        (
            WithoutNumKept,
            r"cannot be built as WithoutNumKept\(in_channels, out_channels, settings, \*, num_kept=0\)",
        ),
        (ForgetsNumKept, "does not keep num_kept"),
        (Moody, "other logits at a second call in evaluation mode"),
        (CountsCalls, "other logits from the same seed in training mode"),
        (SameFromEverySeed, "the same weights from every seed"),
        (ChangesItsInput, "changes its input 'x'"),
        (ChangesTheGraph, "ChangesTheGraph.prepare changes the graph's features"),
        (UnusedLayer, r"no gradient reaches unused\.weight"),
        (WrongGradient, "the gradients say that the loss changes by"),
        (DenseOnly, "DenseOnly fails on sparse features: TypeError: dense features, please"),
        (OtherOnSparse, "other logits for sparse features"),
        (HiddenState, "some state is not in state_dict"),
        (HalfOfTheParameters, "param_groups do not hold every parameter once"),
        (MoodyPrepare, "prepare gives another 'noise' with an empty cache"),
        (OtherFromTheCache, "prepare gives other inputs with an empty cache"),
        (ShrinkingEstimate, "gives 9500 bytes for 500 nodes and 9950 for 50"),
        (NoFeatures, "prepare gives no 'x'"),
        (nn.Linear, "is not a subclass of NodeModel"),
    ],
)
def test_a_wrong_model_is_caught(model: type, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_model(model)
