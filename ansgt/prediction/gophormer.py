"""A trained Gophormer: ego-graphs drawn for the nodes in question, and a vote over them."""

import copy
from typing import Self, cast

import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.device import working_dtype
from ansgt.errors import InputError
from ansgt.features import num_appended, prepare_features
from ansgt.graph import Graph
from ansgt.models.baselines.gophormer import EgoSampler, Gophormer, GophormerSettings, Reach
from ansgt.pipeline import INFERENCE_ROUND
from ansgt.prediction import TrainedModel
from ansgt.prediction.inference import Execution, FreshInference, moments, weakly
from ansgt.sampling import SampledNodes
from ansgt.sequences import Proximity, SequenceBatch, SequenceBuilder, SequenceLayout
from ansgt.settings import fitted
from ansgt.storage import DiskCache

PORTION = 4_096
"""Nodes whose ego-graphs are held at a time when many are predicted."""


class EgoGraphs:
    """Ego-graphs of any nodes as sequences: what `SequencePipeline` is to ANS-GT.

    Args:
        graph: the graph, features as the model shall see them.
        settings: of Gophormer.
        seed: of all draws.
        device: where the tables lie.
    """

    def __init__(self, graph: Graph, settings: GophormerSettings, seed: int, device: torch.device) -> None:
        self.settings, self.device = settings, device
        self.samplers = {
            count: EgoSampler(
                graph,
                Reach(settings.fanout, settings.depth),
                num_sequences=count,
                seed=seed,
                max_nodes=settings.max_nodes,
            )
            for count in {settings.num_samples, settings.num_votes}
        }
        layout = SequenceLayout(
            self.samplers[settings.num_samples].num_sampled, num_global=settings.num_global
        )
        one = settings.num_layers == 1
        proximity = Proximity(settings.num_proximity, dtype=working_dtype(device), centre_only=one)
        proximity.fit(graph, device=device)
        self._sequences = SequenceBuilder(graph, layout, proximity)

    def tables(self) -> SequenceBuilder:
        """Tables of one's own for drawn ego-graphs; features and proximities are shared."""
        return copy.copy(self._sequences)

    def draw(self, tables: SequenceBuilder, nodes: Tensor, round: int) -> None:
        """Draws ego-graphs of `nodes` into the tables; `num_votes` of them for prediction, else `num_samples`."""
        settings = self.settings
        count = settings.num_votes if round == INFERENCE_ROUND else settings.num_samples
        tables.resample(cast(SampledNodes, self.samplers[count].draw(nodes, round)), round)


class TrainedGophormer(TrainedModel):
    """Mean class probabilities over `num_votes` ego-graphs, the same ones at every call.

    Args:
        graph: the graph it predicts on.
        settings: of Gophormer.
        egos: gives ego-graphs of any nodes.
        model: the transformer, on its final device.
    """

    draws = True

    def __init__(self, graph: Graph, settings: GophormerSettings, egos: EgoGraphs, model: Gophormer) -> None:
        super().__init__(graph)
        self.settings, self.egos, self.model = settings, egos, model
        self.inference = FreshInference(
            model,
            egos.tables,
            weakly(self._draw),
            portion=PORTION,
            num_sequences=settings.num_votes,
            execution=self.execution,
        )

    @classmethod
    def build(
        cls, config: RunConfig, graph: Graph, seed: int, cache: DiskCache, asked: int | None = None
    ) -> Self:
        """A model with fresh weights from the global generators; the cache is not used: a draw is cheaper than a file."""
        settings = fitted(GophormerSettings, config.settings, "model")
        device = torch.device(config.device)
        if config.data.link_features != "none":
            raise InputError("Model 'gophormer' does not read links: data.link_features must be none.")
        x = prepare_features(graph.x, config.data, device)
        graph = graph.with_features(x)
        egos = EgoGraphs(graph, settings, seed, device)
        model = Gophormer(x.shape[1], graph.num_classes, settings, num_kept=num_appended(config.data))
        return cls(graph, settings, egos, model.to(device))

    @property
    def execution(self) -> Execution:
        return Execution.on(self.egos.device, captured=self.settings.captured)

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def _predict(self, nodes: Tensor) -> Tensor:
        return self.inference(nodes)

    def moments(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        return moments(self.model, self.sequences, nodes.to(self.egos.device), self.execution)

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        self.model.load_state_dict(weights)

    def sequences(self, nodes: Tensor) -> SequenceBatch:
        """The ego-graphs that the prediction of some nodes reads, node after node."""
        tables = self.egos.tables()
        self._draw(tables, nodes)
        return tables.batch(nodes)

    def _draw(self, tables: SequenceBuilder, nodes: Tensor) -> None:
        self.egos.draw(tables, nodes, INFERENCE_ROUND)
