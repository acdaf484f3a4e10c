"""Which epoch is kept: the best on the validation part, and nothing else."""

from dataclasses import dataclass, field

from torch import Tensor

from ansgt.config import TrainConfig
from ansgt.training.learner import Learner


@dataclass
class Selection:
    """The best validation epoch so far, and whether to go on."""

    best_epoch: int = -1
    best_score: list[float] = field(default_factory=list)
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    val_accuracy: float = 0.0
    val_loss: float = 0.0

    def offer(self, epoch: int, accuracy: float, loss: float, learner: Learner, rule: str) -> None:
        """Keeps the weights when the validation score is better: accuracy with ties broken by loss, or loss alone."""
        score = [accuracy, -loss] if rule == "accuracy" else [-loss]
        if self.best_epoch < 0 or score > self.best_score:
            self.best_epoch, self.best_score = epoch, score
            self.best_weights = {name: value.cpu() for name, value in learner.weights().items()}
            self.val_accuracy, self.val_loss = accuracy, loss

    def exhausted(self, epoch: int, train: TrainConfig) -> bool:
        return (
            train.patience is not None and self.best_epoch >= 0 and epoch - self.best_epoch >= train.patience
        )
