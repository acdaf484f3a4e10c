"""Averaged inference (section 5.3) and the significance of section 5.1, over many nodes in chunks of one shape."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor

from ansgt.models.ansgt import ANSGT
from ansgt.sequences import SequenceBuilder
from ansgt.training.capture import Captured
from ansgt.training.steps import PADDING, Build, maybe_compiled, padded

CHUNK = 256
"""Centres at a time."""
CACHED_SEQUENCES = 1024


def chunk_size(num_sequences: int, device: torch.device) -> int:
    """Centres at a time: on a CPU so few that what a layer makes of their sequences stays in the cache.

    >>> chunk_size(4, torch.device("cpu")), chunk_size(32, torch.device("cpu"))
    (256, 32)
    """
    return CHUNK if device.type == "cuda" else max(1, min(CHUNK, CACHED_SEQUENCES // num_sequences))


class Predictor:
    """Class probabilities of nodes, the mean of softmax over a node's S sequences.

    Args:
        model: the transformer; put into evaluation mode for the time of a call.
        build: gives the batch of some centres.
        chunk_size: centres at a time.
        amp: bfloat16 autocast.
        captured: replay chunks as a CUDA graph.
        compiled: run a chunk through `torch.compile`.
    """

    def __init__(
        self,
        model: ANSGT,
        build: Build,
        *,
        chunk_size: int = CHUNK,
        amp: bool = False,
        captured: bool = False,
        compiled: bool = False,
    ) -> None:
        self.model = model
        self.build = build
        self.chunk_size = chunk_size
        self.amp = amp
        chunk = maybe_compiled(self._mean_softmax, compiled)
        self._chunk: Callable[[Tensor], Tensor] = Captured(chunk) if captured else chunk

    def __call__(self, nodes: Tensor) -> Tensor:
        """Probabilities [len(nodes), C], float32, on the model's device."""
        with evaluation(self.model):
            return over_chunks(self._chunk, nodes, self.chunk_size)

    def _mean_softmax(self, centres: Tensor) -> Tensor:
        batch = self.build(centres.clamp(min=0))
        with torch.autocast(centres.device.type, torch.bfloat16, enabled=self.amp):
            logits = self.model(batch)
        return logits.float().softmax(dim=-1).view(len(centres), -1, logits.shape[-1]).mean(dim=1)


Draw = Callable[[SequenceBuilder, Tensor], object]
"""Puts fresh sequences of some nodes into a builder's tables."""


class FreshPredictor:
    """Class probabilities of any nodes from sequences drawn for them (section 5.3), many nodes in portions.

    The same nodes asked for again keep their sequences, unless what they were drawn with has changed.

    Args:
        model: the transformer that predicts.
        builder: for the tables; nobody else's.
        draw: fills them.
        num_classes: C.
        portion: nodes whose sequences are held at a time.
        num_sequences: how many a node gets.
        amp, captured: as for `Predictor`.
    """

    def __init__(
        self,
        model: ANSGT,
        builder: SequenceBuilder,
        draw: Draw,
        *,
        num_classes: int,
        portion: int,
        num_sequences: int,
        amp: bool,
        captured: bool,
    ) -> None:
        self.builder, self.draw = builder, draw
        self.num_classes, self.portion = num_classes, portion
        size = chunk_size(num_sequences, builder.device)
        self._make = partial(Predictor, model, builder.batch, chunk_size=size, amp=amp, captured=captured)
        self._predict = self._make()
        self._nodes = torch.empty(0, dtype=torch.int64)
        self._drawn_with: Tensor | None = None

    def __call__(self, nodes: Tensor, drawn_with: Tensor | None = None) -> Tensor:
        """[len(nodes), C], float32, on the CPU; `drawn_with` are the numbers on which a draw depends."""
        parts = [
            self._predict_portion(part.to(self.builder.device), drawn_with) for part in self._split(nodes)
        ]
        return torch.cat(parts).cpu() if parts else torch.zeros(0, self.num_classes)

    def _split(self, nodes: Tensor) -> tuple[Tensor, ...]:
        return nodes.split(self.portion) if len(nodes) else ()

    def _predict_portion(self, nodes: Tensor, drawn_with: Tensor | None) -> Tensor:
        if not (_same(nodes, self._nodes) and _same(drawn_with, self._drawn_with)):
            self.draw(self.builder, nodes)
            if nodes.shape != self._nodes.shape:  # the tables moved: a captured graph would read the old ones
                self._predict = self._make()
            self._nodes = nodes.clone()
            self._drawn_with = None if drawn_with is None else drawn_with.clone()
        return self._predict(nodes)


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.device == other.device and one.shape == other.shape and torch.equal(one, other)


class Significance:
    """s_i = A_{1,i} ‖V_i‖, mean over heads and layers, of every sampled slot of every sequence of some nodes.

    In float32 and without dropout: it decides what is sampled next. Labels are not read.

    Args:
        model: the transformer; put into evaluation mode for the time of a call.
        build: gives the batch of some centres.
        chunk_size: centres at a time.
        captured: replay chunks as a CUDA graph.
    """

    def __init__(
        self, model: ANSGT, build: Build, *, chunk_size: int = CHUNK, captured: bool = False
    ) -> None:
        self.model = model
        self.build = build
        self.chunk_size = chunk_size
        self._chunk: Callable[[Tensor], Tensor] = Captured(self._scores) if captured else self._scores

    def __call__(self, nodes: Tensor) -> Tensor:
        """[len(nodes), S, N], float32, 0 where a slot is masked."""
        with evaluation(self.model):
            return over_chunks(self._chunk, nodes, self.chunk_size)

    def _scores(self, centres: Tensor) -> Tensor:
        _, s = self.model(self.build(centres.clamp(min=0)), significance=True)
        return s.view(len(centres), -1, s.shape[-1])


@contextmanager
def evaluation(model: ANSGT) -> Iterator[None]:
    """Evaluation mode and no gradients for the time of the block."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def over_chunks(function: Callable[[Tensor], Tensor], nodes: Tensor, size: int) -> Tensor:
    """`function` of all nodes, `size` at a time and always in that shape; rows of padding are cut off.

    A few nodes asked for eagerly are not padded to a whole chunk: only a captured function needs the shape.
    """
    if not isinstance(function, Captured):
        size = min(size, max(len(nodes), 1))
    chunks = padded(nodes, size) if len(nodes) else nodes.new_full((1, size), PADDING)
    return torch.cat([function(chunk).clone() for chunk in chunks])[: len(nodes)]
