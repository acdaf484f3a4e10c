"""Several models of one split that differ by their seed alone, and predict together.

On a graph of two hundred nodes the seed decides as much as most settings do. The mean probabilities of R models, each
kept at its own best validation epoch, are steadier and better than one model's ([training](../../docs/training.md)). Any
model of the package can be restarted; its harness trains the R one after another.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.graph import Graph, Split
from ansgt.storage import DiskCache
from ansgt.training.build import build_learner
from ansgt.training.learner import Learner
from ansgt.training.randomness import owned_randomness, seed_all

SEED_DISTANCE = 1_000_003


def restarted(config: RunConfig, number: int) -> RunConfig:
    """The settings of one of the R models: the first has the run's own seed, so R = 1 is the plain run."""
    return replace(config, seed=config.seed + SEED_DISTANCE * number, train=replace(config.train, restarts=1))


def named(number: int, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """A model's weights under the name they have among R models'."""
    return {f"restart-{number}.{name}": value for name, value in weights.items()}


class Restarts:
    """R trained models as one predictor. A model is built when it is needed first.

    Args:
        config: of the run; `config.train.restarts` is R.
        graph: the graph to predict on.
        split: of the run.
        cache: for what the models precompute.
    """

    def __init__(self, config: RunConfig, graph: Graph, split: Split, cache: DiskCache) -> None:
        self.configs = [restarted(config, number) for number in range(config.train.restarts)]
        self.graph, self.split, self.cache = graph, split, cache
        self._weights: dict[str, Tensor] = {}
        self._built: dict[int, Learner] = {}

    def __len__(self) -> int:
        return len(self.configs)

    def models(self) -> list[Learner]:
        """The R learners with their weights."""
        for number in range(len(self)):
            if number not in self._built:
                self._built[number] = self._build(number)
        return [self._built[number] for number in range(len(self))]

    def predict_proba(self, nodes: Tensor) -> Tensor:
        """Mean class probabilities of the R models [len(nodes), C], each from the generators that end its training."""
        parts = []
        for config, learner in zip(self.configs, self.models(), strict=True):
            with owned_randomness(config.device):
                seed_all(config.seed, self.split.index, -2)
                parts.append(learner.predict_proba(nodes))
        return torch.stack(parts).mean(dim=0)

    def weights(self) -> dict[str, Tensor]:
        return dict(self._weights)

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Weights of all R models; those that are built already take theirs at once."""
        self._weights = dict(weights)
        for number, learner in self._built.items():
            learner.load_weights(self._of(number))

    def _of(self, number: int) -> dict[str, Tensor]:
        prefix = f"restart-{number}."
        return {
            name.removeprefix(prefix): value
            for name, value in self._weights.items()
            if name.startswith(prefix)
        }

    def _build(self, number: int) -> Learner:
        config = self.configs[number]
        with owned_randomness(config.device):
            seed_all(config.seed, self.split.index, -1)
            learner = build_learner(config, self.graph, self.split, self.cache)
        learner.load_weights(self._of(number))
        return learner
