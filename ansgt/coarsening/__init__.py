"""Super-nodes from a graph (section 3.3): one class per method, behind one base."""

from typing import Any, Protocol

import numpy as np

from ansgt.coarsening.algebraic import AlgebraicJC
from ansgt.coarsening.base import CoarseGraph, Coarsener, CoarsenerLike
from ansgt.coarsening.heavy_edge import HeavyEdge, Louvain
from ansgt.coarsening.multilevel import VariationEdges, VariationNeighborhoods
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.storage import DiskCache

COARSENERS: dict[str, type[Coarsener]] = {
    "vn": VariationNeighborhoods,
    "ve": VariationEdges,
    "jc": AlgebraicJC,
    "heavy-edge": HeavyEdge,
    "louvain": Louvain,
}
"""Name on the command line -> class."""


class CoarseSettings(Protocol):
    """The settings that decide the coarse graph; `ansgt.sequences.SequenceSettings` says what they mean."""

    @property
    def num_supernodes(self) -> int: ...
    @property
    def coarsening_method(self) -> str | CoarsenerLike: ...
    @property
    def coarsening_rate(self) -> float: ...
    @property
    def super_features(self) -> str: ...


def resolve(coarsener: str | CoarsenerLike, **settings: Any) -> CoarsenerLike:
    """A coarsener from its name and settings, or the object itself.

    >>> resolve("VN", rate=0.5)
    VariationNeighborhoods(rate=0.5, seed=0)
    """
    if isinstance(coarsener, str):
        if coarsener.lower() not in COARSENERS:
            raise unknown_name("coarsener", coarsener, COARSENERS)
        return COARSENERS[coarsener.lower()](**settings)
    if isinstance(coarsener, type) or not isinstance(coarsener, CoarsenerLike):
        raise InputError(
            f"A coarsener is a name ({', '.join(COARSENERS)}) or an object with fit, not {coarsener!r}."
        )
    return coarsener


def fit_coarsener(
    settings: CoarseSettings, graph: Graph, seed: int = 0, cache: DiskCache | None = None
) -> CoarseGraph | None:
    """The coarse graph that the settings ask for, with the features they ask for; None without super-nodes."""
    if settings.num_supernodes == 0:
        return None
    coarsener = resolve(settings.coarsening_method, rate=settings.coarsening_rate, seed=seed, cache=cache)
    coarse = coarsener.fit(graph)
    return coarse.with_means() if settings.super_features == "mean" else coarse


def warm_up(coarsener: CoarsenerLike) -> None:
    """Compiles a coarsener's kernels, or loads them from numba's cache, so that a timed `fit` is only work.

    An object of the user's own may not be built anew, and is left alone.
    """
    if not isinstance(coarsener, Coarsener):
        return
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 500, size=(2, 1_500))  # the last hundred nodes have none
    x = rng.normal(size=(600, 16)).astype(np.float32)
    type(coarsener)(rate=0.1, seed=0).fit(Graph.from_arrays(x, edges, name="warm-up"))


__all__ = [
    "COARSENERS",
    "AlgebraicJC",
    "CoarseGraph",
    "CoarseSettings",
    "Coarsener",
    "CoarsenerLike",
    "HeavyEdge",
    "Louvain",
    "VariationEdges",
    "VariationNeighborhoods",
    "fit_coarsener",
    "resolve",
    "warm_up",
]
