"""Why a node got its class: the nodes it attended to, and the heuristic that brought each of them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from ansgt.graph import Graph
from ansgt.heuristics import heuristic_names
from ansgt.models.ansgt import ANSGT
from ansgt.pipeline import INFERENCE_ROUND, SequencePipeline
from ansgt.plotting import COLORS, GREY, figure
from ansgt.prediction.inference import evaluation
from ansgt.sampling import SampledNodes
from ansgt.sequences import SequenceLayout, TokenKind


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
        """Draws the attended nodes as bars, split by the heuristic that brought them (.png, .pdf or .svg)."""
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

    @property
    def sampled(self) -> np.ndarray:
        """Share of the sampled slots [S, N]."""
        return self.share[:, self.layout.sampled]


def attention_of(model: ANSGT, pipeline: SequencePipeline, p: Tensor, node: int) -> Attention:
    """From the fresh sequences that the prediction itself uses."""
    centre = torch.tensor([node], device=pipeline.device)
    drawn = pipeline.draw(centre, p, INFERENCE_ROUND)
    batch = drawn.sequences.batch(centre)
    with evaluation(model):
        logits, s = model.classify(batch, significance=True)
    assert s is not None
    return Attention(
        layout=batch.layout,
        heuristics=heuristic_names(pipeline.heuristics),
        share=s.double().cpu().numpy() / max(float(s.sum()), 1e-12),
        ids=drawn.sampled.ids[0].cpu().numpy(),
        mask=drawn.sampled.mask[0].cpu().numpy(),
        posterior=_posterior(drawn.sampled),
        probabilities=logits.float().softmax(dim=-1).mean(dim=0).cpu(),
    )


def _posterior(sampled: SampledNodes) -> np.ndarray:
    """p_k Q_ki / psi_i of one centre's sampled nodes [K, S, N]."""
    shares = sampled.mixture.shares(sampled.p, sampled.rows)  # [K, 1]
    joint = shares[:, 0, None, None] * sampled.q[:, 0].double()
    return (joint / joint.sum(dim=0).clamp(min=1e-300)).cpu().numpy()


def explain_node(
    attentions: Sequence[Attention],
    predict_proba: Callable[[Tensor], Tensor],
    graph: Graph,
    node: int,
    top: int = 15,
) -> Explanation:
    """Explains one node's prediction by what the sequences of one or several models attended to.

    Args:
        attentions: one entry per model.
        predict_proba: gives the class probabilities of any nodes.
        graph: for labels and distances.
        top: how many attended nodes to list.
    """
    joint = _joined(attentions)
    kind, names = joint.layout.kind, joint.heuristics
    brought = (joint.sampled * joint.mask)[None] * joint.posterior
    total = max(float(brought.sum()), 1e-12)
    return Explanation(
        node=node,
        label=_label(graph, node),
        prediction=int(joint.probabilities.argmax()),
        probabilities=[float(p) for p in joint.probabilities],
        kinds={k.name.lower(): float(joint.share[:, (kind == int(k)).numpy()].sum()) for k in TokenKind},
        heuristics={name: float(brought[k].sum()) / total for k, name in enumerate(names)},
        attended=_attended(joint, predict_proba, graph, node, top),
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


def _attended(
    joint: Attention, predict_proba: Callable[[Tensor], Tensor], graph: Graph, node: int, top: int
) -> list[Attended]:
    """The attended nodes by falling share; every node once, however often it was drawn."""
    mask = joint.mask
    found, where = np.unique(joint.ids[mask], return_inverse=True)
    if len(found) == 0:
        return []
    total = np.bincount(where, weights=joint.sampled[mask])
    order = np.argsort(-total, kind="stable")[:top]
    times = np.bincount(where)
    brought = {
        name: np.bincount(where, weights=joint.posterior[k][mask]) / times
        for k, name in enumerate(joint.heuristics)
    }
    drawn = times / len(joint.ids)
    hops = dijkstra(graph.adj, indices=node, unweighted=True)
    classes = predict_proba(torch.from_numpy(found[order])).argmax(dim=1).tolist()
    return [
        Attended(
            node=int(found[i]),
            significance=float(total[i]),
            label=_label(graph, int(found[i])),
            prediction=classes[place],
            distance=int(hops[found[i]]) if np.isfinite(hops[found[i]]) else None,
            drawn=float(min(drawn[i], 1.0)),
            heuristics={name: float(shares[i]) for name, shares in brought.items()},
        )
        for place, i in enumerate(order)
    ]


def _label(graph: Graph, node: int) -> int | None:
    value = int(graph.y[node])
    return None if value < 0 else value


def plot_explanation(explanation: Explanation, path: Path | str) -> None:
    """Attended nodes as bars, split by the heuristic that brought them; hops and label beside each."""
    rows = explanation.attended
    with figure(path, width=7.2, height=1.4 + 0.28 * max(len(rows), 3)) as axes:
        place = np.arange(len(rows))[::-1]
        left = np.zeros(len(rows))
        for name in explanation.heuristics:
            part = np.array([100 * row.significance * row.heuristics[name] for row in rows])
            axes.barh(place, part, left=left, color=COLORS.get(name), label=name, height=0.72)
            left += part
        for y, end, row in zip(place, left, rows, strict=True):
            hops = "no path" if row.distance is None else f"{row.distance} hop{'s' * (row.distance != 1)}"
            known = "label unknown" if row.label is None else f"label {row.label}"
            agrees = row.label is None or row.label == explanation.prediction
            axes.text(
                end, y, f"  {hops}, {known}", va="center", fontsize=8.5, color="#333" if agrees else GREY
            )
        axes.set_yticks(place, [f"node {row.node}" for row in rows])
        confidence = 100 * explanation.probabilities[explanation.prediction]
        axes.set(
            xlabel="share of the centre's attention (%)",
            title=f"node {explanation.node}: class {explanation.prediction} ({confidence:.0f} %)",
            xlim=(0, 1.45 * max(left.max(initial=0.0), 1e-9)),
        )
        axes.legend(loc="lower right")
