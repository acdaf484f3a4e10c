"""Gophormer under training: fresh ego-graphs every epoch, consistency regularisation, a vote at inference."""

import copy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from ansgt.config import RunConfig, check_positive
from ansgt.graph import Graph, Split
from ansgt.models.baselines.gophormer import EgoSampler, Gophormer, consistency_loss
from ansgt.sampling import SampledNodes
from ansgt.sequences import SequenceBuilder, SequenceLayout
from ansgt.sequences.proximity import Proximity
from ansgt.storage import DiskCache
from ansgt.training.features import keep_appended, prepare_features
from ansgt.training.inference import FreshPredictor
from ansgt.training.learner import State
from ansgt.training.optim import scheduled_adamw
from ansgt.training.steps import CapturedStep, TrainStep, sequence_loss, train_epoch

INFERENCE_ROUND = 1 << 30
"""Ego-graphs for prediction come from a round that training never reaches."""

PORTION = 4_096
"""Nodes whose ego-graphs are held at a time when many are predicted."""


@dataclass(frozen=True)
class GophormerSettings:
    """Settings of Gophormer; the defaults are near those of its repository for Cora."""

    hidden_channels: int = 64
    num_layers: int = 2
    num_heads: int = 8
    dropout: float = 0.3
    attention_dropout: float = 0.1
    input_dropout: float = 0.5
    ffn_multiplier: float = 2.0
    batch_size: int = 128
    """Centres in a batch; each brings `num_samples` sequences."""
    fanout: int = 7
    """Neighbours drawn per node ("EgoGraph-7_2": fanout 7, depth 2)."""
    depth: int = 2
    max_nodes: int | None = None
    """Slots of a sequence; None: as many as an ego-graph can fill."""
    num_samples: int = 4
    """Ego-graphs of a training centre."""
    num_votes: int = 5
    """Ego-graphs of a predicted node; their class probabilities are averaged ("SubGVote-5")."""
    num_global: int = 2
    num_proximity: int = 6
    """Powers of the normalised adjacency in the proximity encoding."""
    consistency_weight: float = 0.5
    temperature: float = 0.5
    """Of the sharpening in the consistency regularisation."""
    captured: bool | None = None
    """Replay the step as a CUDA graph; None: on CUDA only."""


class ConsistentStep(TrainStep):
    """Cross entropy plus the weighted distance between a centre's predictions."""

    settings = GophormerSettings()

    def loss(self, centres: Tensor) -> Tensor:
        batch = self.build(centres.clamp(min=0))
        with torch.autocast(centres.device.type, torch.bfloat16, enabled=self.amp):
            logits = self.model(batch)
        known = (centres >= 0).float()
        apart = consistency_loss(logits, self.settings.num_samples, self.settings.temperature, known)
        return sequence_loss(logits, batch.target, known) + self.settings.consistency_weight * apart


class GophormerLearner:
    """Gophormer on one split; only `split.train` enters the loss.

    Args:
        config: of the run; its `settings` are those of `GophormerSettings`.
        graph: the graph.
        split: which centres are trained on.
        cache: not used; a draw is cheaper than a file.
    """

    Settings = GophormerSettings
    section_defaults: dict[str, dict[str, Any]] = {  # noqa: RUF012
        "optim": {"name": "adamw", "lr": 1e-3, "weight_decay": 0.01, "warmup_epochs": 10, "end_lr": 1e-6},
        "train": {"epochs": 200, "patience": 50},
    }

    def __init__(self, config: RunConfig, graph: Graph, split: Split, cache: DiskCache) -> None:
        self.settings = settings = GophormerSettings(**config.settings)
        check_positive("model.temperature", settings.temperature)
        self.device = torch.device(config.device)
        self.amp = self.device.type == "cuda"
        self.captured = self.amp if settings.captured is None else settings.captured
        x = prepare_features(graph.x, config.data, self.device)
        self.graph = graph.with_features(x)
        self.samplers = {
            count: EgoSampler(
                graph,
                fanout=settings.fanout,
                depth=settings.depth,
                num_sequences=count,
                seed=config.seed * 1_000 + split.index,
                max_nodes=settings.max_nodes,
            )
            for count in {settings.num_samples, settings.num_votes}
        }
        self.train_builder = self._builder()
        model = Gophormer.from_settings(x.shape[1], graph.num_classes, settings)
        keep_appended(model, config.data)
        self.model = model.to(self.device)
        self.optimizer = scheduled_adamw(config, self.model, len(split.train), settings.batch_size)
        step = ConsistentStep(self.model, self.optimizer, self.train_builder.batch, amp=self.amp)
        step.settings = settings
        self.step: TrainStep | CapturedStep = CapturedStep(step) if self.captured else step
        self.predictor = FreshPredictor(
            self.model,
            copy.copy(self.train_builder),
            self._draw_votes,
            num_classes=graph.num_classes,
            portion=PORTION,
            num_sequences=settings.num_votes,
            amp=self.amp,
            captured=self.captured,
        )
        self.train_nodes = split.train.to(self.device)

    def _builder(self) -> SequenceBuilder:
        settings = self.settings
        sampler = self.samplers[settings.num_samples]
        layout = SequenceLayout(sampler.num_sampled, num_global=settings.num_global)
        dtype = torch.bfloat16 if self.amp else torch.float32
        proximity = Proximity(settings.num_proximity, dtype=dtype).fit(self.graph, device=self.device)
        encode = "all" if self.device.type == "cuda" else "auto"
        return SequenceBuilder(self.graph, layout, proximity, encode=encode, feature_dtype=dtype)

    def _fill(self, builder: SequenceBuilder, nodes: Tensor, count: int, round: int) -> None:
        """Draws ego-graphs into the builder's tables."""
        builder.resample(cast(SampledNodes, self.samplers[count].draw(nodes, round)), round)

    def _draw_votes(self, builder: SequenceBuilder, nodes: Tensor) -> None:
        self._fill(builder, nodes, self.settings.num_votes, INFERENCE_ROUND)

    def train_epoch(self, epoch: int) -> dict[str, float]:
        self._fill(self.train_builder, self.train_nodes, self.settings.num_samples, epoch)
        loss = train_epoch(self.step, self.train_nodes, self.settings.batch_size)
        return {"loss": float(loss)}

    def predict_proba(self, nodes: Tensor) -> Tensor:
        """Mean class probabilities over `num_votes` ego-graphs, the same ones at every call."""
        return self.predictor(nodes)

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        self.model.load_state_dict(weights)

    def state_dict(self) -> State:
        return {"weights": self.weights(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self.load_weights(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])

    def status(self) -> dict[str, float]:
        return {}

    def history(self) -> list[dict[str, Any]]:
        return []
