"""The training step on sequences: fixed shapes, no wait for the device.

Centres travel as in `prediction/inference.py`: -1 is padding, and a ragged last batch has the shape of all others.
"""

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.device import half_precision, seed_card, sent
from ansgt.kernels.dropout import WHOLE, Places, part_of_batch
from ansgt.models.ansgt import ANSGT
from ansgt.prediction.capture import Captured, Restore
from ansgt.prediction.inference import Build, padded
from ansgt.ranks import ranks
from ansgt.stages import stage
from ansgt.training.optim import ScheduledAdamW, WeightAverage


def sequence_loss(
    logits: Tensor,
    target: Tensor,
    weight: Tensor,
    label_smoothing: float = 0.0,
    total: Tensor | None = None,
    class_weight: Tensor | None = None,
) -> Tensor:
    """Mean cross entropy over centres and their S sequences (section 5.3; there a sum over centres).

    Args:
        logits: [b * S, C], centre-major.
        target: [b * S].
        weight: weight of every centre [b]; 0 for padding.
        label_smoothing: share of the target spread over all classes.
        total: what the sum over centres is divided by; by default the sum of the weights.
        class_weight: what a centre of each class counts [C]; None: 1. The mean is still one over centres.

    Returns:
        Scalar, float32; 0 when all weights are 0.
    """
    losses = F.cross_entropy(
        logits.float(), target, reduction="none", ignore_index=-1, label_smoothing=label_smoothing
    )
    if class_weight is not None:
        losses = losses * class_weight[target.clamp(min=0)]
    per_centre = losses.view(len(weight), -1).mean(dim=1)
    return (per_centre * weight).sum() / (weight.sum() if total is None else total).clamp(min=1.0)


def maybe_compiled(function: Callable[[Tensor], Tensor], compiled: bool) -> Callable[[Tensor], Tensor]:
    """`function`, through `torch.compile` if asked.

    What was compiled for earlier models is forgotten: dynamo keeps eight versions of a function and runs the ninth
    eagerly without a word, and ten splits are ten models.
    """
    if not compiled:
        return function
    torch.compiler.reset()
    return torch.compile(function, dynamic=False)


class TrainStep:
    """Batch building, forward, loss, backward and update for the centres of one batch.

    Of several processes (`ansgt.ranks`) every one computes the loss of its share of the centres, divided by the number of
    all; the optimizer adds up the gradients.

    Args:
        model: the transformer, on its final device.
        optimizer: of the model's parameters.
        build: gives the batch of some centres.
        amp: bfloat16 autocast.
        compiled: run batch building, forward and loss through `torch.compile`.
        label_smoothing, class_weight: see `sequence_loss`.
        average: takes the weights in after every update.
        num_sequences: S, where several processes share a batch.
    """

    def __init__(
        self,
        model: ANSGT,
        optimizer: ScheduledAdamW,
        build: Build,
        *,
        amp: bool = False,
        compiled: bool = False,
        label_smoothing: float = 0.0,
        class_weight: Tensor | None = None,
        average: WeightAverage | None = None,
        num_sequences: int = 1,
    ) -> None:
        self.average = average
        self.num_sequences = num_sequences
        self.model = model
        self.optimizer = optimizer
        self.build = build
        self.amp = amp
        self.label_smoothing, self.class_weight = label_smoothing, class_weight
        self._loss = maybe_compiled(self.loss, compiled)
        device = model.global_nodes.device
        self._sums = torch.zeros(2, device=device)  # loss times centres, centres

    def __call__(self, centres: Tensor) -> Tensor:
        """One update; returns its loss, of this process's share (a scalar on the device)."""
        self.optimizer.zero_grad()
        with part_of_batch(self._places(len(centres))):
            loss = self._loss(centres)
        loss.backward()
        self.optimizer.step()
        if self.average is not None:
            self.average.update()
        count = (centres >= 0).sum()
        self._sums += torch.stack([loss.detach() * count, count])
        return loss.detach()

    def loss(self, centres: Tensor) -> Tensor:
        """Loss of the centres [b], -1 for padding."""
        known = (centres >= 0).float()
        share = ranks().share(len(centres))
        batch = self.build(centres[share].clamp(min=0))
        with half_precision(centres.device, self.amp):
            logits = self.model(batch)
        return sequence_loss(
            logits, batch.target, known[share], self.label_smoothing, known.sum(), self.class_weight
        )

    def _places(self, num_centres: int) -> Places:
        """Which sequences of a batch are this process's."""
        if ranks().alone:
            return WHOLE
        each, share = self.num_sequences, ranks().share(num_centres)
        return Places(slice(share.start * each, share.stop * each), num_centres * each)

    def reset(self) -> None:
        """Starts the running mean anew."""
        self._sums.zero_()

    def mean_loss(self) -> Tensor:
        """Mean loss over the centres seen since `reset` (a scalar on the device)."""
        return ranks().total(self._sums[0].clone()) / self._sums[1].clamp(min=1.0)

    @torch.no_grad()
    def snapshot(self) -> Restore:
        """What takes weights, their average, optimizer and running loss back to now, in place."""
        weights = {name: value.clone() for name, value in self.model.state_dict().items()}
        moments, sums = self.optimizer.state_dict(), self._sums.clone()
        average = None if self.average is None else self.average.snapshot()

        def restore() -> None:
            if average is not None:
                average()
            self.model.load_state_dict(weights)
            self.optimizer.load_state_dict(moments)
            self._sums.copy_(sums)

        return restore


class CapturedStep:
    """A `TrainStep` as one CUDA graph: a call copies the centres in and replays. Same result as the step itself."""

    def __init__(self, step: TrainStep, warmup: int = 3) -> None:
        self.step = step
        self._replay = Captured(step, step.snapshot, warmup)

    def __call__(self, centres: Tensor) -> Tensor:
        return self._replay(centres)

    def reset(self) -> None:
        self.step.reset()

    def mean_loss(self) -> Tensor:
        return self.step.mean_loss()

    def snapshot(self) -> Restore:
        return self.step.snapshot()

    @property
    def model(self) -> ANSGT:
        return self.step.model


Supply = Callable[[Tensor], Iterable[Tensor]]
"""Gives the batches [B, b] of an epoch back in parts [B', b], in their order, as their sequences are there to be read."""


def train_epoch(
    step: TrainStep | CapturedStep,
    nodes: Tensor,
    batch_size: int,
    generator: torch.Generator | None = None,
    supply: Supply | None = None,
) -> Tensor:
    """One pass over the training centres in random order, without waiting for the device.

    Args:
        step: eager or captured.
        nodes: training centres, on the model's device.
        batch_size: centres in a batch.
        generator: of the order; on the CPU, so that the order is the same on every device.
        supply: puts the sequences of batches where the step reads them; None: all are there.

    Returns:
        Mean loss over the centres (a scalar on the device).
    """
    order = sent(torch.randperm(len(nodes), generator=generator), nodes.device)
    if not ranks().alone:
        seed_card(torch.initial_seed() + ranks().rank)  # or all would drop the same of their shares
    step.model.train()
    step.reset()
    batches = padded(nodes[order], batch_size)
    with stage("training", len(nodes)) as at:
        for part in (batches,) if supply is None else supply(batches):
            for centres in part:
                step(centres)
                at.advance(batch_size)
    return step.mean_loss()
