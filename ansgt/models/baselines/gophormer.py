"""Gophormer (Zhao et al., 2021): a transformer over sampled ego-graphs with global nodes and proximity encoding.

It shares the transformer, the sequences and the proximities with ANS-GT; its own are the ego-graph sampler and the
consistency regularisation. Its learner is in `ansgt/training/gophormer.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.models.ansgt import ANSGT, ANSGTSettings
from ansgt.sampling.drawing import sequence_keys, stream, uniform_scalar
from ansgt.settings import Count, Few, ModelSettings, NonNegative, Positive, Powers, Rate, Space, Span


@dataclass(frozen=True)
class GophormerSettings(ANSGTSettings, ModelSettings):
    """Settings of Gophormer; the defaults are near those of its repository for Cora."""

    sections: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "optim": {"name": "adamw", "lr": 1e-3, "weight_decay": 0.01, "warmup_epochs": 10, "end_lr": 1e-6},
        "train": {"epochs": 200, "patience": 50},
    }
    space: ClassVar[Space] = {
        "optim.lr": Span(3e-4, 5e-3, log=True),
        "optim.weight_decay": Span(1e-3, 1.0, log=True),
        "num_layers": (1, 2),
        "fanout": (3, 5, 10),
        "depth": (1, 2),
        "consistency_weight": (0.0, 0.5),
        "dropout": Span(0.0, 0.8),
        "input_dropout": Span(0.0, 0.9),
    }

    hidden_channels: Count = 64
    num_layers: Few = 2
    dropout: Rate = 0.3
    kind_embedding: Literal[False] = False
    num_proximity: Powers = 6
    """Powers of the normalised adjacency in the proximity encoding."""
    batch_size: Count = 128
    """Centres in a batch; each brings `num_samples` sequences."""
    fanout: Count = 7
    """Neighbours drawn per node ("EgoGraph-7_2": fanout 7, depth 2)."""
    depth: Count = 2
    """Hops from the centre to the rim of an ego-graph."""
    max_nodes: Count | None = None
    """Slots of a sequence; None: as many as an ego-graph can fill."""
    num_samples: Count = 4
    """Ego-graphs of a training centre."""
    num_votes: Count = 5
    """Ego-graphs of a predicted node; their class probabilities are averaged ("SubGVote-5")."""
    consistency_weight: NonNegative = 0.5
    """Of the term that makes the ego-graphs of one centre predict alike."""
    temperature: Positive = 0.5
    """Of the sharpening in the consistency regularisation."""
    captured: bool | None = None
    """Replay the step as a CUDA graph; None: on CUDA only."""


class Gophormer(ANSGT):
    """ANS-GT's transformer without super-nodes and without kind vectors: [centre | ego-graph | global nodes].

    Args:
        in_channels: p, number of features.
        out_channels: C, number of classes.
        settings: as for `ANSGT`; `kind_embedding` plays no part.
        num_kept: last columns of the features that feature dropout leaves alone.
    """

    Settings: ClassVar[type[ModelSettings]] = GophormerSettings

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        settings: ANSGTSettings = ANSGTSettings(),
        *,
        num_kept: int = 0,
    ) -> None:
        plain = replace(settings, kind_embedding=False)
        super().__init__(in_channels, out_channels, plain, num_kept=num_kept)


def consistency_loss(logits: Tensor, num_sequences: int, temperature: float, weight: Tensor) -> Tensor:
    """Squared distance of a centre's S predictions to their sharpened mean, averaged.

    Args:
        logits: [b * S, C], centre-major.
        num_sequences: S.
        temperature: of the sharpening: mean probabilities to the power 1 / temperature, normalised; no gradient.
        weight: weight of every centre [b]; 0 for padding.
    """
    probabilities = logits.float().softmax(dim=-1).view(-1, num_sequences, logits.shape[1])  # [b, S, C]
    mean = probabilities.mean(dim=1, keepdim=True).detach()
    sharp = (mean.clamp(min=1e-12).log() / temperature).softmax(dim=-1)
    distance = (probabilities - sharp).square().sum(dim=-1).mean(dim=1)
    mean_distance: Tensor = (distance * weight).sum() / weight.sum().clamp(min=1.0)
    return mean_distance


@dataclass(frozen=True, eq=False)
class EgoNodes:
    """Sampled ego-graphs of B centres, S each: the fields that `SequenceBuilder.resample` reads.

    Args:
        nodes: the centres [B], int64.
        ids: distinct nodes besides the centre [B, S, N], int64; 0 where masked.
        mask: True where a slot holds a node [B, S, N], bool; real slots come first.
        count: 1 where a slot holds a node [B, S, N], int64.
    """

    nodes: Tensor
    ids: Tensor
    mask: Tensor
    count: Tensor
    __repr__ = brief_repr


class Reach(NamedTuple):
    """How far an ego-graph reaches.

    Args:
        fanout: neighbours drawn per node; all where it has fewer.
        depth: hops.
    """

    fanout: int = 5
    depth: int = 2


class EgoSampler:
    """GraphSAGE-style ego-graphs: `fanout` distinct neighbours of the centre, `fanout` of each of those, and so on.

    A draw depends on (seed, round, centre, sequence) alone.

    Args:
        graph: the graph.
        reach: fanout and depth.
        num_sequences: S.
        seed: of all draws.
        max_nodes: slots of a sequence; None: as many as an ego-graph can fill.
    """

    def __init__(
        self,
        graph: Graph,
        reach: Reach = Reach(),
        *,
        num_sequences: int = 2,
        seed: int = 0,
        max_nodes: int | None = None,
    ) -> None:
        for name, value in (*reach._asdict().items(), ("num_sequences", num_sequences)):
            if value < 1:
                raise InputError(f"Setting {name} must be at least 1, not {value}.")
        self.graph, self.reach = graph, reach
        self.num_sequences, self.seed = num_sequences, seed
        largest = sum(reach.fanout**hop for hop in range(1, reach.depth + 1))
        self.num_sampled = max(1, min(largest, graph.num_nodes - 1, max_nodes or largest))

    def draw(self, nodes: Tensor, round: int = 0) -> EgoNodes:
        """Ego-graphs of the given centres, on their device."""
        centres = nodes.cpu().to(torch.int64)
        keys = sequence_keys(stream(self.seed, round), centres, self.num_sequences)
        shape = (len(centres), self.num_sequences, self.num_sampled)
        ids = np.zeros(shape, dtype=np.int64)
        filled = np.zeros(shape[:2], dtype=np.int64)
        graph = (self.graph.indptr, self.graph.indices)
        _walk(graph, centres.numpy(), keys.numpy().view(np.uint64), self.reach, ids, filled)
        mask = torch.arange(self.num_sampled) < torch.from_numpy(filled)[..., None]
        moved = (t.to(nodes.device) for t in (centres, torch.from_numpy(ids), mask, mask.long()))
        return EgoNodes(*moved)


@njit(cache=True, parallel=True)
def _walk(
    graph: tuple[np.ndarray, np.ndarray],
    centres: np.ndarray,
    keys: np.ndarray,
    reach: Reach,
    ids: np.ndarray,
    filled: np.ndarray,
) -> None:
    indptr, indices = graph
    fanout, depth = reach
    for row in prange(len(centres)):
        chosen = np.empty(fanout, dtype=np.int64)
        for s in range(keys.shape[1]):
            out = ids[row, s]
            size, start, stop = 0, -1, 0  # the hop being expanded is out[start:stop]; -1 is the centre
            counter = np.uint64(0)
            for _ in range(depth):
                for at in range(start, stop):
                    node = centres[row] if at < 0 else out[at]
                    degree = indptr[node + 1] - indptr[node]
                    take = min(fanout, degree)
                    for k in range(take):
                        # Floyd's subset: k-th of `take` distinct positions below `degree`
                        last = degree - take + k
                        pick = (
                            last
                            if degree == take
                            else int(uniform_scalar(keys[row, s], counter) * (last + 1))
                        )
                        counter += np.uint64(1)
                        for earlier in range(k):
                            if chosen[earlier] == pick:
                                pick = last
                                break
                        chosen[k] = pick
                    for k in range(take):
                        other = indices[indptr[node] + chosen[k]]
                        known = other == centres[row] or size == len(out)
                        for earlier in range(size):
                            if known or out[earlier] == other:
                                known = True
                                break
                        if not known:
                            out[size] = other
                            size += 1
                start, stop = stop if start >= 0 else 0, size
            filled[row, s] = size
