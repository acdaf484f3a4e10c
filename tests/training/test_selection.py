"""The kept epoch."""

import torch

from ansgt.config import TrainConfig
from ansgt.training.selection import Selection


class FixedWeights:
    def weights(self) -> dict[str, torch.Tensor]:
        return {"w": torch.zeros(1)}


def test_selection_prefers_accuracy_then_loss_and_stops() -> None:
    selection, learner = Selection(), FixedWeights()
    offers = [(0.5, 1.0), (0.6, 2.0), (0.6, 1.5), (0.6, 1.7), (0.4, 0.1)]
    for epoch, (accuracy, loss) in enumerate(offers):
        selection.offer(epoch, accuracy, loss, learner, "accuracy")  # type: ignore[arg-type]
    assert selection.best_epoch == 2
    assert not selection.exhausted(4, TrainConfig(patience=3))
    assert selection.exhausted(5, TrainConfig(patience=3))
    assert not selection.exhausted(500, TrainConfig(patience=None))
    by_loss = Selection()
    for epoch, (accuracy, loss) in enumerate(offers):
        by_loss.offer(epoch, accuracy, loss, learner, "loss")  # type: ignore[arg-type]
    assert by_loss.best_epoch == 4
