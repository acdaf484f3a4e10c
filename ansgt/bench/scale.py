"""`ansgt bench scale`: what every stage takes as graphs grow, and accuracy against seconds beside full-batch GraphSAGE.

Graphs are `synthetic-<nodes>`, written as a file whose features lie beside it. Every size and every model has a process of
its own, so that its peak of memory is its own. Seconds are those of the CPU, all threads together: on a machine that others
use they say more than the clock, which is there too. Compiling is not in them. Lower bounds of the work, for n nodes, |E|
edges, k candidates, p features, T centres: the rows are 8 n k bytes to write, the mixture reads them once; a redraw makes
T S N draws; GraphSAGE with h channels multiplies 4 n h (p + h + C) and adds 2 |E| (p + 2 h) numbers per pass forward.

The peer is `torch_geometric.nn.GraphSAGE`, three layers of 256 channels, dropout 0.5, Adam at 0.01, the whole graph at once,
its neighbours' mean a product with a CSR matrix (the fastest way that PyG has without further packages). It trains as many
CPU seconds as ANS-GT took from the file to the predictions of all nodes. Scoring is in neither's seconds, but the last
prediction of all nodes is in ours.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from ansgt.graph import Graph
    from ansgt.heuristics import HeuristicLike
    from ansgt.training.adaptive import AdaptiveLearner

OURS, PEER = "ANS-GT", "GraphSAGE (PyG)"
WIDTH, LAYERS, DROPOUT, RATE = 256, 3, 0.5, 0.01
"""Of the peer."""
SCORED = 5000
"""Test nodes that a point of a curve is scored on."""
BLOCK, PARTS = 4096, 8
"""Centres whose candidates and draws are measured at a time, and how many times: what all take is in proportion."""
WARM = 7000
"""Nodes of a graph that takes every path of a large one, on which kernels are compiled."""
KEPT = 14
"""Arrays [nodes, WIDTH] that the peer holds at its peak: activations, their gradients, what dropout keeps."""


@dataclass(frozen=True)
class Case:
    """What every size has in common."""

    mean_degree: float = 14.0
    train_share: float = 0.54
    epochs: int | None = 4
    overrides: tuple[str, ...] = ()
    seed: int = 0

    def name(self, size: int) -> str:
        return f"synthetic-{size}-{self.mean_degree:g}+train_share={self.train_share:g}+seed={self.seed}"

    def settings(self) -> list[str]:
        """Overrides for `train`: a short run warms up for a quarter of its steps."""
        if self.epochs is None:
            return list(self.overrides)
        return [f"epochs={self.epochs}", f"warmup_epochs={self.epochs // 4}", *self.overrides]


@dataclass
class Clock:
    """What stages took, and the CPU seconds that count so far."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        from ansgt.device import peak_memory

        began, cpu = time.perf_counter(), time.process_time()
        with peak_memory("cpu") as peak:
            yield
        row = {
            "stage": name,
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - cpu,
        }
        self.rows.append({**row, "peak_gb": None if peak.bytes is None else peak.bytes / 1e9})

    def total(self) -> dict[str, Any]:
        """A row for all stages so far: their seconds together, and the highest of their peaks."""
        peaks = [row["peak_gb"] for row in self.rows if row["peak_gb"] is not None]
        sums = {name: sum(row[name] for row in self.rows) for name in ("seconds", "cpu_seconds")}
        return {"stage": "total", **sums, "peak_gb": max(peaks, default=None)}


def bench(
    sizes: Annotated[str, typer.Option(help="Nodes of the generated graphs.")] = "20000,170000,1000000",
    mean_degree: Annotated[float, typer.Option(help="Mean degree of the graphs.")] = 14.0,
    train_share: Annotated[float, typer.Option(help="Share of the nodes that are trained on.")] = 0.54,
    epochs: Annotated[
        int | None,
        typer.Option(help="Epochs of ANS-GT (default: its settings'); the peer trains as many seconds."),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("-o", "--override", metavar="KEY=VALUE", help="Change one setting of ANS-GT."),
    ] = None,
    peer: Annotated[bool, typer.Option(help="Train PyG's GraphSAGE on the same graphs.")] = True,
    picture: Annotated[
        Path | None, typer.Option(help="Draw growth and accuracy against seconds to this file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the graphs.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Time every stage on growing graphs: CPU seconds, peak memory, exponents; accuracy against PyG's GraphSAGE."""
    import shutil
    import tempfile

    from ansgt.bench.measure import isolated, sizes_of

    case = Case(mean_degree, train_share, epochs, tuple(override or ()), seed)
    rows: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="ansgt-scale-") as folder:
        isolated(warm_up, folder)
        for size in sizes_of(sizes):
            path = Path(folder) / str(size) / "graph.npz"
            isolated(write, path, case, size)
            found = isolated(measure, path, case)
            rows += [{"num_nodes": size, **row} for row in found["rows"]]
            curves.append({"num_nodes": size, "model": OURS, **found["curve"]})
            if peer:
                other = isolated(train_peer, path, case, found["curve"]["cpu_seconds"])
                curves.append({"num_nodes": size, "model": PEER, **other})
            shutil.rmtree(path.parent)
    if picture is not None:
        draw(rows, curves, picture)
    return {"name": "scale", "rows": rows, "curves": curves, "ratios": {**exponents(rows), **beside(curves)}}


def write(path: Path, case: Case, size: int) -> dict[str, Any]:
    """Generates a graph and stores it with its split, features beside it."""
    from ansgt.datasets import load
    from ansgt.datasets.custom import write_graph

    data = load(case.name(size))
    write_graph(path, data.graph, data.split(), features_beside=True)
    return {"num_edges": data.graph.num_edges}


def warm_up(folder: str) -> dict[str, Any]:
    """Goes through all stages on a small graph: what is compiled lies on disk afterwards."""
    path = Path(folder) / "warm.npz"
    case = Case(mean_degree=6.0, epochs=1)
    write(path, case, WARM)
    measure(path, case)
    return {}


def measure(path: Path, case: Case) -> dict[str, Any]:
    """All stages of ANS-GT on one graph, one after the other; rows of the heuristics are stored, as by `ansgt prepare`."""
    import torch

    from ansgt.heuristics import heuristic_names
    from ansgt.runs import seeds
    from ansgt.runs.prepare import prepare_run
    from ansgt.runs.rows import row_stores
    from ansgt.storage import DiskCache
    from ansgt.training.adaptive import AdaptiveLearner

    clock, cache = Clock(), DiskCache(path.parent / "cache")
    with clock.stage("load"):
        data, config = prepare_run(str(path), device="cpu", overrides=case.settings(), seed=case.seed)
        graph, split = data.graph, data.split()
    stores = row_stores(config, graph, cache)
    for name, store in zip(heuristic_names(stores), stores, strict=True):
        with clock.stage(name):
            for _ in store.complete():
                pass
    seeds.seed_building(config.seed, 0)
    with clock.stage("set-up"):
        learner = AdaptiveLearner(config, graph, split, seeds.draw_seed(config.seed, 0), cache)
    scored, points = sample(split.test), []
    for epoch in range(config.train.epochs):
        seeds.seed_epoch(config.seed, 0, epoch)
        with clock.stage(f"epoch {epoch + 1}"):
            learner.train_epoch(epoch)
        accuracy = score(learner.trained.predict_proba(scored), graph, scored)
        points.append({"cpu_seconds": clock.total()["cpu_seconds"], "accuracy": accuracy})
    with clock.stage("prediction"):
        probabilities = learner.trained.predict_proba(torch.arange(graph.num_nodes))
    total, accuracy = clock.total(), score(probabilities[split.test], graph, split.test)
    points.append({"cpu_seconds": total["cpu_seconds"], "accuracy": accuracy})
    return {
        "rows": [*clock.rows, total, *parts(learner, stores, split.train)],
        "curve": {"cpu_seconds": total["cpu_seconds"], "accuracy": accuracy, "points": points},
    }


def parts(
    learner: "AdaptiveLearner", stores: "Sequence[HeuristicLike]", train: "Tensor"
) -> list[dict[str, Any]]:
    """What set-up and an epoch consist of, by itself: the coarse graph; candidates and draws of the training centres."""
    from ansgt.coarsening import fit_coarsener
    from ansgt.sampling import Mixture, NodeSampler
    from ansgt.storage import DiskCache

    clock, settings, graph = Clock(), learner.settings, learner.trained.graph
    with clock.stage("coarsening"):
        fit_coarsener(settings, graph, 0, DiskCache(None))
    size = {"num_sampled": settings.num_sampled, "num_sequences": settings.num_augmentations}
    blocks = train.split(BLOCK)[:PARTS]
    mixtures = []
    with clock.stage("mixture"):
        for block in blocks:
            mixtures.append(Mixture.from_heuristics(stores, graph.num_nodes, block.numpy()))
    with clock.stage("draw"):
        for block, mixture in zip(blocks, mixtures, strict=True):
            NodeSampler(mixture, **size, mode=settings.mode).draw(block, learner.trained.p)
    share = len(train) / sum(map(len, blocks))
    for row in clock.rows[1:]:
        row["seconds"], row["cpu_seconds"] = row["seconds"] * share, row["cpu_seconds"] * share
    return clock.rows


def sample(nodes: "Tensor") -> "Tensor":
    """At most `SCORED` of the nodes, the same whenever they are asked for."""
    import numpy as np
    import torch

    chosen = np.random.RandomState(0).permutation(len(nodes))[:SCORED]
    return nodes[torch.from_numpy(np.sort(chosen))]


def score(probabilities: "Tensor", graph: "Graph", nodes: "Tensor") -> float:
    return float((probabilities.argmax(dim=1) == graph.y[nodes]).float().mean())


def train_peer(path: Path, case: Case, seconds: float) -> dict[str, Any]:
    """PyG's GraphSAGE for that many CPU seconds; a point after every epoch that took its share of them."""
    import torch
    from torch_geometric.nn import GraphSAGE

    from ansgt.datasets import load
    from ansgt.device import available_bytes

    began = time.process_time()
    data = load(str(path))
    graph, split = data.graph, data.split()
    if 4 * KEPT * WIDTH * graph.num_nodes > available_bytes(torch.device("cpu")):
        return {"cpu_seconds": None, "accuracy": None, "points": [], "epochs": 0}
    torch.manual_seed(case.seed)
    indptr, indices = torch.from_numpy(graph.indptr), torch.from_numpy(graph.indices).long()
    adj = torch.sparse_csr_tensor(indptr, indices, torch.ones(len(indices)), size=(graph.num_nodes,) * 2)
    model = GraphSAGE(graph.num_features, WIDTH, LAYERS, graph.num_classes, dropout=DROPOUT)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    points: list[dict[str, float]] = []
    spent, epochs, scored = time.process_time() - began, 0, 0.0
    while spent < seconds or not points:
        began = time.process_time()
        model.train()
        optimizer.zero_grad()
        out = model(graph.x, adj)[split.train]
        torch.nn.functional.cross_entropy(out, graph.y[split.train]).backward()
        optimizer.step()
        del out
        spent, epochs = spent + time.process_time() - began, epochs + 1
        if spent - scored >= seconds / 40 or spent >= seconds:
            scored = spent
            model.eval()
            with torch.no_grad():
                accuracy = score(model(graph.x, adj)[split.test], graph, split.test)
            points.append({"cpu_seconds": spent, "accuracy": accuracy})
    return {"cpu_seconds": spent, "accuracy": points[-1]["accuracy"], "points": points, "epochs": epochs}


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How the CPU seconds of every stage grow with the number of nodes."""
    from ansgt.bench.measure import growth_exponent

    found = {}
    for stage in dict.fromkeys(row["stage"] for row in rows):
        chosen = [row for row in rows if row["stage"] == stage]
        if len(chosen) > 1:
            sizes = [row["num_nodes"] for row in chosen]
            found[f"growth exponent, {stage}"] = growth_exponent(
                sizes, [row["cpu_seconds"] for row in chosen]
            )
    return found


def beside(curves: list[dict[str, Any]]) -> dict[str, float]:
    """Test accuracies at the end, and ours less the peer's."""
    found: dict[str, float] = {}
    for size in dict.fromkeys(curve["num_nodes"] for curve in curves):
        ends = {c["model"]: c["accuracy"] for c in curves if c["num_nodes"] == size}
        found |= {f"{model}, {size} nodes: test accuracy": end for model, end in ends.items()}
        if ends.get(PEER) is not None:
            found[f"{OURS} less the peer, {size} nodes"] = ends[OURS] - ends[PEER]
    return found


def draw(rows: list[dict[str, Any]], curves: list[dict[str, Any]], path: Path) -> None:
    """CPU seconds of the stages against the number of nodes; then, for every size, accuracy against CPU seconds."""
    from ansgt.plotting import figure

    sizes = list(dict.fromkeys(row["num_nodes"] for row in rows))
    with figure(path, 4.6 * (len(sizes) + 1), 3.6, columns=len(sizes) + 1) as (growth, *panels):
        draw_growth(growth, rows)
        for axes, size in zip(panels, sizes, strict=True):
            draw_curves(axes, [curve for curve in curves if curve["num_nodes"] == size])


def draw_growth(axes: Any, rows: list[dict[str, Any]]) -> None:
    """One line per stage, logarithm against logarithm, its name at its end."""
    from math import ceil, floor, log10

    from ansgt.plotting import COLORS, GREY, direct_labels

    colors = {**COLORS, "load": GREY, "coarsening": "#6b5aa5", "epoch 1": "#222222", "prediction": "#2f9c9c"}
    ends, values = {}, []
    for stage, color in colors.items():
        points = [
            (log10(row["num_nodes"]), log10(max(row["cpu_seconds"], 0.01)))
            for row in rows
            if row["stage"] == stage
        ]
        if points:
            axes.plot(*zip(*points, strict=True), "o-", color=color, markersize=3, linewidth=1.4)
            ends[stage] = (points[-1][1], color)
            values += [value for _, value in points]
    sizes = sorted({row["num_nodes"] for row in rows})
    axes.set(xlabel="nodes", ylabel="CPU seconds", title="stages")
    axes.set_xticks([log10(size) for size in sizes], [f"{size:,}" for size in sizes])
    decades = range(floor(min(values)), ceil(max(values)) + 1)
    axes.set_yticks(decades, [f"{10.0**decade:g}" for decade in decades])
    axes.grid(color=GREY, alpha=0.2, linewidth=0.6)
    direct_labels(axes, log10(sizes[-1]), ends)


def draw_curves(axes: Any, curves: list[dict[str, Any]]) -> None:
    """Test accuracy of both models against their CPU seconds."""
    from ansgt.plotting import GREY

    colors = {OURS: "#3b6fb6", PEER: GREY}
    for curve in curves:
        points = [(point["cpu_seconds"], 100 * point["accuracy"]) for point in curve["points"]]
        if points:
            label = f"{curve['model']} {points[-1][1]:.1f} %"
            style = {"color": colors[curve["model"]], "markersize": 3, "linewidth": 1.4}
            axes.plot(*zip(*points, strict=True), "o-", label=label, **style)
    axes.set(xlabel="CPU seconds", ylabel="test accuracy, %", title=f"{curves[0]['num_nodes']:,} nodes")
    axes.set_xlim(left=0)
    axes.legend(loc="best")
    axes.grid(color=GREY, alpha=0.2, linewidth=0.6)
