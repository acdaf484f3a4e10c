"""Why a node got its class: the nodes it attended to, and the heuristic that brought each of them."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.sequences import SequenceLayout, TokenKind
from ansgt.training.adaptive import AdaptiveLearner
from ansgt.training.inference import evaluation
from ansgt.training.learner import Predictor
from ansgt.training.restarts import Restarts
from ansgt.training.source import INFERENCE_ROUND


@dataclass(frozen=True)
class Attended:
    """One node that the centre attended to.

    Args:
        node: its id.
        significance: its share of s_i = A_{1,i} ‖V_i‖ (section 5.1) over all tokens and sequences.
        label: known class, or None.
        prediction: class that the model gives it.
        distance: hops from the centre; None when no path leads there.
        drawn: share of the S sequences it is in.
        heuristics: share that each heuristic had in drawing it, p_k Q_ki / psi_i; sums to 1.
    """

    node: int
    significance: float
    label: int | None
    prediction: int
    distance: int | None
    drawn: float
    heuristics: dict[str, float]


@dataclass(frozen=True)
class Explanation:
    """What `explain` returns; `str()` is a table, `as_dict()` goes into JSON, `plot(path)` draws it.

    Args:
        node, label, prediction, probabilities: the centre and what the model says of it.
        kinds: share of significance that went to the centre itself, sampled nodes, super-nodes, global nodes.
        heuristics: the same for sampled nodes, by the heuristic that brought them.
        attended: nodes by falling significance.
    """

    node: int
    label: int | None
    prediction: int
    probabilities: list[float]
    kinds: dict[str, float]
    heuristics: dict[str, float]
    attended: list[Attended]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def plot(self, path: Path | str) -> None:
        from ansgt.report.figures import plot_explanation

        plot_explanation(self, path)

    def __str__(self) -> str:
        names = list(self.heuristics)
        lines = [
            f"node {self.node}: class {self.prediction} (p = {self.probabilities[self.prediction]:.3f}), "
            f"label {'unknown' if self.label is None else self.label}",
            "attention went to " + ", ".join(f"{name} {100 * v:.0f} %" for name, v in self.kinds.items()),
            "brought by " + ", ".join(f"{name} {100 * v:.0f} %" for name, v in self.heuristics.items()),
            "",
            f"{'node':>7} {'share':>7} {'label':>6} {'class':>6} {'hops':>5} "
            + " ".join(f"{n:>6}" for n in names),
        ]
        for row in self.attended:
            label = "-" if row.label is None else str(row.label)
            hops = "-" if row.distance is None else str(row.distance)
            parts = " ".join(f"{100 * row.heuristics[n]:5.0f}%" for n in names)
            share = f"{100 * row.significance:6.1f}%"
            lines.append(f"{row.node:>7} {share:>7} {label:>6} {row.prediction:>6} {hops:>5} {parts}")
        return "\n".join(lines)


def explain_node(learner: Predictor, graph: Graph, node: int, top: int = 15) -> Explanation:
    """Explains one node's prediction from the fresh sequences that the prediction itself uses: S of every restart."""
    models = learner.models() if isinstance(learner, Restarts) else [learner]
    if not all(isinstance(model, AdaptiveLearner) for model in models):
        raise InputError("Only ANS-GT can be explained: other models have no sampled sequences.")
    if not 0 <= node < graph.num_nodes:
        raise InputError(f"Node {node} does not exist: the graph has {graph.num_nodes} nodes.")
    parts = [_attention(model, node) for model in models if isinstance(model, AdaptiveLearner)]
    share = np.concatenate([part.share for part in parts]) / len(parts)
    ids, mask = (np.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "mask"))
    posterior = np.concatenate([part.posterior for part in parts], axis=1)
    slots, kind, names = parts[0].layout.sampled, parts[0].layout.kind, parts[0].names
    kinds = {k.name.lower(): float(share[:, (kind == int(k)).numpy()].sum()) for k in TokenKind}
    brought = (share[:, slots] * mask)[None] * posterior
    rows = _rows(learner, graph, node, ids, mask, share[:, slots], posterior, names, top)
    probabilities = torch.stack([part.probabilities for part in parts]).mean(dim=0)
    total = max(float(brought.sum()), 1e-12)
    return Explanation(
        node=node,
        label=_label(graph, node),
        prediction=int(probabilities.argmax()),
        probabilities=[float(p) for p in probabilities],
        kinds=kinds,
        heuristics={name: float(brought[k].sum()) / total for k, name in enumerate(names)},
        attended=rows,
    )


@dataclass(frozen=True)
class _Attention:
    """What one model's S sequences of a node attended to."""

    layout: SequenceLayout
    names: list[str]
    """Of the K heuristics."""
    share: np.ndarray
    """[S, T], of the attention of all sequences together."""
    ids: np.ndarray
    """[S, N]."""
    mask: np.ndarray
    """[S, N]."""
    posterior: np.ndarray
    """[K, S, N]."""
    probabilities: Tensor
    """[C]."""


def _attention(learner: AdaptiveLearner, node: int) -> _Attention:
    centre = torch.tensor([node], device=learner.device)
    builder = learner.source.builder()
    sampled = learner.source.fill(builder, centre, learner.p, INFERENCE_ROUND)
    batch = builder.batch(centre)
    with evaluation(learner.model):
        tokens = (batch.x, batch.index, batch.mask, batch.log_count, batch.proximity)
        logits, s = learner.model.classify(batch.layout, *tokens, significance=True)
    assert s is not None
    return _Attention(
        layout=batch.layout,
        names=learner.settings.active_heuristics,
        share=s.double().cpu().numpy() / max(float(s.sum()), 1e-12),
        ids=sampled.ids[0].cpu().numpy(),
        mask=sampled.mask[0].cpu().numpy(),
        posterior=_posterior(learner, sampled),
        probabilities=logits.float().softmax(dim=-1).mean(dim=0).cpu(),
    )


def _posterior(learner: AdaptiveLearner, sampled: Any) -> np.ndarray:
    """Probability that heuristic k drew a slot's node, p_k Q_ki / psi_i [K, S, N]."""
    shares = learner.source.mixture.shares(sampled.p, sampled.rows)  # [K, 1]
    joint = shares[:, 0, None, None] * sampled.q[:, 0].double()
    return (joint / joint.sum(dim=0).clamp(min=1e-300)).cpu().numpy()


def _rows(
    learner: Predictor,
    graph: Graph,
    node: int,
    ids: np.ndarray,
    mask: np.ndarray,
    share: np.ndarray,
    posterior: np.ndarray,
    names: list[str],
    top: int,
) -> list[Attended]:
    found, where = np.unique(ids[mask], return_inverse=True)
    if len(found) == 0:
        return []
    total = np.bincount(where, weights=share[mask])
    order = np.argsort(-total, kind="stable")[:top]
    times = np.bincount(where)
    by = {name: np.bincount(where, weights=posterior[k][mask]) / times for k, name in enumerate(names)}
    drawn = times / len(ids)
    hops = dijkstra(graph.adj, indices=node, unweighted=True)
    classes = learner.predict_proba(torch.from_numpy(found[order])).argmax(dim=1).tolist()
    return [
        Attended(
            node=int(found[i]),
            significance=float(total[i]),
            label=_label(graph, int(found[i])),
            prediction=classes[place],
            distance=int(hops[found[i]]) if np.isfinite(hops[found[i]]) else None,
            drawn=float(min(drawn[i], 1.0)),
            heuristics={name: float(shares[i]) for name, shares in by.items()},
        )
        for place, i in enumerate(order)
    ]


def _label(graph: Graph, node: int) -> int | None:
    value = int(graph.y[node])
    return None if value < 0 else value
