"""Whom a node attended to: the attention of its sequences, summed over the nodes in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.heuristics import heuristic_names
from ansgt.models.ansgt import ANSGT
from ansgt.pipeline import INFERENCE_ROUND, SequencePipeline
from ansgt.prediction.inference import evaluation
from ansgt.sampling import SampledNodes
from ansgt.sequences import SequenceLayout, TokenKind

CHUNK = 128
"""Nodes whose attention is computed at a time."""


@dataclass(frozen=True, eq=False)
class Attention:
    """What one model's S sequences of a node attended to.

    Args:
        layout: which slots are what.
        heuristics: names of the K heuristics.
        share: of the attention of all sequences together [S, T].
        ids, mask: the sampled nodes [S, N].
        posterior: probability that heuristic k drew a slot's node, p_k Q_ki / psi_i [K, S, N].
        probabilities: of the classes [C].
    """

    layout: SequenceLayout
    heuristics: list[str]
    share: np.ndarray
    ids: np.ndarray
    mask: np.ndarray
    posterior: np.ndarray
    probabilities: Tensor
    __repr__ = brief_repr

    @property
    def sampled(self) -> np.ndarray:
        """Share of the sampled slots [S, N]."""
        return self.share[:, self.layout.sampled]


def attentions_of(model: ANSGT, pipeline: SequencePipeline, p: Tensor, nodes: Tensor) -> Iterator[Attention]:
    """Of every node, from the fresh sequences that the prediction itself uses; many nodes in chunks."""
    for centres in nodes.to(pipeline.device).split(CHUNK):
        yield from _attentions_of_chunk(model, pipeline, p, centres)


def _attentions_of_chunk(
    model: ANSGT, pipeline: SequencePipeline, p: Tensor, centres: Tensor
) -> Iterator[Attention]:
    drawn = pipeline.draw(centres, p, INFERENCE_ROUND)
    batch = drawn.sequences.batch(centres)
    with evaluation(model):
        logits, s = model.classify(batch, significance=True)
    assert s is not None
    number, names = len(centres), heuristic_names(pipeline.heuristics)
    s = s.double().cpu().view(number, -1, s.shape[-1])  # [b, S, T]
    probabilities = logits.float().softmax(dim=-1).view(number, s.shape[1], -1).mean(dim=1).cpu()
    ids, mask = drawn.sampled.ids.cpu().numpy(), drawn.sampled.mask.cpu().numpy()
    posterior = _posterior(drawn.sampled)
    for i in range(number):
        yield Attention(
            layout=batch.layout,
            heuristics=names,
            share=s[i].numpy() / max(float(s[i].sum()), 1e-12),
            ids=ids[i],
            mask=mask[i],
            posterior=posterior[:, i],
            probabilities=probabilities[i],
        )


def _posterior(sampled: SampledNodes) -> np.ndarray:
    """p_k Q_ki / psi_i of the sampled nodes [K, b, S, N]."""
    shares = sampled.mixture.shares(sampled.p, sampled.rows)  # [K, b]
    joint = shares[:, :, None, None] * sampled.q.double()
    return (joint / joint.sum(dim=0).clamp(min=1e-300)).cpu().numpy()


@dataclass(frozen=True, eq=False)
class Focus:
    """Whom one node attended to: every node once, by falling share.

    Args:
        kinds: share that went to the centre itself, sampled nodes, super-nodes, global nodes.
        heuristics: the same for sampled nodes, by the heuristic that brought them.
        probabilities: of the classes [C].
        ids: the attended nodes [t], int64.
        share: of all attention [t].
        drawn: share of the sequences that a node is in [t].
        brought: share that each heuristic had in drawing it [t, K].
    """

    kinds: dict[str, float]
    heuristics: dict[str, float]
    probabilities: Tensor
    ids: np.ndarray
    share: np.ndarray
    drawn: np.ndarray
    brought: np.ndarray
    __repr__ = brief_repr


def focus_of(attentions: Sequence[Attention], top: int) -> Focus:
    """Sums the attention of one node's sequences, of all models, over the nodes in them; the `top` largest are kept."""
    joint = _joined(attentions)
    mask, kind, names = joint.mask, joint.layout.kind, joint.heuristics
    brought = (joint.sampled * mask)[None] * joint.posterior
    total = max(float(brought.sum()), 1e-12)
    found, where = np.unique(joint.ids[mask], return_inverse=True)
    share, times = np.bincount(where, weights=joint.sampled[mask]), np.bincount(where)
    order = np.argsort(-share, kind="stable")[:top]
    parts = [np.bincount(where, weights=joint.posterior[k][mask]) / times for k in range(len(names))]
    return Focus(
        kinds={k.name.lower(): float(joint.share[:, (kind == int(k)).numpy()].sum()) for k in TokenKind},
        heuristics={name: float(brought[k].sum()) / total for k, name in enumerate(names)},
        probabilities=joint.probabilities,
        ids=found[order],
        share=share[order],
        drawn=np.minimum(times[order] / len(joint.ids), 1.0),
        brought=np.stack(parts, axis=1)[order],
    )


def _joined(parts: Sequence[Attention]) -> Attention:
    """The attention of several models as if of one with all their sequences."""
    return Attention(
        layout=parts[0].layout,
        heuristics=parts[0].heuristics,
        share=np.concatenate([part.share for part in parts]) / len(parts),
        ids=np.concatenate([part.ids for part in parts]),
        mask=np.concatenate([part.mask for part in parts]),
        posterior=np.concatenate([part.posterior for part in parts], axis=1),
        probabilities=torch.stack([part.probabilities for part in parts]).mean(dim=0),
    )


def focus_of_importance(importance: np.ndarray, node: int, probabilities: Tensor, top: int) -> Focus:
    """The same of a model without sequences, from how much every node's features matter [n]; sums to 1."""
    own = float(importance[node])
    others = np.delete(np.arange(len(importance)), node)
    order = others[np.argsort(-importance[others], kind="stable")]
    kept = order[importance[order] > 0][:top]
    return Focus(
        kinds={"centre": own, "node": 1 - own},
        heuristics={},
        probabilities=probabilities,
        ids=kept,
        share=importance[kept],
        drawn=np.ones(len(kept)),
        brought=np.zeros((len(kept), 0)),
    )
