"""Why a node got its class: the nodes it attended to, and the heuristic that brought each of them."""

from collections.abc import Callable, Iterator, Sequence
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

CHUNK = 128
"""Nodes whose attention is computed at a time."""
WIDEST = 24
"""Characters of a name in a table or picture."""


@dataclass(frozen=True)
class Attended:
    """One node that the centre attended to.

    Args:
        node: its name; its number where nodes have no names. So are `label` and `prediction` for classes.
        significance: its share of s_i = A_{1,i} ‖V_i‖ (section 5.1) over all tokens and sequences.
        label: known class, or None.
        prediction: class that the model gives it.
        distance: hops from the centre; None when no path leads there.
        drawn: share of the S sequences it is in.
        heuristics: share that each heuristic had in drawing it, p_k Q_ki / psi_i; sums to 1.
    """

    node: Any
    significance: float
    label: Any
    prediction: Any
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

    node: Any
    label: Any
    prediction: Any
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
        wide = {
            "node": max([7, *(len(_short(row.node)) for row in self.attended)]),
            "label": max([6, *(len(_short(row.label)) for row in self.attended)]),
            "class": max([6, *(len(_short(row.prediction)) for row in self.attended)]),
        }
        lines = [
            f"node {self.node}: class {self.prediction} (p = {max(self.probabilities):.3f}), "
            f"label {'unknown' if self.label is None else self.label}",
            "attention went to " + ", ".join(f"{name} {100 * v:.0f} %" for name, v in self.kinds.items()),
            "brought by " + ", ".join(f"{name} {100 * v:.0f} %" for name, v in self.heuristics.items()),
            "",
            f"{'node':>{wide['node']}} {'share':>7} {'label':>{wide['label']}} {'class':>{wide['class']}} {'hops':>5} "
            + " ".join(f"{n:>6}" for n in names),
        ]
        for row in self.attended:
            label = "-" if row.label is None else _short(row.label)
            hops = "-" if row.distance is None else str(row.distance)
            parts = " ".join(f"{100 * row.heuristics[n]:5.0f}%" for n in names)
            share = f"{100 * row.significance:6.1f}%"
            node, prediction = _short(row.node), _short(row.prediction)
            lines.append(
                f"{node:>{wide['node']}} {share:>7} {label:>{wide['label']}} {prediction:>{wide['class']}} "
                f"{hops:>5} {parts}"
            )
        return "\n".join(lines)


def _short(name: Any) -> str:
    """A name in a column of a table."""
    text = str(name)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


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
    focus = focus_of(attentions, top)
    return Explanation(
        node=graph.node_name(node),
        label=_label(graph, node),
        prediction=graph.class_name(int(focus.probabilities.argmax())),
        probabilities=[float(p) for p in focus.probabilities],
        kinds=focus.kinds,
        heuristics=focus.heuristics,
        attended=_attended(focus, predict_proba, graph, node),
    )


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


def _attended(
    focus: Focus, predict_proba: Callable[[Tensor], Tensor], graph: Graph, node: int
) -> list[Attended]:
    """The attended nodes with what the graph and the model say of each."""
    if len(focus.ids) == 0:
        return []
    hops = dijkstra(graph.adj, indices=node, unweighted=True)
    classes = predict_proba(torch.from_numpy(focus.ids)).argmax(dim=1).tolist()
    return [
        Attended(
            node=graph.node_name(other),
            significance=float(focus.share[i]),
            label=_label(graph, other),
            prediction=graph.class_name(classes[i]),
            distance=int(hops[other]) if np.isfinite(hops[other]) else None,
            drawn=float(focus.drawn[i]),
            heuristics=dict(zip(focus.heuristics, focus.brought[i].tolist(), strict=True)),
        )
        for i, other in enumerate(focus.ids.tolist())
    ]


def _label(graph: Graph, node: int) -> Any:
    return graph.class_name(int(graph.y[node]))


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
            known = "label unknown" if row.label is None else f"label {_short(row.label)}"
            agrees = row.label is None or row.label == explanation.prediction
            axes.text(
                end, y, f"  {hops}, {known}", va="center", fontsize=8.5, color="#333" if agrees else GREY
            )
        axes.set_yticks(place, [f"node {_short(row.node)}" for row in rows])
        confidence = 100 * max(explanation.probabilities)
        axes.set(
            xlabel="share of the centre's attention (%)",
            title=f"node {_short(explanation.node)}: class {_short(explanation.prediction)} ({confidence:.0f} %)",
            xlim=(0, 1.45 * max(left.max(initial=0.0), 1e-9)),
        )
        axes.legend(loc="lower right")
