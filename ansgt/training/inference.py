"""Averaged inference (section 5.3) and the significance of section 5.1, over many nodes in chunks of one shape."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ansgt.models.ansgt import ANSGT
from ansgt.training.capture import Captured
from ansgt.training.steps import PADDING, Build, maybe_compiled, padded


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
        chunk_size: int = 256,
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


class Significance:
    """s_i = A_{1,i} ‖V_i‖, mean over heads and layers, of every sampled slot of every sequence of some nodes.

    In float32 and without dropout: it decides what is sampled next. Labels are not read.

    Args:
        model: the transformer; put into evaluation mode for the time of a call.
        build: gives the batch of some centres.
        chunk_size: centres at a time.
        captured: replay chunks as a CUDA graph.
    """

    def __init__(self, model: ANSGT, build: Build, *, chunk_size: int = 256, captured: bool = False) -> None:
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
