"""What every stage will take of the memory, before any work: what is held, what is streamed, and where nothing fits.

Three things grow with the graph beyond the graph itself. Each has a way that needs little, with the same numbers:

================  ==========================================  ====================================================
what              held                                        otherwise
================  ==========================================  ====================================================
heuristics' rows  of all nodes, as CSR                        computed anew for every block of centres
mixture           a table of all nodes' candidates            built for every block of centres
sequences         of all training centres, for a whole round  drawn block by block by a thread ahead of training
================  ==========================================  ====================================================
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch

from ansgt.device import (
    available_bytes,
    is_main_memory,
    process_memory,
    table_limit,
    unused_bytes,
    working_dtype,
)
from ansgt.errors import TooLargeError
from ansgt.graph import Graph
from ansgt.heuristics.base import SMALL, candidate_limit
from ansgt.ranks import ranks
from ansgt.sequences import SequenceLayout, SequenceSettings
from ansgt.settings import num_bytes
from ansgt.stages import note

Way = Literal["held", "streamed"]
Rows = Literal["held", "computed", "stored", "asked"]
"""computed: anew for every block of centres, where a row does not depend on its block; asked: of any heuristic."""

SMALL_TABLE = 1 << 30
"""Larger tables of candidates are streamed on a CPU even where they would fit: they cost as much to read as to make. So are
larger tables of sequences, if they are made anew for every epoch anyway."""
PORTION = 16_384
"""Nodes that are drawn for at a time when many are predicted, unless that would take more than `LARGE_PORTION`."""
LARGE_PORTION = 1 << 29
BLOCK_BYTES = 1 << 26
"""What the sequences of a streamed block of centres may take; three blocks are there at a time."""
FEW = 16
"""Nodes of a graph per node that is asked for, from which on these are few."""
CHUNK = 256
"""Centres that are predicted at a time; portions and blocks are multiples."""
FOR_FEW: list[tuple[Rows, Way, Way, bool]] = [("asked", "streamed", "held", False)]
"""The way where few nodes are asked for: their rows, candidates and sequences alone."""
_PROPOSAL = 8
"""Bytes of an entry of a heuristic's rows: a node and a weight."""
_SLOT = 8 + 1 + 8 + 8
"""Bytes of a drawn node as the sampler gives it: id, mask, count, position."""
_TOKEN = 4 + 1 + 4
"""Bytes of a token in the builder's tables: id, mask, log of its count."""


@dataclass(frozen=True)
class Load:
    """How much work there is.

    Args:
        num_centres: training centres.
        batch_size: of them.
        width: hidden channels of the transformer.
        num_layers: of the transformer.
        redrawn: whether every epoch has new sequences.
        asked: how many nodes are to be predicted, where that is known.
    """

    num_centres: int = 0
    batch_size: int = 32
    width: int = 128
    num_layers: int = 1
    redrawn: bool = False
    asked: int | None = None

    def is_small(self, num_nodes: int) -> bool:
        """Whether so few of the nodes are asked for that nothing of all nodes is worth computing."""
        return self.asked is not None and num_nodes > SMALL and FEW * self.asked <= num_nodes


@dataclass(frozen=True)
class Plan:
    """What is held, and the bytes that were estimated.

    Args:
        rows: rows of the heuristics.
        mixture: candidates of every node.
        sequences: sequences of the training centres.
        dense: whether all pairs' proximities are a table.
        portion: nodes whose sequences are drawn at a time for prediction.
        kept: nodes whose sequences are kept between predictions.
        block: centres of a streamed block.
        budget: what may be taken.
        parts: bytes by what takes them, for what is held to the end and, as "at work", the largest of what comes and goes.
    """

    rows: Rows
    mixture: Way
    sequences: Way
    dense: bool
    portion: int
    kept: int
    block: int
    budget: int
    parts: dict[str, int]

    @property
    def bytes(self) -> int:
        """Estimated peak."""
        return sum(self.parts.values())

    @property
    def sentence(self) -> str:
        """What was chosen, on one line."""
        return (
            f"memory: about {_gigabytes(self.bytes)} of {_gigabytes(self.budget)}; heuristics' rows {self.rows}, "
            f"candidates {self.mixture}, sequences {self.sequences}"
        )

    @property
    def ways(self) -> dict[str, Any]:
        """What was chosen, for the record."""
        return {
            "rows": self.rows,
            "candidates": self.mixture,
            "sequences": self.sequences,
            "dense": self.dense,
        }


def plan_sequences(
    graph: Graph, settings: SequenceSettings, device: torch.device, load: Load = Load(), stored: bool = False
) -> Plan:
    """The plan that holds the most within the budget; raises `TooLargeError` where even the least does not fit.

    Args:
        graph: with the features that models see.
        settings: of all stages.
        device: where the tables lie.
        load: of training.
        stored: whether the heuristics' rows lie on disk.
    """
    sizes = _Sizes(graph, settings, device, load)
    budget = _budget(settings, device)
    choices = _choices(sizes, stored) if not load.is_small(graph.num_nodes) else FOR_FEW
    plan = next(
        (plan for plan in (sizes.plan(*one, budget) for one in choices) if plan.bytes <= budget), None
    )
    if plan is None:
        raise _refusal(sizes.plan(*choices[-1], budget), settings)
    plan = sizes.keeping(plan)
    if graph.num_nodes >= PORTION or "held" not in (plan.rows, plan.mixture, plan.sequences):
        note(plan.sentence)
    return plan


def _choices(sizes: "_Sizes", stored: bool) -> list[tuple[Rows, Way, Way, bool]]:
    """Ways, the one that holds most first."""
    kept: Rows = "stored" if stored else "held"
    fits = sizes.dense <= table_limit(sizes.device)
    least: Rows = "stored" if stored else "computed"
    choices: list[tuple[Rows, Way, Way, bool]] = [
        (kept, "held", "held", fits),
        (kept, "streamed", "held", fits),
        (kept, "streamed", "streamed", fits),
        (kept, "streamed", "streamed", False),
        (least, "streamed", "streamed", False),
    ]
    if not is_main_memory(sizes.device):
        return choices
    if not sizes.load.redrawn:
        return choices[1:] if sizes.mixture > SMALL_TABLE else choices
    large = max(sizes.mixture, sizes.sequences) > SMALL_TABLE
    shared: list[tuple[Rows, Way, Way, bool]] = [(kept, "held", "streamed", fits)]
    if not ranks().alone:  # a process draws its share of a stream, but all of what is held
        return choices[2:] if large else shared + choices[2:]
    return choices[2:] if large else choices


def _budget(settings: SequenceSettings, device: torch.device) -> int:
    """Bytes that the process (or the device) may come to hold."""
    if settings.memory is not None:
        return num_bytes(settings.memory) or 0
    if is_main_memory(device):
        return (process_memory() or (0, 0))[0] + available_bytes(device) // (2 * ranks().local_size)
    return unused_bytes(device) // 2


class _Sizes:
    """Bytes of every part, from counts alone."""

    def __init__(self, graph: Graph, settings: SequenceSettings, device: torch.device, load: Load) -> None:
        self.graph, self.settings, self.device, self.load = graph, settings, device, load
        self.num_coarse = round(graph.num_nodes * settings.coarsening_rate) if settings.num_supernodes else 0
        self.entry = working_dtype(device, settings.amp).itemsize
        self.layout = SequenceLayout(settings.num_sampled, settings.num_supernodes, settings.num_global)
        proposals = [_proposals(graph, settings, one) for one in settings.active_heuristics]
        n, number = graph.num_nodes, len(proposals)
        self.candidates = min(max(n - 1, 1), sum(most for _, most in proposals))
        self.candidate = self.candidates * 4 * (1 + number)
        self.rows = int(sum(mean for mean, _ in proposals) * n * _PROPOSAL)
        knn = [
            mean for (mean, _), one in zip(proposals, settings.active_heuristics, strict=True) if one == "knn"
        ]
        self.least_rows = int(sum(knn) * n * _PROPOSAL)
        self.largest_rows = int(max((mean for mean, _ in proposals), default=0) * n * _PROPOSAL)
        self.mixture = n * self.candidate
        self.dense = (n + self.num_coarse + 1) ** 2 * settings.num_proximity * self.entry
        self.sequences = load.num_centres * self.centre(settings.num_augmentations, dense=False)
        self.features = 4 * (graph.x.numel() if graph.x.layout == torch.strided else 3 * graph.x._nnz())

    def centre(self, num_sequences: int, dense: bool) -> int:
        """The sequences of one centre: what the sampler gives, and the builder's tables with proximities."""
        chosen, length = self.settings, self.layout.length
        rows = 1 if chosen.centre_only else length
        pairs = 0 if dense else rows * length * chosen.num_proximity * self.entry
        return num_sequences * (_SLOT * chosen.num_sampled + _TOKEN * length + pairs)

    def plan(self, rows: Rows, mixture: Way, sequences: Way, dense: bool, budget: int) -> Plan:
        chosen, load, n = self.settings, self.load, self.graph.num_nodes
        number = chosen.num_inference or chosen.num_augmentations
        drawn = self.centre(number, dense) + (self.candidate if mixture == "streamed" else 0) // 4
        portion = int(np.clip(LARGE_PORTION // drawn // CHUNK, 1, PORTION // CHUNK)) * CHUNK
        trained = self.centre(chosen.num_augmentations, dense)
        block = max(1, BLOCK_BYTES // (trained * load.batch_size)) * load.batch_size
        pairs = self.dense if dense else 0
        links = len(self.graph.indices)
        parts = {
            "already held": (process_memory() or (0, 0))[0] if is_main_memory(self.device) else 0,
            "features": self.features + self.features * self.num_coarse // max(n, 1),
            "heuristics' rows": {"held": self.rows, "computed": self.least_rows, "stored": 0, "asked": 0}[
                rows
            ],
            "candidates": self.mixture if mixture == "held" else 0,
            "proximities": pairs or links * 24 + n * 40,
            "coarse graph": n * 40 if self.num_coarse else 0,
            "sequences": load.num_centres * trained
            if sequences == "held"
            else 3 * min(block, load.num_centres) * trained,
            "predictions": n * (8 * self.graph.num_classes + 16),
        }
        streamed = min(n, 4096) * self.candidate * 3 // 2 if mixture == "streamed" else 0
        at_work = {
            "rows": self.largest_rows if rows == "held" else min(n, 4096) * self.candidate,
            "coarsening": links * 60 + n * 300 if self.num_coarse else 0,
            "training": streamed
            + self._step()
            + load.num_centres * chosen.num_augmentations * chosen.num_sampled * 4,
            "prediction": streamed + 3 * min(portion, n) * self.centre(number, dense),
        }
        parts["at work"] = max(at_work.values())
        return Plan(rows, mixture, sequences, dense, portion, portion, block, budget, parts)

    def keeping(self, plan: Plan) -> Plan:
        """The plan, with as many kept sequences for prediction as half of what is left has room for."""
        number = self.settings.num_inference or self.settings.num_augmentations
        room = (plan.budget - plan.bytes) // 2 // self.centre(number, plan.dense)
        if is_main_memory(self.device):
            room = min(room, SMALL_TABLE // self.centre(number, plan.dense))
        kept = max(plan.portion, min(room, self.graph.num_nodes))
        asked = min(kept, self.graph.num_nodes - self.load.num_centres)  # in training: at most all the others
        beyond = max(0, asked - plan.portion)  # one portion is at work anyway
        parts = {**plan.parts, "kept sequences": beyond * self.centre(number, plan.dense)}
        return Plan(**{**asdict(plan), "kept": kept, "parts": parts})

    def _step(self) -> int:
        """What a training step holds for its backward pass: some ten numbers per channel, token and layer."""
        load = self.load
        tokens = load.batch_size * self.settings.num_augmentations * self.layout.length
        full = max(load.num_layers - 1, 0) + 0.5
        return int(tokens * load.width * 10 * 4 * full) + 4 * tokens * load.width


def _proposals(graph: Graph, settings: SequenceSettings, heuristic: Any) -> tuple[float, int]:
    """Candidates that a heuristic proposes to a node: the mean and the most there can be."""
    n, limit = graph.num_nodes, candidate_limit(settings, graph.num_nodes)
    most = max(n - 1, 1) if limit is None else min(limit, max(n - 1, 1))
    if heuristic == "1-hop":
        counts = graph.degree
    elif heuristic == "2-hop":
        counts = graph.degree + graph.adj @ graph.degree
    elif heuristic == "knn" and settings.num_neighbors is not None:
        return float(min(most, settings.num_neighbors)), min(most, settings.num_neighbors)
    else:
        return float(most), most
    counts = np.minimum(counts, most)
    return float(counts.mean()), int(counts.max(initial=1))


def _refusal(plan: Plan, settings: SequenceSettings) -> TooLargeError:
    largest = max((name for name in plan.parts if name != "already held"), key=plan.parts.__getitem__)
    advice = "set memory higher" if settings.memory is not None else "free memory or take a larger machine"
    return TooLargeError(
        f"Even with everything streamed this graph needs about {_gigabytes(plan.bytes)} of memory, of which "
        f"{_gigabytes(plan.parts[largest])} for {largest}, and {_gigabytes(plan.budget)} are allowed: {advice}, or choose "
        "smaller max_candidates, batch_size or num_augmentations."
    )


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
