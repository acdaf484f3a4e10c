"""A trained ANS-GT: every switch it has, the pipeline to its sequences, the transformer, the heuristics' probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.features import compared_features, num_appended, prepare_features, prepared_like, row_by_row
from ansgt.graph import Graph
from ansgt.heuristics import heuristic_names, rows_are_stored
from ansgt.links import link_columns
from ansgt.models.ansgt import ANSGT, ANSGTSettings, LinkColumns
from ansgt.pipeline import INFERENCE_ROUND, SequencePipeline
from ansgt.planner import Load, plan_sequences
from ansgt.prediction import TrainedModel
from ansgt.prediction.focus import Attention, attentions_of
from ansgt.prediction.grown import grown_pipeline
from ansgt.prediction.inference import Execution, FreshInference, moments, weakly
from ansgt.sequences import SequenceBatch, SequenceBuilder, SequenceSettings
from ansgt.settings import (
    Count,
    DataSettings,
    Fraction,
    ModelSettings,
    NonNegative,
    Range,
    Rate,
    Size,
    Space,
    Span,
    fitted,
)
from ansgt.storage import DiskCache

if TYPE_CHECKING:
    from ansgt.datasets.growth import Growth

PROBABILITIES = "p"
"""Name of the heuristics' probabilities among the weights; those of the transformer begin with `PREFIX`."""
PREFIX = "model."
SECTION_6_1: dict[str, dict[str, Any]] = {
    "optim": {
        "name": "adamw",
        "lr": 2e-4,
        "weight_decay": 0.01,
        "beta1": 0.99,
        "warmup_epochs": 100,
        "end_lr": 1e-9,
        "clip_norm": 5.0,
    },
    "train": {"epochs": 1000, "patience": None},
    "data": {"normalize_features": "none"},
}
"""AdamW (0.99, 0.999), eps 1e-8, peak 2e-4, 100 epochs of warm-up, linear decay to 1e-9, 1,000 epochs."""


@dataclass(frozen=True)
class AdaptiveSettings(ANSGTSettings, SequenceSettings, ModelSettings):
    """Settings of ANS-GT; names as in the docs' notation table, defaults as in section 6.1 where it prints one."""

    sections: ClassVar[Mapping[str, Mapping[str, Any]]] = SECTION_6_1

    space: ClassVar[Space] = {
        "optim.lr": Span(2e-4, 5e-3, log=True),
        "optim.weight_decay": Span(1e-2, 10.0, log=True),
        "data.normalize_features": ("row", "scaled", "none"),
        "data.link_features": ("none", "links"),
        "hidden_channels": (64, 128, 256),
        "num_layers": (1, 2),
        "num_sampled": (5, 10, 20),
        "num_supernodes": (0, 3),
        "batch_size": (32, 128),
        "dropout": Span(0.0, 0.8),
        "input_dropout": Span(0.0, 0.9),
        "attention_dropout": Span(0.0, 0.5),
        "label_smoothing": (0.0, 0.1),
        "multiplicity_bias": (False, True),
        "bandit_step": Span(1.0, 16.0, log=True),
        "average_epochs": (0.0, 3.0, 10.0),
    }

    label_smoothing: Rate = 0.0
    """Share of a training label's weight that is spread over all classes."""
    batch_size: Count = 32
    """Centres in a batch; each brings S sequences."""
    initial: list[Annotated[float, Range(0, 1e9)]] | None = None
    """Probabilities of the heuristics at the start; None: equal (Algorithm 1, line 1)."""
    reward: Literal["unbiased", "paper"] = "unbiased"
    """How a heuristic's reward is estimated from the drawn nodes; paper: as printed, which is biased without replacement."""
    bandit_rule: Literal["step", "paper"] = "step"
    """Update of the heuristics' weights; paper: as printed in Algorithm 1, which moves them by under 1 % in ten updates."""
    bandit_step: NonNegative = 8.0
    """What the log-weight of a heuristic gains on one without a reward, were the whole reward its own."""
    p_min: Fraction = 0.01
    """No heuristic's probability falls below this."""
    update_period: Count = 100
    """T, epochs between two updates of the bandit."""
    redraw_every: Count | None = None
    """Epochs between two redraws of the training sequences with unchanged weights; None: only at updates."""
    pilot_epochs: Size = 0
    """Epochs that are trained first, with an update of the bandit after each, and then forgotten but for the bandit: the
    probabilities have moved before the model that is kept sees its first sequence. Adaptive sampling only."""
    average_epochs: NonNegative = 0.0
    """Time constant of the running mean of the weights that predicts in their place; 0: the weights themselves."""
    captured: bool | None = None
    """Replay the step as a CUDA graph; None: on CUDA only."""
    compiled: bool = False
    """Run batch building, model and loss of a training step through torch.compile (20 to 30 s at the start)."""

    @property
    def centre_only(self) -> bool:
        """The last layer computes the centre alone: with one layer no other row of the proximities is read."""
        return self.num_layers == 1

    def check(self, graph: Graph) -> "AdaptiveSettings":
        """Raises `InputError` for what cannot work on this graph, naming the setting and its value."""
        super().check(graph)
        if self.initial is not None and len(self.initial) != len(self.heuristics):
            raise InputError(
                f"Setting model.initial has {len(self.initial)} values for {len(self.heuristics)} heuristics."
            )
        if self.initial is not None and not any(self.initial):
            raise InputError("Setting model.initial must give one heuristic at least more than 0.")
        return self

    def load(self, num_centres: int, asked: int | None = None) -> Load:
        """How much work a training on so many centres is, or a prediction of `asked` nodes."""
        redrawn = self.redraw_every == 1 or self.update_period == 1
        return Load(num_centres, self.batch_size, self.hidden_channels, self.num_layers, redrawn, asked)

    def execution(self, device: torch.device) -> Execution:
        """How steps and chunks run on a device."""
        return Execution.on(device, self.amp, self.captured, self.compiled)


class TrainedANSGT(TrainedModel):
    """Predicts from fresh sequences, drawn with the probabilities that training ended with (section 5.3).

    Args:
        graph: the graph it predicts on.
        settings: of the model and its sequences.
        pipeline: gives sequences of any nodes.
        model: the transformer, on the pipeline's device.
        p: probabilities of the heuristics [K], float64.
        data: how features are prepared, where that is known.
    """

    draws = True

    def __init__(
        self,
        graph: Graph,
        settings: AdaptiveSettings,
        pipeline: SequencePipeline,
        model: ANSGT,
        p: Tensor,
        data: DataSettings | None = None,
    ) -> None:
        super().__init__(graph)
        self.settings, self.pipeline, self.model, self.p, self.data = settings, pipeline, model, p, data
        self.inference = FreshInference(
            model,
            pipeline.tables,
            weakly(self._draw),
            portion=pipeline.plan.portion,
            kept=pipeline.plan.kept,
            num_sequences=pipeline.inference_sampler.num_sequences,
            execution=settings.execution(pipeline.device),
        )

    @classmethod
    def build(
        cls,
        config: RunConfig,
        graph: Graph,
        seed: int,
        cache: DiskCache,
        num_centres: int = 0,
        asked: int | None = None,
    ) -> Self:
        """A model with fresh weights from the global generators, and sequences drawn from `seed`.

        Args:
            num_centres: how many centres it will be trained on.
            asked: how many nodes it will predict, where that is known.
        """
        settings = fitted(AdaptiveSettings, config.settings, "model").check(graph)
        device = torch.device(config.device)
        seen = plain = prepare_features(graph.x, config.data, device)
        if config.data.size_columns:
            plain = compared_features(graph.x, config.data, device)
        links = link_columns(graph, config.data)
        graph = replace(graph.with_features(plain), links=links)
        stored = rows_are_stored(settings, graph, cache)
        load = settings.load(num_centres, asked)
        plan = plan_sequences(graph.with_features(seen), settings, device, load, stored)
        pipeline = SequencePipeline(graph, settings, seed, device, cache, seen, plan)
        columns = None if links is None else LinkColumns(links.shape[1], config.data.link_dropout)
        model = ANSGT(
            seen.shape[1], graph.num_classes, settings, num_kept=num_appended(config.data), links=columns
        )
        number = len(pipeline.heuristics)
        equal = torch.full((number,), 1 / number, dtype=torch.float64)
        return cls(graph, settings, pipeline, model.to(device), equal, config.data)

    def grown(self, growth: "Growth") -> "TrainedANSGT | None":
        if self.data is None or self.graph.links is not None or not row_by_row(self.data):
            return None
        layout = self.pipeline.sequences.x.layout
        seen = prepared_like(growth.x, self.data, layout)
        x = prepared_like(growth.x, replace(self.data, size_columns=False), layout)
        pipeline = grown_pipeline(self.pipeline, growth.graph, x, seen)
        if pipeline is None:
            return None
        return TrainedANSGT(growth.graph, self.settings, pipeline, self.model, self.p, self.data)

    @property
    def device(self) -> torch.device:
        return self.pipeline.device

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def _predict(self, nodes: Tensor) -> Tensor:
        """Class probabilities averaged over fresh sequences; they depend on weights, p and seed alone."""
        return self.inference(nodes, drawn_with=self.p)

    def moments(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        return moments(
            self.model, self.sequences, nodes.to(self.device), self.settings.execution(self.device)
        )

    def weights(self) -> dict[str, Tensor]:
        named = self.model.state_dict().items()
        return {
            **{PREFIX + name: value.detach().clone() for name, value in named},
            PROBABILITIES: self.p.clone(),
        }

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        state = {name.removeprefix(PREFIX): v for name, v in weights.items() if name != PROBABILITIES}
        self.model.load_state_dict(state)
        self.p = weights[PROBABILITIES].clone()

    def heuristic_probabilities(self) -> dict[str, float]:
        names = heuristic_names(self.pipeline.heuristics)
        return dict(zip(names, self.p.tolist(), strict=True))

    def super_nodes(self) -> np.ndarray | None:
        coarse = self.pipeline.coarse
        return None if coarse is None else coarse.assignment

    def attentions(self, nodes: Tensor) -> list[list[Attention]]:
        return [[one] for one in attentions_of(self.model, self.pipeline, self.p, nodes)]

    def sequences(self, nodes: Tensor) -> SequenceBatch:
        """The sequences that the prediction of some nodes reads, node after node."""
        return self.pipeline.draw(nodes, self.p, INFERENCE_ROUND).sequences.batch(nodes)

    def _draw(self, tables: SequenceBuilder, nodes: Tensor) -> None:
        self.pipeline.draw(nodes, self.p, INFERENCE_ROUND, into=tables)
