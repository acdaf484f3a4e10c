"""Full-batch training: one optimizer step on the whole graph per epoch."""

from typing import Any

import torch
from torch import nn

from ansgt.config import RunConfig
from ansgt.graph import Graph, Split
from ansgt.links import drop_links
from ansgt.models.base import NodeModel
from ansgt.prediction.full_batch import TrainedFullBatch
from ansgt.storage import DiskCache
from ansgt.training import State, class_weights


class FullBatchLearner:
    """Trains a `NodeModel`; only `split.train` enters the loss.

    Args:
        config: of the run.
        graph: the graph, features as published.
        split: which nodes are trained on.
        seed: not used: nothing is drawn.
        cache: for what the model precomputes.
    """

    def __init__(self, config: RunConfig, graph: Graph, split: Split, seed: int, cache: DiskCache) -> None:
        self.trained = TrainedFullBatch.build(config, graph, seed, cache)
        self.optimizer = _optimizer(config, self.trained.model)
        self.scheduler = _scheduler(config, self.optimizer)
        device = torch.device(config.device)
        self.train_nodes = split.train.to(device)
        self.train_labels = graph.y[split.train].to(device)
        self.class_weight = class_weights(config, graph, split)
        self.clip_norm, self.link_dropout = config.optim.clip_norm, config.data.link_dropout

    def train_epoch(self, epoch: int) -> float:
        model = self.trained.model
        model.train()
        self.optimizer.zero_grad(set_to_none=True)
        inputs, num_links = self.trained.inputs, self.trained.num_links
        logits = model({**inputs, "x": drop_links(inputs["x"], num_links, self.link_dropout)})[
            self.train_nodes
        ]
        loss = nn.functional.cross_entropy(logits, self.train_labels, self.class_weight)
        loss.backward()
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), self.clip_norm)
        self.optimizer.step()
        self.scheduler.step()
        return float(loss.detach())

    def state_dict(self) -> State:
        return {
            "model": self.trained.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        self.trained.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])

    def release(self) -> None:
        del self.optimizer

    def history(self) -> list[dict[str, Any]]:
        return []

    def standing(self, kept: int) -> dict[str, Any]:
        return {}


def _optimizer(config: RunConfig, model: NodeModel) -> torch.optim.Optimizer:
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optim.name]
    groups = list(model.param_groups(config.optim.lr, config.optim.weight_decay))
    optimizer: torch.optim.Optimizer = kind(
        groups, lr=config.optim.lr, betas=(config.optim.beta1, config.optim.beta2), eps=config.optim.eps
    )
    return optimizer


def _scheduler(config: RunConfig, optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler:
    """Linear warm-up, then constant or a linear decay to `end_lr` at the last epoch (section 6.1)."""
    warmup, epochs, peak = config.optim.warmup_epochs, config.train.epochs, config.optim.lr
    end = peak if config.optim.end_lr is None else config.optim.end_lr

    def factor(epoch: int) -> float:
        if epoch < warmup:
            return (epoch + 1) / warmup
        progress = min(1.0, (epoch - warmup) / max(epochs - warmup, 1))
        return 1.0 + progress * (end / peak - 1.0) if peak else 1.0

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
