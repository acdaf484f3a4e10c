"""Whether an explanation is true of the model: what happens to the predicted class without the nodes that it names.

faithfulness = mean over nodes of p(class) - p(class without the k nodes with the largest share), against the same without k
nodes of the sequences drawn at random. A node is dropped from all sequences of the centre: its tokens are masked.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.errors import InputError
from ansgt.prediction import TrainedModel
from ansgt.prediction.ensemble import Ensemble
from ansgt.prediction.inference import evaluation
from ansgt.sequences import SequenceBatch
from ansgt.table import Table
from ansgt.turns import turn

CHUNK = 128
"""Centres at a time."""
EVERYBODY = 1 << 30


@dataclass(frozen=True)
class Faithfulness:
    """How far the probability of the predicted class falls, on the mean of some nodes.

    Args:
        dropped: nodes dropped from every explained node's sequences.
        num_nodes: explained nodes.
        by_share: fall without those that had the largest share of the attention.
        at_random: fall without as many drawn at random, mean over the draws.
        draws: how often was drawn.
    """

    dropped: int
    num_nodes: int
    by_share: float
    at_random: float
    draws: int

    @property
    def ratio(self) -> float:
        """How many times further the probability falls; infinite where random nodes lower nothing."""
        return self.by_share / self.at_random if self.at_random > 0 else math.inf

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        return (
            f"without the {self.dropped} nodes of the largest share the predicted class loses {100 * self.by_share:.2f} "
            f"points of probability, without {self.dropped} others {100 * self.at_random:.2f} "
            f"({self.ratio:.1f} times less), on the mean of {self.num_nodes} nodes"
        )

    def table(self) -> Table:
        """One row."""
        return Table([*self.as_dict()], [[*self.as_dict().values()]])


def faithfulness(
    trained: TrainedModel, nodes: Sequence[int], *, dropped: int = 5, draws: int = 5, seed: int = 0
) -> Faithfulness:
    """Measures the explanations of some nodes.

    Args:
        trained: ANS-GT, or several of it.
        nodes: indices.
        dropped: k, how many nodes to drop.
        draws: how often to drop random ones.
        seed: of the draws.
    """
    if len(nodes) == 0:
        raise InputError("There is nothing to measure: no node is given.")
    if dropped < 1 or draws < 1:
        raise InputError(f"dropped={dropped} and draws={draws} must be at least 1.")
    rng = np.random.default_rng(seed)
    parts = torch.tensor(nodes, dtype=torch.int64).split(CHUNK)
    with turn():
        falls = torch.cat([_falls(trained, part, dropped, draws, rng) for part in parts]).mean(dim=0)
    return Faithfulness(dropped, len(nodes), float(falls[0]), float(falls[1:].mean()), draws)


def _falls(
    trained: TrainedModel, nodes: Tensor, dropped: int, draws: int, rng: np.random.Generator
) -> Tensor:
    """Fall of the predicted class's probability [b, 1 + draws]: without the top nodes, then without random ones."""
    models = trained.models if isinstance(trained, Ensemble) else [trained]
    seen = [focus.ids for focus in trained.focuses(nodes, EVERYBODY)]
    if not all(hasattr(model, "sequences") for model in models):
        raise InputError("Faithfulness is measured on models that read sequences: ansgt.")
    batches = [model.sequences(nodes) for model in models]  # type: ignore[attr-defined]
    chosen = [[ids[:dropped] for ids in seen]]
    chosen += [[rng.permutation(ids)[:dropped] for ids in seen] for _ in range(draws)]
    nobody = [np.zeros(0, dtype=np.int64)] * len(nodes)
    before, *after = (_predicted(models, batches, sets) for sets in (nobody, *chosen))
    best = before.argmax(dim=1, keepdim=True)
    return torch.cat([before.gather(1, best) - one.gather(1, best) for one in after], dim=1)


def _predicted(models: Sequence[Any], batches: Sequence[SequenceBatch], sets: Sequence[np.ndarray]) -> Tensor:
    """Class probabilities [b, C] without some nodes of every centre's sequences."""
    each = []
    for trained, batch in zip(models, batches, strict=True):
        with evaluation(trained.model):
            logits = trained.model(without(batch, sets))
        each.append(logits.float().softmax(dim=-1).view(len(sets), -1, logits.shape[-1]).mean(dim=1).cpu())
    return torch.stack(each).mean(dim=0)


def without(batch: SequenceBatch, sets: Sequence[np.ndarray]) -> SequenceBatch:
    """The same sequences with some sampled nodes masked, a set for every centre."""
    sampled = batch.layout.sampled
    each = len(batch) // len(sets)
    mask = batch.mask.clone()
    for place, ids in enumerate(sets):
        rows = slice(place * each, (place + 1) * each)
        gone = torch.isin(batch.ids[rows, sampled], torch.from_numpy(ids).to(batch.ids.device))
        mask[rows, sampled] &= ~gone
    return replace(batch, mask=mask)
