"""Sampling heuristics (section 5.1): which nodes might matter to a centre, as one distribution per centre."""

from collections.abc import Callable
from typing import Any

from ansgt.errors import unknown_name
from ansgt.heuristics.base import Heuristic, HeuristicLike
from ansgt.heuristics.hops import OneHop, TwoHop
from ansgt.heuristics.knn import KNN
from ansgt.heuristics.ppr import PPR

HEURISTICS: dict[str, Callable[..., Heuristic]] = {"1-hop": OneHop, "2-hop": TwoHop, "knn": KNN, "ppr": PPR}
"""The paper's four, in its order of mention."""


def resolve(heuristic: str | HeuristicLike, **settings: Any) -> HeuristicLike:
    """A heuristic from its name and settings, or the object itself.

    >>> resolve("ppr", restart_prob=0.2).restart_prob
    0.2
    """
    if not isinstance(heuristic, str):
        return heuristic
    if heuristic not in HEURISTICS:
        raise unknown_name("heuristic", heuristic, HEURISTICS)
    return HEURISTICS[heuristic](**settings)


__all__ = ["HEURISTICS", "KNN", "PPR", "Heuristic", "HeuristicLike", "OneHop", "TwoHop", "resolve"]
