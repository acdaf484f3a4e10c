"""`ansgt bench sampling`: seconds to draw all sequences, growth, against torch.multinomial; and one resample of a data set.

Lower bound of the work: psi reads K · C float32 per centre (4 KB at K = 4, C = 256). With replacement a draw is one binary
search, log2(C) steps; without, every candidate's clock is hashed for every sequence (S · C hashes of about 2 ns).
"""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

MODES = ("distinct", "with", "without")


class Case(NamedTuple):
    """How many nodes are drawn from how many candidates, and where."""

    num_candidates: int = 256
    num_sampled: int = 20
    num_sequences: int = 8
    device: str = "cpu"


def bench(
    sizes: Annotated[str, typer.Option(help="Numbers of centres.")] = "5000,20000,80000,320000",
    num_sampled: Annotated[int, typer.Option(help="N.")] = 20,
    num_sequences: Annotated[int, typer.Option(help="S.")] = 8,
    num_candidates: Annotated[int, typer.Option(help="Candidates of a centre (four heuristics x 64).")] = 256,
    modes: Annotated[str, typer.Option(help="Sampling modes.")] = ",".join(MODES),
    peer_size: Annotated[
        int, typer.Option(help="Centres of the comparison with torch.multinomial; 0: none.")
    ] = 5000,
    data: Annotated[
        str, typer.Option(help="A data set: time one whole resample of it (S=16), proximities ready.")
    ] = "",
    root: Annotated[
        Path, typer.Option(envvar="ANSGT_DATA", help="Folder with the raw data sets; never written to.")
    ] = Path("data"),
    cache_dir: Annotated[
        Path | None, typer.Option(help="Where processed files go (default: the user's cache).")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")] = False,
) -> dict[str, Any]:
    """Time the sampler: growth over graph sizes, ratios against torch.multinomial, one resample of a data set."""
    from ansgt.bench.measure import growth_exponent, isolated, sizes_of

    case = Case(num_candidates, num_sampled, num_sequences, device)
    wanted, rows, ratios = sizes_of(sizes), [], {}
    for mode in modes.split(","):
        found = [isolated(measure_draw, mode, size, case) for size in wanted]
        rows += found
        if len(wanted) > 1:
            seconds = [row["seconds"] for row in found]
            ratios[f"growth exponent, {mode}"] = growth_exponent(wanted, seconds)
        if peer_size:
            ratios[f"torch.multinomial / ansgt, {mode}"] = isolated(compare, mode, peer_size, case)["ratio"]
    if data:
        rows += isolated(measure_resample, data, str(root), cache_dir, device, modes)["rows"]
    return {"name": "sampling", "rows": rows, "ratios": ratios}


def random_mixture(num_centres: int, num_candidates: int, device: str) -> Any:
    """Four heuristics with random weights on random candidates; each proposes a quarter of them."""
    import torch

    from ansgt.sampling import Mixture

    generator = torch.Generator().manual_seed(0)
    step = torch.randint(1, 50, (num_centres, num_candidates), generator=generator, dtype=torch.int32)
    Q = torch.zeros(4, num_centres, num_candidates)
    for k in range(4):
        Q[k, :, k::4] = torch.rand(num_centres, Q[k, :, k::4].shape[1], generator=generator) ** 4
        Q[k] /= Q[k].sum(dim=1, keepdim=True)
    lengths = torch.full((num_centres,), num_candidates)
    active = torch.ones(4, num_centres, dtype=torch.bool)
    return Mixture(step.cumsum(dim=1, dtype=torch.int32), lengths, Q, active).to(device)


def measure_draw(mode: str, size: int, case: Case) -> dict[str, Any]:
    """Seconds to draw the sequences of all centres."""
    import torch

    from ansgt.bench.measure import fastest

    sampler = _sampler(random_mixture(size, case.num_candidates, case.device), mode, case)
    nodes, p = torch.arange(size, device=case.device), [0.25] * 4
    sampler.draw(nodes[:100], p)
    seconds = fastest(lambda: sampler.draw(nodes, p), case.device, repeats=1)
    return {"mode": mode, "num_nodes": size, "seconds": seconds}


def compare(mode: str, size: int, case: Case) -> dict[str, float]:
    """torch.multinomial on the same psi; it has no merging, no masks and no draw that is independent of the batch."""
    import torch

    from ansgt.bench.measure import fastest

    mixture = random_mixture(size, case.num_candidates, case.device)
    sampler = _sampler(mixture, mode, case)
    nodes, p = torch.arange(size, device=case.device), torch.full((4,), 0.25)
    ours = fastest(lambda: sampler.draw(nodes, p), case.device)

    def peer() -> None:
        psi = mixture.psi(p).float().repeat_interleave(case.num_sequences, dim=0)
        torch.multinomial(psi, case.num_sampled, replacement=mode != "without")

    return {"ratio": fastest(peer, case.device) / ours}


def _sampler(mixture: Any, mode: str, case: Case) -> Any:
    from ansgt.sampling import NodeSampler

    return NodeSampler(mixture, num_sampled=case.num_sampled, num_sequences=case.num_sequences, mode=mode)


def measure_resample(name: str, root: str, cache_dir: Any, device: str, modes: str) -> dict[str, Any]:
    """Times one round of all centres (N = 20, S = 16): drawing, tables, gathering all proximities (M = 10) once."""
    import torch

    from ansgt.bench.measure import fastest
    from ansgt.datasets import load_graph
    from ansgt.heuristics import HEURISTICS, resolve
    from ansgt.sampling import Mixture, NodeSampler
    from ansgt.sequences import Proximity, SequenceBuilder, SequenceLayout

    graph = load_graph(name, root=root, cache_dir=cache_dir)
    heuristics = [resolve(key).fit(graph) for key in HEURISTICS]
    mixture = Mixture.from_heuristics(heuristics, graph.num_nodes).to(device)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    proximity = Proximity(dtype=dtype).fit(graph, device=device)
    builder = SequenceBuilder(graph, SequenceLayout(20, 0, 2), proximity)
    nodes = torch.arange(graph.num_nodes, device=device)
    rows = []
    for mode in modes.split(","):
        sampler = NodeSampler(mixture, num_sampled=20, num_sequences=16, mode=mode)

        def resample(sampler: Any = sampler) -> None:
            builder.resample(sampler.draw(nodes, [0.25] * 4))

        def gather_all() -> None:
            for part in torch.split(nodes, 256):
                builder.batch(part)

        seconds, gathered = fastest(resample, device), fastest(gather_all, device)
        rows.append(
            {
                "data": name,
                "mode": mode,
                "num_nodes": graph.num_nodes,
                "seconds": seconds,
                "gather_seconds": gathered,
                "table": proximity.mode_,
            }
        )
    return {"rows": rows}
