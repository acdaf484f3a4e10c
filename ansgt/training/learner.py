"""`Learner`: all that the harness knows of a model under training, and the one for full-batch models.

The harness (`fit.py`) asks for an epoch, for probabilities, and for state; it never sees which model it trains.
"""

from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.models import resolve_model
from ansgt.models.base import NodeModel
from ansgt.storage import DiskCache
from ansgt.training.features import keep_appended, prepare_features

State = dict[str, Any]
"""Nested dicts of tensors and plain values; `checkpoint.py` stores it without pickle."""


class Predictor(Protocol):
    """What is left of training: it predicts, and its weights can be stored and moved."""

    def predict_proba(self, nodes: Tensor) -> Tensor:
        """Class probabilities of the given nodes [len(nodes), C], float32 on the CPU, in evaluation mode."""

    def weights(self) -> dict[str, Tensor]:
        """What prediction needs, as flat named tensors: the content of a best-validation checkpoint."""

    def load_weights(self, weights: dict[str, Tensor]) -> None: ...


class Learner(Predictor, Protocol):
    """One model on one split. All randomness of an epoch comes from the global generators, which the harness seeds
    from (seed, split, epoch) before `train_epoch`; a learner that draws on its own derives from the same numbers."""

    num_parameters: int

    def train_epoch(self, epoch: int) -> dict[str, float]:
        """One pass over the training part; returns at least {"loss"}."""

    def state_dict(self) -> State:
        """Everything that an exact resumption needs (weights included)."""

    def load_state_dict(self, state: State) -> None: ...

    def status(self) -> dict[str, float]:
        """Named numbers for the progress bar and for TensorBoard; {} when there is nothing to add."""

    def history(self) -> list[dict[str, Any]]:
        """What else the record should keep, a row an event (the bandit's weights); [] when there is nothing."""


class FullBatchLearner:
    """Trains a `NodeModel`: one optimizer step on the whole graph an epoch.

    Args:
        config: settings of the run.
        graph: the graph, features as published.
        split: whose `train` part alone enters the loss.
        cache: for what the model precomputes.
    """

    def __init__(self, config: RunConfig, graph: Graph, split: Split, cache: DiskCache) -> None:
        self.device = torch.device(config.device)
        model_class: type[NodeModel] = resolve_model(config.model)
        check_memory(config.model, model_class.estimate_bytes(graph, **config.settings), self.device)
        inputs = model_class.prepare(graph, cache, **config.settings)
        inputs["x"] = prepare_features(inputs["x"], config.data, self.device)
        self.inputs = {name: value.to(self.device) for name, value in inputs.items()}
        settings = {**config.settings, **model_class.graph_settings(graph)}
        self.model = model_class(inputs["x"].shape[1], graph.num_classes, **settings).to(self.device)
        keep_appended(self.model, config.data)
        self.optimizer = _optimizer(config, self.model)
        self.scheduler = _scheduler(config, self.optimizer)
        self.train_nodes = split.train.to(self.device)
        self.train_labels = graph.y[split.train].to(self.device)
        self.clip_norm = config.optim.clip_norm

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    def train_epoch(self, epoch: int) -> dict[str, float]:
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.model(self.inputs)[self.train_nodes]
        loss = nn.functional.cross_entropy(logits, self.train_labels)
        loss.backward()
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        self.scheduler.step()
        return {"loss": float(loss.detach())}

    @torch.no_grad()
    def predict_proba(self, nodes: Tensor) -> Tensor:
        self.model.eval()
        logits = self.model(self.inputs)[nodes.to(self.device)]
        return logits.float().softmax(dim=-1).cpu()

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        self.model.load_state_dict(weights)

    def state_dict(self) -> State:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])

    def status(self) -> dict[str, float]:
        return {}

    def history(self) -> list[dict[str, Any]]:
        return []


def check_memory(model: str, needed: int, device: torch.device) -> None:
    """Stops before the run when a model's own estimate does not fit, instead of running out of memory in it."""
    available = available_bytes(device)
    if needed > available:
        raise InputError(
            f"Model '{model}' needs about {needed / 2**30:.1f} GiB on this graph, "
            f"but {device} has {available / 2**30:.1f} GiB free."
        )


def available_bytes(device: torch.device) -> int:
    """Free memory of a CUDA device, or what Linux calls available (elsewhere: unlimited)."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 2**63


def _optimizer(config: RunConfig, model: NodeModel) -> torch.optim.Optimizer:
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optim.name]
    groups = list(model.param_groups(config.optim.lr, config.optim.weight_decay))
    return kind(
        groups, lr=config.optim.lr, betas=(config.optim.beta1, config.optim.beta2), eps=config.optim.eps
    )


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
