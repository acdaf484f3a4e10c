"""Averaged inference (section 5.3) and the significance of section 5.1, over many nodes in chunks of one shape.

Centres travel as a [b] tensor of node ids in which -1 is padding: a ragged last chunk has the shape of all others, and
the same function serves the eager path (CPU, debugging) and the captured one.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self
from weakref import WeakMethod

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.ahead import ahead
from ansgt.device import half_precision, has_small_caches, replays_graphs, works_in_half
from ansgt.models.ansgt import ANSGT
from ansgt.prediction.capture import Captured
from ansgt.ranks import ranks
from ansgt.sequences import SequenceBatch, SequenceBuilder
from ansgt.stages import Stage, stage

CHUNK = 256
"""Centres at a time."""
CACHED_SEQUENCES = 1024
PADDING = -1

Build = Callable[[Tensor], SequenceBatch]
"""Centres [b] -> the batch of their b * S sequences, centre-major (`SequenceBuilder.batch`)."""
Draw = Callable[[SequenceBuilder, Tensor], object]
"""Puts fresh sequences of some nodes into a builder's tables."""


@dataclass(frozen=True)
class Execution:
    """How a step or a chunk is run; the numbers are the same up to rounding.

    Args:
        amp: bfloat16 autocast.
        captured: replayed as a CUDA graph.
        compiled: training steps go through `torch.compile`.
    """

    amp: bool = False
    captured: bool = False
    compiled: bool = False

    @classmethod
    def on(
        cls,
        device: torch.device,
        amp: bool | None = None,
        captured: bool | None = None,
        compiled: bool = False,
    ) -> Self:
        """`amp` and `captured` where they are asked for; None: on CUDA alone."""
        half = works_in_half(device) if amp is None else amp
        return cls(half, replays_graphs(device) if captured is None else captured, compiled)


def chunk_size(num_sequences: int, device: torch.device) -> int:
    """Centres at a time: on a CPU so few that what a layer makes of their sequences stays in the cache.

    >>> chunk_size(4, torch.device("cpu")), chunk_size(32, torch.device("cpu"))
    (256, 32)
    """
    cached = max(1, min(CHUNK, CACHED_SEQUENCES // num_sequences))
    return cached if has_small_caches(device) else CHUNK


class AveragedInference:
    """Class probabilities of nodes whose sequences lie in tables, the mean of softmax over a node's S sequences.

    Args:
        model: the transformer; put into evaluation mode for the time of a call.
        build: gives the batch of some centres.
        chunk_size: centres at a time.
        execution: how a chunk is run.
    """

    def __init__(
        self, model: ANSGT, build: Build, chunk_size: int = CHUNK, execution: Execution = Execution()
    ) -> None:
        self.model = model
        self.build = build
        self.chunk_size = chunk_size
        self.execution = execution
        self._captured = Captured(self._mean_softmax) if execution.captured else None

    def __call__(self, nodes: Tensor) -> Tensor:
        """Probabilities [len(nodes), C], float32, on the model's device."""
        chunk = (
            self._captured or self._mean_softmax
        )  # an object that holds its own method would outlive its last use
        with evaluation(self.model):
            return over_chunks(chunk, nodes, self.chunk_size)

    def _mean_softmax(self, centres: Tensor) -> Tensor:
        batch = self.build(centres.clamp(min=0))
        with half_precision(centres.device, self.execution.amp):
            logits = self.model(batch)
        each = logits.float().softmax(dim=-1)
        mean: Tensor = each.view(len(centres), -1, each.shape[-1]).mean(dim=1)
        return mean


class FreshInference:
    """Class probabilities of any nodes from sequences drawn for them (section 5.3), many nodes in portions.

    Up to `kept` nodes asked for again keep their sequences, unless what they were drawn with has changed. Of more nodes a
    portion is drawn while the one before it is predicted.

    Args:
        model: the transformer that predicts.
        tables: gives tables for sequences.
        draw: fills tables.
        portion: nodes that are drawn for at a time.
        kept: nodes whose sequences are kept; at least a portion.
        num_sequences: how many a node gets.
        execution: how a chunk is run.
    """

    def __init__(
        self,
        model: ANSGT,
        tables: Callable[[], SequenceBuilder],
        draw: Draw,
        *,
        portion: int,
        num_sequences: int,
        execution: Execution,
        kept: int = 0,
    ) -> None:
        self.model, self.tables, self.draw = model, tables, draw
        self.portion, self.kept = portion, max(portion, kept)
        self.num_sequences, self.execution = num_sequences, execution
        self._portions: list[_Portion] = []
        self._nodes = torch.empty(0, dtype=torch.int64)
        self._drawn_with: Tensor | None = None

    def __call__(self, nodes: Tensor, drawn_with: Tensor | None = None) -> Tensor:
        """[len(nodes), C], float32, on the CPU, of at least one node; several processes share them.

        Args:
            nodes: ids.
            drawn_with: the numbers on which a draw depends.
        """
        own = nodes[ranks().share(len(nodes))]
        with stage("prediction", len(own)) as at:
            parts = [self._told(at, part) for part in self._parts(own, drawn_with)] if len(own) else []
            found = torch.cat(parts) if parts else torch.zeros(0, self.model.num_classes)
            return ranks().gathered(found, len(nodes))

    def forget(self) -> None:
        """Gives up all kept sequences and keeps those of one portion from now on: nothing will be asked for twice."""
        self._portions, self._nodes, self.kept = [], self._nodes[:0], self.portion

    def _told(self, at: Stage, portion: "_Portion") -> Tensor:
        found = portion.predict()
        at.advance(len(found))
        return found

    def _parts(self, nodes: Tensor, drawn_with: Tensor | None) -> "Iterable[_Portion]":
        """The portions of the nodes, with their sequences."""
        if _same(nodes, self._nodes) and _same(drawn_with, self._drawn_with):
            return self._portions
        if len(nodes) > self.kept:
            self._nodes = nodes[:0]
            return self._passing(nodes)
        parts = nodes.split(self.portion)
        for _ in range(len(self._portions), len(parts)):
            self._portions.append(self._portion())
        del self._portions[len(parts) :]
        for portion, part in zip(self._portions, parts, strict=True):
            portion.fill(part)
        self._nodes = nodes.clone()
        self._drawn_with = None if drawn_with is None else drawn_with.clone()
        return self._portions

    def _passing(self, nodes: Tensor) -> "Iterator[_Portion]":
        """One portion after the other; a captured chunk reads tables at one address, so these are filled in its turn."""
        if self.execution.captured:
            self._portions = self._portions[:1] or [self._portion()]
            return (self._portions[0].fill(part) for part in nodes.split(self.portion))
        self._portions = []
        return ahead(self._portion().fill(part) for part in nodes.split(self.portion))

    def _portion(self) -> "_Portion":
        return _Portion(self.model, self.tables(), self.draw, self.num_sequences, self.execution)


class _Portion:
    """Some nodes with their sequences."""

    def __init__(
        self, model: ANSGT, tables: SequenceBuilder, draw: Draw, num_sequences: int, execution: Execution
    ) -> None:
        self.model, self.tables, self.draw = model, tables, draw
        self.num_sequences, self.execution = num_sequences, execution
        self._nodes = torch.empty(0, dtype=torch.int64)

    def fill(self, nodes: Tensor) -> Self:
        """Draws for the nodes."""
        nodes = nodes.to(self.tables.device)
        self.draw(self.tables, nodes)
        if nodes.shape != self._nodes.shape:  # the tables moved: a captured graph would read the old ones
            size = chunk_size(self.num_sequences, self.tables.device)
            self._predict = AveragedInference(self.model, self.tables.batch, size, self.execution)
        self._nodes = nodes
        return self

    def predict(self) -> Tensor:
        """[len(nodes), C], on the CPU."""
        return self._predict(self._nodes).cpu()


def weakly(draw: Draw) -> Draw:
    """A method of an object that holds what is given this: the object and its graph then go as soon as nobody else has them,
    and not when Python next looks for circles."""
    found = WeakMethod(draw)

    def drawn(tables: SequenceBuilder, nodes: Tensor) -> object:
        method = found()
        assert method is not None
        return method(tables, nodes)

    return drawn


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.device == other.device and one.shape == other.shape and torch.equal(one, other)


def moments(
    model: ANSGT, sequences: Build, nodes: Tensor, execution: Execution = Execution()
) -> tuple[Tensor, Tensor]:
    """Mean and variance of class probabilities over each node's sequences, both [len(nodes), C], on the CPU.

    Args:
        model: the transformer.
        sequences: draws those that a prediction of some nodes reads.
        nodes: on the model's device.
        execution: how a chunk is run; never captured.
    """
    found = []
    with evaluation(model):
        for part in nodes.split(CHUNK):
            with half_precision(part.device, execution.amp):
                logits = model(sequences(part))
            each = logits.float().softmax(dim=-1).view(len(part), -1, logits.shape[-1])
            found.append((each.mean(dim=1).cpu(), each.var(dim=1, unbiased=False).cpu()))
    means, variances = zip(*found, strict=True)
    return torch.cat(means), torch.cat(variances)


class Significance:
    """s_i = A_{1,i} ‖V_i‖, mean over heads and layers, of every sampled slot of every sequence of some nodes.

    In float32 and without dropout: it decides what is sampled next. Labels are not read.

    Args:
        model: the transformer; put into evaluation mode for the time of a call.
        build: gives the batch of some centres.
        chunk_size: centres at a time.
        captured: replay chunks as a CUDA graph.
    """

    def __init__(self, model: ANSGT, build: Build, chunk_size: int = CHUNK, captured: bool = False) -> None:
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
        each: Tensor = s.view(len(centres), -1, s.shape[-1])
        return each


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


def padded(nodes: Tensor, size: int) -> Tensor:
    """Nodes in rows of `size` [ceil(len / size), size], the last filled up with -1.

    >>> padded(torch.tensor([5, 6, 7]), 2)
    tensor([[ 5,  6],
            [ 7, -1]])
    """
    return F.pad(nodes, (0, -len(nodes) % size), value=PADDING).view(-1, size)


def over_chunks(function: Callable[[Tensor], Tensor], nodes: Tensor, size: int) -> Tensor:
    """`function` of all nodes, `size` at a time and always in that shape; rows of padding are cut off.

    A few nodes asked for eagerly are not padded to a whole chunk: only a captured function needs the shape.
    """
    if not isinstance(function, Captured):
        size = min(size, max(len(nodes), 1))
    chunks = padded(nodes, size) if len(nodes) else nodes.new_full((1, size), PADDING)
    return torch.cat([function(chunk).clone() for chunk in chunks])[: len(nodes)]
