"""Algorithm 1 of the paper: train the transformer, and every T epochs let its attention say which heuristic to trust.

This is the only place where attention flows back to the bandit, as plain tensors.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.graph import Graph, Split
from ansgt.models.ansgt import ANSGT
from ansgt.sampling import Exp4P, reward
from ansgt.sequences import SequenceBuilder
from ansgt.storage import DiskCache
from ansgt.training.average import WeightAverage
from ansgt.training.features import keep_appended, prepare_features
from ansgt.training.inference import FreshPredictor, Significance
from ansgt.training.learner import State
from ansgt.training.optim import scheduled_adamw
from ansgt.training.settings import SECTION_6_1, AdaptiveSettings
from ansgt.training.source import INFERENCE_ROUND, SequenceSource, use_amp
from ansgt.training.steps import CapturedStep, TrainStep, train_epoch

PORTION = 16_384
"""Nodes whose sequences are held at a time when many are predicted."""


class AdaptiveLearner:
    """ANS-GT on one split. Only `split.train` enters the loss, the reward and the bandit.

    Args:
        config: of the run; its `settings` are those of `AdaptiveSettings`.
        graph: the graph.
        split: which centres are trained on.
        cache: for what is computed once per graph.
    """

    Settings = AdaptiveSettings
    section_defaults = SECTION_6_1

    def __init__(self, config: RunConfig, graph: Graph, split: Split, cache: DiskCache) -> None:
        self.settings = AdaptiveSettings(**config.settings).check(graph)
        self.device = torch.device(config.device)
        seen = plain = prepare_features(graph.x, config.data, self.device)
        if config.data.size_columns:  # heuristics must not see them: they would decide who is similar
            plain = prepare_features(graph.x, replace(config.data, size_columns=False), self.device)
        self.graph = graph.with_features(plain)
        seed = config.seed * 1_000 + split.index
        self.source = SequenceSource(self.graph, self.settings, seed, self.device, cache, seen)
        self.bandit = Exp4P(
            self.source.num_arms,
            p_min=min(self.settings.p_min, 1 / self.source.num_arms),
            rule=self.settings.bandit_rule,
            step=self.settings.bandit_step,
            num_sampled=self.settings.num_sampled,
            update_period=self.settings.update_period,
        )
        self.p = _initial(self.settings, self.bandit)
        model = ANSGT.from_settings(seen.shape[1], graph.num_classes, self.settings)
        keep_appended(model, config.data)
        self.model = model.to(self.device)
        self.average = _average(self.settings, self.model, len(split.train))
        self.train_nodes = split.train.to(self.device)
        # a batch is filled up to its size with centres that count for nothing, so it is no larger than it must be
        self.batch_size = min(self.settings.batch_size, len(split.train))
        self.optimizer = scheduled_adamw(config, self.model, len(split.train), self.batch_size)
        self.round = 0
        self.rows: list[dict[str, Any]] = []
        self._wire()
        self._resample()

    def train_epoch(self, epoch: int) -> dict[str, float]:
        """One turn of Algorithm 1's loop (lines 4-11)."""
        loss = train_epoch(self.step, self.train_nodes, self.batch_size)
        redraw = self.settings.redraw_every
        if (epoch + 1) % self.settings.update_period == 0:
            if self.settings.sampling == "adaptive":
                self._update(epoch)
            self._resample()
        elif redraw is not None and (epoch + 1) % redraw == 0:
            self._resample()
        return {"loss": float(loss)}

    def _update(self, epoch: int) -> None:
        """Significance of the training centres' nodes -> reward -> weights (lines 6, 9, 10); labels play no part."""
        s = self.significance(self.train_nodes)
        counted = self.settings.multiplicity_bias
        r = reward(self.sampled, s, self.settings.reward, counted).mean()
        self.bandit.update(r)
        self.p = self.bandit.probabilities()
        self.rows.append(
            {
                "epoch": epoch,
                "round": self.round,
                "heuristics": self.settings.active_heuristics,
                "rewards": r.tolist(),
                "weights": self.bandit.weights().tolist(),
                "probabilities": self.p.tolist(),
            }
        )

    def _resample(self) -> None:
        """psi from p, N nodes for each of S sequences (lines 7, 8), for the training centres."""
        self.round += 1
        self.sampled = self.source.fill(self.train_builder, self.train_nodes, self.p, self.round)

    def predict_proba(self, nodes: Tensor) -> Tensor:
        """Class probabilities averaged over S fresh sequences (section 5.3); they depend on weights, p and seed alone."""
        return self.predictor(nodes, drawn_with=self.p)

    def _draw_fresh(self, builder: SequenceBuilder, nodes: Tensor) -> None:
        self.source.fill(builder, nodes, self.p, INFERENCE_ROUND)

    def _wire(self) -> None:
        """Connects tables, model and optimizer into the step, eager or captured."""
        on_cuda = self.device.type == "cuda"
        self.captured = on_cuda if self.settings.captured is None else self.settings.captured
        amp = use_amp(self.settings, self.device)
        self.train_builder = self.source.builder()
        step = TrainStep(
            self.model,
            self.optimizer,
            self.train_builder.batch,
            amp=amp,
            compiled=self.settings.compiled,
            label_smoothing=self.settings.label_smoothing,
            average=self.average,
        )
        self.step: TrainStep | CapturedStep = CapturedStep(step) if self.captured else step
        self.significance = Significance(self.model, self.train_builder.batch, captured=self.captured)
        self.predictor = FreshPredictor(
            self.predicting,
            self.source.builder(),
            self._draw_fresh,
            num_classes=self.graph.num_classes,
            portion=PORTION,
            num_sequences=self.source.inference_sampler.num_sequences,
            amp=amp,
            captured=self.captured,
        )

    @property
    def predicting(self) -> ANSGT:
        """The model that predicts: the one under training or the running mean of its weights."""
        return self.model if self.average is None else self.average.model

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def weights(self) -> dict[str, Tensor]:
        named = self.predicting.state_dict().items()
        return {**{f"model.{name}": value.detach().clone() for name, value in named}, "p": self.p.clone()}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        state = {name.removeprefix("model."): value for name, value in weights.items() if name != "p"}
        for model in {self.model, self.predicting}:
            model.load_state_dict(state)
        self.p = weights["p"].clone()

    def state_dict(self) -> State:
        live = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        return {
            "weights": self.weights(),
            "live": {} if self.average is None else live,
            "optimizer": self.optimizer.state_dict(),
            "bandit": self.bandit.state_dict(),
            "round": self.round,
            "rows": self.rows,
        }

    def load_state_dict(self, state: State) -> None:
        self.load_weights(state["weights"])
        if self.average is not None:
            self.model.load_state_dict(state["live"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.bandit.load_state_dict(state["bandit"])
        self.rows = state["rows"]
        self.round = state["round"] - 1
        self._resample()  # the draw of a round is a function of (seed, round, p): nothing else is stored

    def status(self) -> dict[str, float]:
        """The probabilities of the heuristics."""
        return dict(zip(self.settings.active_heuristics, self.p.tolist(), strict=True))

    def history(self) -> list[dict[str, Any]]:
        return self.rows


def _initial(settings: AdaptiveSettings, bandit: Exp4P) -> Tensor:
    if settings.initial is None or len(settings.initial) != bandit.num_arms:
        return bandit.probabilities()
    values = torch.tensor(settings.initial, dtype=torch.float64)
    return values / values.sum()


def _average(settings: AdaptiveSettings, model: ANSGT, num_centres: int) -> WeightAverage | None:
    if settings.average_epochs <= 0:
        return None
    return WeightAverage(model, settings.average_epochs * -(-num_centres // settings.batch_size))
