"""Gophormer under training: fresh ego-graphs every epoch, and consistency regularisation."""

from typing import Any

from torch import Tensor

from ansgt.config import RunConfig
from ansgt.device import half_precision
from ansgt.graph import Graph, Split
from ansgt.models.ansgt import ANSGT
from ansgt.models.baselines.gophormer import GophormerSettings, consistency_loss
from ansgt.prediction.gophormer import TrainedGophormer
from ansgt.prediction.inference import Build
from ansgt.storage import DiskCache
from ansgt.training import State, class_weights
from ansgt.training.optim import ScheduledAdamW, scheduled_adamw
from ansgt.training.steps import CapturedStep, TrainStep, sequence_loss, train_epoch


class ConsistentStep(TrainStep):
    """Cross entropy plus the weighted distance between a centre's predictions."""

    def __init__(
        self,
        model: ANSGT,
        optimizer: ScheduledAdamW,
        build: Build,
        settings: GophormerSettings,
        amp: bool,
        class_weight: Tensor | None = None,
    ) -> None:
        super().__init__(model, optimizer, build, amp=amp, class_weight=class_weight)
        self.settings = settings

    def loss(self, centres: Tensor) -> Tensor:
        batch = self.build(centres.clamp(min=0))
        with half_precision(centres.device, self.amp):
            logits = self.model(batch)
        known = (centres >= 0).float()
        apart = consistency_loss(logits, self.settings.num_samples, self.settings.temperature, known)
        loss = sequence_loss(logits, batch.target, known, class_weight=self.class_weight)
        return loss + self.settings.consistency_weight * apart


class GophormerLearner:
    """Gophormer on one split; only `split.train` enters the loss.

    Args:
        config: of the run; its `settings` are those of `GophormerSettings`.
        graph: the graph.
        split: which centres are trained on.
        seed: of the ego-graphs.
        cache: not used; a draw is cheaper than a file.
    """

    def __init__(self, config: RunConfig, graph: Graph, split: Split, seed: int, cache: DiskCache) -> None:
        self.trained = trained = TrainedGophormer.build(config, graph, seed, cache)
        self.settings, execution = trained.settings, trained.execution
        self.tables = trained.egos.tables()
        self.optimizer = scheduled_adamw(config, trained.model, len(split.train), self.settings.batch_size)
        step = ConsistentStep(
            trained.model,
            self.optimizer,
            self.tables.batch,
            self.settings,
            amp=execution.amp,
            class_weight=class_weights(config, graph, split),
        )
        self.step: TrainStep | CapturedStep = CapturedStep(step) if execution.captured else step
        self.train_nodes = split.train.to(trained.egos.device)

    def train_epoch(self, epoch: int) -> float:
        self.trained.egos.draw(self.tables, self.train_nodes, epoch)
        return float(train_epoch(self.step, self.train_nodes, self.settings.batch_size))

    def state_dict(self) -> State:
        return {"weights": self.trained.weights(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self.trained.load_weights(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])

    def release(self) -> None:
        del self.optimizer

    def history(self) -> list[dict[str, Any]]:
        return []

    def standing(self, kept: int) -> dict[str, Any]:
        return {}
