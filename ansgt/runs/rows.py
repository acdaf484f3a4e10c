"""What `ansgt prepare` does: the rows of a run's heuristics, stored before it, in bounded memory."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ansgt.config import RunConfig
from ansgt.device import peak_memory
from ansgt.errors import InputError
from ansgt.features import compared_features
from ansgt.graph import Graph
from ansgt.heuristics import StoredHeuristic, heuristic_names, stored_heuristics
from ansgt.prediction.ansgt import AdaptiveSettings
from ansgt.ranks import ranks
from ansgt.settings import fitted
from ansgt.storage import DiskCache


@dataclass(frozen=True)
class Stored:
    """How far the rows of one heuristic have come."""

    heuristic: str
    rows: int
    num_rows: int


OnRows = Callable[[Stored], object]
"""Called for every heuristic once it is known what is there, and then after every block of rows."""


def store_rows(
    config: RunConfig, graph: Graph, cache: DiskCache, on_rows: OnRows = lambda stored: None
) -> dict[str, Any]:
    """Computes and stores what is absent or damaged of the rows that a run with these settings reads.

    Every shard is finished for itself: a process that was killed goes on where it was.

    Returns:
        What `ansgt prepare --json` prints: the store, its shards, the seconds and the peak of the process's memory.
    """
    began = time.perf_counter()
    with peak_memory("cpu") as peak:
        stored = row_stores(config, graph, cache)
        if not stored:
            raise InputError("There is nothing to store: no heuristic of the settings is one of ansgt's.")
        complete(stored, on_rows)
    return {
        "dataset": config.dataset,
        "store": str(_folder(stored)),
        "heuristics": heuristic_names(stored),
        "shards": sum(len(heuristic.shards) for heuristic in stored),
        "bytes": sum(heuristic.shards.bytes() for heuristic in stored),
        "seconds": time.perf_counter() - began,
        "peak_bytes": peak.bytes,
    }


def complete(stored: list[StoredHeuristic], on_rows: OnRows = lambda stored: None) -> None:
    """Computes and stores what is absent or damaged.

    Several processes share the shards; where their caches are not one folder, each then computes what its own lacks.
    """
    if not ranks().alone:
        _store_together(stored, on_rows)
    for name, heuristic in zip(heuristic_names(stored), stored, strict=True):
        if ranks().alone or not heuristic.is_complete:
            for done in heuristic.complete():
                on_rows(Stored(name, done, heuristic.num_nodes))


def _store_together(stored: list[StoredHeuristic], on_rows: OnRows) -> None:
    """Every process takes the next shard that nobody has, the later heuristics first, which take longest.

    Each begins with another heuristic: what comes before a heuristic's first row (an index of neighbours) is not shared.
    """
    names = heuristic_names(stored)
    absent = ranks().told([one.absent() for one in stored] if ranks().leads else [])
    purpose = ranks().told(f"rows {time.time()}")
    places = [(len(stored) - 1 - ranks().rank - turn) % len(stored) for turn in range(len(stored))]
    for place in places:
        while (turn := ranks().next_number(f"{purpose} {place}")) < len(absent[place]):
            number, rows = absent[place][turn], 0
            for done in stored[place].store(number):
                rows += done
                on_rows(Stored(f"{names[place]}, shard {number + 1}", rows, len(stored[place].nodes(number))))
    ranks().wait()


def row_stores(config: RunConfig, graph: Graph, cache: DiskCache) -> list[StoredHeuristic]:
    """The stores of a run's heuristics, whether they are there or not; a heuristic of the user's own has none."""
    settings = fitted(AdaptiveSettings, config.settings, "model").check(graph)
    compared = graph.with_features(compared_features(graph.x, config.data, torch.device(config.device)))
    return stored_heuristics(settings, compared, cache)


def _folder(stored: list[StoredHeuristic]) -> Path:
    """Where the stores of one graph lie together."""
    return stored[0].shards.folder.parent
