"""Figure 2: the model, drawn from what a trained one did with a real node: proposals, super-nodes, a sequence, attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.datasets import Dataset
from ansgt.graph import Split
from ansgt.pipeline import INFERENCE_ROUND
from ansgt.plotting import COLORS, GREY
from ansgt.prediction.ansgt import TrainedANSGT
from ansgt.report.layout import lay_out
from ansgt.reproduce.item import Item, Picture, Shown
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_coarsening import HIERARCHY
from ansgt.reproduce.tables import Entry, Number, Table
from ansgt.reproduce.task import Setup, TrainedTask, training_seconds
from ansgt.runs.reopen import FinishedRun
from ansgt.runs.run import Environment, run

PROPOSED, DRAWN_NODES, SUPERNODES = 6, 60, 120
"""Candidates of a heuristic that are listed; nodes and super-nodes that the picture has room for."""
DEGREES = range(4, 8)
CENTRE, SUPER, GLOBAL = "#c8352b", "#f2c14e", "#7fb069"
REMARK = (
    "Everything in it was read off one trained model: (a) the {proposed} nodes that each heuristic proposes "
    "first to the centre, "
    "(b) the coarse graph with the super-nodes of this sequence, (c) one sequence of the {sequences} that "
    "the node has, each "
    "slot in the colour of what brought it, and (d) the share of the significance A_1i ‖V_i‖ that the slot "
    "got. The node is "
    "the first of the test part with 4 to 7 neighbours that the model is right about."
)


@dataclass(frozen=True)
class OverviewTask(TrainedTask):
    """A trained model and what it did with one node."""

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        [(data, config)] = self.runs(setup)
        run(config, data, work, resume=(work / "config.json").exists(), environment=Environment(setup.cache))
        finished = FinishedRun.of(config, data, work, setup.cache)
        trained = finished.trained(0)
        assert isinstance(trained, TrainedANSGT)
        node = interesting_node(trained, data, finished.split(0))
        return {
            "dataset": self.dataset,
            "split": config.split,
            "seconds": sum(result["seconds"] for result in finished.folder.results()),
            **looked_at(trained, node),
        }


def interesting_node(trained: TrainedANSGT, data: Dataset, split: Split) -> int:
    """The first test node with a few neighbours that the model is right about."""
    degree = data.graph.degree
    right = trained.predict_proba(split.test).argmax(dim=-1) == data.graph.y[split.test]
    few = [int(node) for node, ok in zip(split.test, right, strict=True) if ok and degree[node] in DEGREES]
    return few[0] if few else int(split.test[0])


def looked_at(trained: TrainedANSGT, node: int) -> dict[str, Any]:
    """What the model does with a node, as a record keeps it."""
    pipeline, graph = trained.pipeline, trained.graph
    centre = torch.tensor([node])
    [[attention]] = trained.attentions(centre)
    drawn = pipeline.draw(centre, trained.p, INFERENCE_ROUND)
    ids = drawn.sequences.ids[0].long().numpy()
    mask = drawn.sequences.mask[0].numpy()
    chosen = int(mask.sum(axis=1).argmax())
    assert pipeline.coarse is not None
    coarse_adj = sp.csr_array(pipeline.coarse.adj)
    proposals = {
        name: _first(heuristic.rows(np.array([node])), PROPOSED)
        for name, heuristic in zip(attention.heuristics, pipeline.heuristics, strict=True)
    }
    share = attention.share[chosen] / max(float(attention.share[chosen].sum()), 1e-12)
    return {
        "node": node,
        "num_nodes": graph.num_nodes,
        "num_supernodes": coarse_adj.shape[0],
        "class": graph.class_name(int(attention.probabilities.argmax())),
        "heuristics": attention.heuristics,
        "p": [round(float(p), 4) for p in trained.p],
        "proposals": proposals,
        "sequence": [int(i) for i in ids[chosen]],
        "mask": [bool(real) for real in mask[chosen]],
        "kind": [int(kind) for kind in attention.layout.kind],
        "num_sequences": len(ids),
        "share": [round(float(one), 5) for one in share],
        "brought": [attention.heuristics[int(k)] for k in attention.posterior[:, chosen].argmax(axis=0)],
        "around": _around(
            sp.csr_array(graph.adj), [node, *(i for row in proposals.values() for i, _ in row)], DRAWN_NODES
        ),
        "coarse": _around(coarse_adj, [int(pipeline.coarse.assignment[node])], SUPERNODES),
        "assigned": int(pipeline.coarse.assignment[node]),
    }


def _first(row: Any, most: int) -> list[tuple[int, float]]:
    """The highest entries of a heuristic's row."""
    row = sp.csr_array(row)
    order = np.argsort(-row.data, kind="stable")[:most]
    return [(int(row.indices[at]), round(float(row.data[at]), 4)) for at in order]


def _around(adj: sp.csr_array, wanted: Sequence[int], most: int) -> dict[str, Any]:
    """The wanted nodes and what is next to them, laid out."""
    nodes = list(dict.fromkeys(wanted))
    for node in list(nodes):
        nodes += [int(i) for i in adj.indices[adj.indptr[node] : adj.indptr[node + 1]] if int(i) not in nodes]
    kept = np.array(sorted(nodes[:most]))
    part = sp.csr_array(adj[kept][:, kept])
    part = sp.csr_array(part - sp.diags_array(part.diagonal()))
    part.eliminate_zeros()
    edges = np.stack(sp.triu(part, k=1).nonzero(), axis=1)
    place = lay_out(part)
    return {
        "nodes": kept.tolist(),
        "place": np.round(place, 3).tolist(),
        "edges": edges.tolist(),
    }


class FigOverview(Item):
    name = "fig-overview"
    place = "Figure 2"
    title = "The model at work on one node."
    has_presets = False

    def tasks(self, setup: Setup) -> Sequence[OverviewTask]:
        dataset = "newman-0.75" if setup.quick else "cora"
        overrides = {**HIERARCHY, "train.epochs": 3} if setup.quick else HIERARCHY
        return [
            OverviewTask(
                path=self.path(setup, dataset),
                seconds=5.0 if setup.quick else training_seconds(dataset, 1),
                model="ansgt",
                dataset=dataset,
                split="uniform-60-20-20",
                num_splits=1,
                overrides=overrides,
            )
        ]

    def show(self, records: Records, setup: Setup) -> Shown:
        [task] = self.tasks(setup)
        found = records.get(task.path, task.seconds)
        heads = ["heuristic", "p_k (%)", "nodes that it proposes first"]
        if found is None:
            row: list[Entry] = ["-", Number(None, record=f"{task.path}.json"), "-"]
            return Shown([Table(self.title, heads, [row])])
        content = found.content
        rows: list[list[Entry]] = [
            [
                name,
                Number(100 * p, record=found.path, source=found),
                ", ".join(f"{node} ({q:.2f})" for node, q in content["proposals"][name]),
            ]
            for name, p in zip(content["heuristics"], content["p"], strict=True)
        ]
        title = f"Node {content['node']} of {content['dataset']}: who proposes whom (Q_k in brackets)."
        remark = REMARK.format(proposed=PROPOSED, sequences=content["num_sequences"])
        picture = Picture(self.title, lambda axes: _draw(axes, content), 7.6, 3.4, 3)
        return Shown([Table(title, heads, rows, digits=1)], [remark], [picture])


def _draw(axes: Any, content: Mapping[str, Any]) -> None:
    _draw_graph(axes[0], content)
    _draw_coarse(axes[1], content)
    _draw_sequence(axes[2], content)


def _net(axis: Any, drawing: Mapping[str, Any], middle: int | None = None) -> dict[int, np.ndarray]:
    """Draws nodes and edges; around a middle node distances are drawn as their square roots, so that the near is legible."""
    place = np.array(drawing["place"], dtype=float)
    if middle in drawing["nodes"]:
        arrows = place - place[drawing["nodes"].index(middle)]
        lengths = np.linalg.norm(arrows, axis=1, keepdims=True)
        place = arrows / np.sqrt(np.maximum(lengths, 1e-9))
    for one, other in drawing["edges"]:
        axis.plot(*place[[one, other]].T, color="#cccccc", linewidth=0.6, zorder=1)
    axis.scatter(*place.T, s=12, color="#bbbbbb", zorder=2, linewidths=0)
    axis.set_axis_off()
    return dict(zip(drawing["nodes"], place, strict=True))


def _draw_graph(axis: Any, content: Mapping[str, Any]) -> None:
    at = _net(axis, content["around"], content["node"])
    for k, (name, row) in enumerate(content["proposals"].items()):
        points = np.array([at[node] for node, _ in row if node in at])
        if len(points):
            ring = {"facecolors": "none", "edgecolors": COLORS.get(name, GREY), "linewidths": 1.3}
            axis.scatter(*points.T, s=70 + 45 * k, zorder=3, label=name, **ring)
    axis.scatter(*at[content["node"]], s=60, color=CENTRE, zorder=4)
    axis.set_title(f"(a) proposals to node {content['node']}", fontsize=9)
    axis.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=4,
        fontsize=7,
        handletextpad=0.6,
        columnspacing=0.7,
    )


def _draw_coarse(axis: Any, content: Mapping[str, Any]) -> None:
    at = _net(axis, content["coarse"])
    n = content["num_nodes"]
    used = [i - n for i, real in zip(content["sequence"], content["mask"], strict=True) if real and i >= n]
    points = np.array([at[one] for one in used if one in at])
    axis.scatter(*points.T, s=80, color=SUPER, edgecolors="black", linewidths=0.7, zorder=3)
    axis.scatter(*at[content["assigned"]], s=80, color=SUPER, edgecolors=CENTRE, linewidths=1.6, zorder=4)
    axis.set_title(f"(b) its {len(used)} of {content['num_supernodes']} super-nodes", fontsize=9)


def _draw_sequence(axis: Any, content: Mapping[str, Any]) -> None:
    """Slots from top to bottom, the share of significance as a bar."""
    names, colors, shares = [], [], []
    n, sampled = content["num_nodes"], iter(content["brought"])
    for token, real, kind, share in zip(
        content["sequence"], content["mask"], content["kind"], content["share"], strict=True
    ):
        brought = next(sampled) if kind == 1 else ""
        if not real:
            continue
        names.append(["centre", f"{brought}  {token}", f"super-node {token - n}", "global"][kind])
        colors.append([CENTRE, COLORS.get(brought, GREY), SUPER, GLOBAL][kind])
        shares.append(100 * share)
    rows = np.arange(len(names))[::-1]
    axis.barh(rows, shares, color=colors, height=0.8)
    axis.set_yticks(rows, names, fontsize=6.5)
    axis.set_xlabel("share of significance (%)", fontsize=8)
    axis.tick_params(axis="x", labelsize=7.5)
    axis.set_title("(c) one sequence, (d) its attention", fontsize=9)
