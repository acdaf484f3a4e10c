"""`ansgt bench proximity`: seconds, memory and error of the three ways to get Phi, against plain sparse powers.

Lower bound of one round's work: every pair of every sequence is written once, B · T² · M numbers; exact propagation adds
(M-1) · (2|E| + n) · U multiply-adds for U distinct tokens, truncated propagation at most (M-1) · sqrt(degree) / eps per
distinct token.
"""

import time
from typing import Annotated, Any

import typer


def bench(
    sizes: Annotated[
        str, typer.Option(help="Nodes of the generated power-law graphs.")
    ] = "5000,20000,80000,320000",
    num_centres: Annotated[int, typer.Option(help="Centres; with 4 sequences of 21 tokens each.")] = 500,
    num_proximity: Annotated[int, typer.Option(help="M.")] = 10,
    eps: Annotated[str, typer.Option(help="Cuts of the approximate mode.")] = "0.01,0.003,0.001,0.0003",
    exact_limit: Annotated[int, typer.Option(help="Largest graph on which the exact modes run.")] = 20_000,
    peer_size: Annotated[int, typer.Option(help="Nodes of the comparison with scipy; 0: none.")] = 3000,
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Time the proximities: growth over graph sizes, error of the approximation, ratio against sparse powers."""
    from ansgt.bench.measure import growth_exponent, isolated, sizes_of

    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    wanted = sizes_of(sizes)
    cuts = [float(part) for part in eps.split(",") if part.strip()]
    for size in wanted:
        rows += isolated(measure, size, num_centres, num_proximity, cuts, exact_limit)["rows"]
    for mode in dict.fromkeys(row["mode"] for row in rows):
        found = [row for row in rows if row["mode"] == mode]
        if len(found) > 1:
            sizes_found = [row["num_nodes"] for row in found]
            ratios[f"growth exponent, {mode}"] = growth_exponent(sizes_found, [r["seconds"] for r in found])
    if peer_size:
        ratios |= isolated(compare, peer_size, num_centres, num_proximity)["ratios"]
    return {"name": "proximity", "rows": rows, "ratios": ratios}


def make_tokens(size: int, num_centres: int) -> tuple[Any, Any]:
    """A graph, and sequences of 21 near nodes each, whose pairs are like those of real sequences."""
    import numpy as np
    import torch

    from ansgt.bench.graphs import power_law_graph
    from ansgt.heuristics import TwoHop
    from ansgt.sampling import Mixture, NodeSampler

    graph = power_law_graph(size, 8.0)
    centres = np.random.default_rng(0).choice(size, min(num_centres, size), replace=False)
    mixture = Mixture.from_heuristics([TwoHop(max_candidates=64).fit(graph)], size, nodes=centres)
    sampler = NodeSampler(mixture, num_sampled=20, num_sequences=4, mode="distinct")
    nodes = torch.from_numpy(np.sort(centres))
    drawn = sampler.draw(nodes, [1.0])
    centre = nodes[:, None, None].expand(-1, 4, 1)
    return graph, torch.cat([centre, torch.where(drawn.mask, drawn.ids, -1)], dim=-1).flatten(0, 1)


def measure(
    size: int, num_centres: int, num_proximity: int, cuts: list[float], exact_limit: int
) -> dict[str, Any]:
    graph, ids = make_tokens(size, num_centres)
    rows, exact = [], None
    if size <= exact_limit:
        row, exact = _run(graph, ids, num_proximity, "blocked", 0.0)
        rows.append(row)
    for cut in cuts:
        row, found = _run(graph, ids, num_proximity, "approximate", cut)
        if exact is not None:
            off = (found - exact)[..., 1:]
            row["max_error"] = float(off.abs().max())
            row["relative_error"] = float(off.norm() / exact[..., 1:].norm())
        rows.append(row)
    return {"rows": rows}


def _run(graph: Any, ids: Any, num_proximity: int, mode: str, eps: float) -> tuple[dict[str, Any], Any]:
    from ansgt.sequences import Proximity

    proximity = Proximity(num_proximity, mode=mode, eps=eps).fit(graph)
    proximity.pairs(ids[:2], ids[:2] >= 0)  # compile
    began = time.perf_counter()
    phi = proximity.pairs(ids, ids >= 0)
    seconds = time.perf_counter() - began
    name = mode if mode == "blocked" else f"approximate {eps:g}"
    return {"mode": name, "num_nodes": graph.num_nodes, "sequences": len(ids), "seconds": seconds}, phi


def compare(size: int, num_centres: int, num_proximity: int) -> dict[str, Any]:
    """Times the proximities against scipy's sparse powers, looked up pair by pair, as one would write it first."""
    import numpy as np

    from ansgt.linalg import gcn_norm
    from ansgt.sequences import Proximity

    graph, ids = make_tokens(size, num_centres)
    mask = ids >= 0
    began = time.perf_counter()
    proximity = Proximity(num_proximity, mode="dense").fit(graph)
    proximity.pairs(ids, mask)
    dense = time.perf_counter() - began
    began = time.perf_counter()
    proximity.pairs(ids, mask)
    gather = time.perf_counter() - began
    began = time.perf_counter()
    matrix = gcn_norm(graph)
    power, index = matrix, ids.clamp(min=0).numpy()
    rows = np.broadcast_to(index[:, :, None], (*index.shape, index.shape[1])).ravel()
    columns = np.broadcast_to(index[:, None, :], (*index.shape, index.shape[1])).ravel()
    for _ in range(num_proximity - 1):
        np.asarray(power[rows, columns])
        power = power @ matrix
    peer = time.perf_counter() - began
    ratios = {"scipy powers / ansgt dense": peer / dense, "scipy powers / ansgt gather": peer / gather}
    return {"ratios": ratios}
