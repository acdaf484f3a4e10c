"""Super-nodes from a graph (section 3.3): one class a method, behind one base."""

from typing import Any

from ansgt.coarsening.algebraic import AlgebraicJC
from ansgt.coarsening.base import CoarseGraph, Coarsener
from ansgt.coarsening.communities import Louvain
from ansgt.coarsening.heavy_edge import HeavyEdge
from ansgt.coarsening.variation import VariationEdges, VariationNeighborhoods
from ansgt.errors import unknown_name
from ansgt.testing import random_graph

COARSENERS: dict[str, type[Coarsener]] = {
    "vn": VariationNeighborhoods,
    "ve": VariationEdges,
    "jc": AlgebraicJC,
    "heavy-edge": HeavyEdge,
    "louvain": Louvain,
}
"""Name on the command line -> class."""


def resolve(coarsener: str | Coarsener, **settings: Any) -> Coarsener:
    """A coarsener from its name and settings, or the object itself.

    >>> resolve("VN", rate=0.5)
    VariationNeighborhoods(rate=0.5, seed=0)
    """
    if isinstance(coarsener, Coarsener):
        return coarsener
    if str(coarsener).lower() not in COARSENERS:
        raise unknown_name("coarsener", coarsener, COARSENERS)
    return COARSENERS[str(coarsener).lower()](**settings)


def warm_up(coarsener: Coarsener) -> None:
    """Compiles a coarsener's kernels, or loads them from numba's cache, so that a timed `fit` is only work."""
    type(coarsener)(rate=0.1, seed=0).fit(random_graph(600, num_isolated=100))


__all__ = [
    "COARSENERS",
    "AlgebraicJC",
    "CoarseGraph",
    "Coarsener",
    "HeavyEdge",
    "Louvain",
    "VariationEdges",
    "VariationNeighborhoods",
    "resolve",
    "warm_up",
]
