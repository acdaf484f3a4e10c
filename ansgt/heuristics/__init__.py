"""Sampling heuristics (section 5.1): which nodes might matter to a centre, as one distribution per centre."""

from collections.abc import Sequence
from typing import Any

from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.heuristics.base import Heuristic, HeuristicLike, HeuristicSettings
from ansgt.heuristics.hops import OneHop, TwoHop
from ansgt.heuristics.knn import KNN
from ansgt.heuristics.ppr import PPR
from ansgt.heuristics.store import StoredHeuristic
from ansgt.storage import DiskCache

HEURISTICS: dict[str, type[Heuristic]] = {"1-hop": OneHop, "2-hop": TwoHop, "knn": KNN, "ppr": PPR}
"""The paper's four, in its order of mention."""


def resolve(heuristic: str | HeuristicLike, **settings: Any) -> HeuristicLike:
    """A heuristic from its name and the keywords of its constructor, or the object itself.

    >>> resolve("ppr", restart_prob=0.2).restart_prob
    0.2
    """
    return _class_of(heuristic)(**settings) if isinstance(heuristic, str) else _checked(heuristic)


def fit_heuristics(
    settings: HeuristicSettings, graph: Graph, cache: DiskCache | None = None, rows: str = "held"
) -> list[HeuristicLike]:
    """The heuristics that the settings name or hold, fitted on `graph`.

    Each heuristic of a name reads its own settings (`Heuristic.from_settings`). An object keeps the settings it was built
    with, and is fitted unless it already is, on this graph. Where the rows of a heuristic are stored (`ansgt prepare`) they
    are read from there.

    Args:
        rows: "held": bounded rows of all nodes are computed now and kept; "computed": those that go row by row are computed
            when they are asked for; "asked": those of every heuristic are.
    """
    return [_fitted(heuristic, settings, graph, cache, rows) for heuristic in settings.active_heuristics]


def stored_heuristics(settings: HeuristicSettings, graph: Graph, cache: DiskCache) -> list[StoredHeuristic]:
    """Those of the settings' heuristics whose rows can be stored: all but a user's own, of which we cannot know what decides
    its rows. Nothing is computed."""
    built = [_built(heuristic, settings, graph, cache) for heuristic in settings.active_heuristics]
    found = [_stored(heuristic, graph, cache) for heuristic in built]
    return [heuristic for heuristic in found if heuristic is not None]


def rows_are_stored(settings: HeuristicSettings, graph: Graph, cache: DiskCache) -> bool:
    """Whether `fit_heuristics` would find the rows of all heuristics on disk."""
    stored = stored_heuristics(settings, graph, cache)
    return len(stored) == len(settings.active_heuristics) and all(one.is_complete for one in stored)


def heuristic_names(heuristics: Sequence[HeuristicLike]) -> list[str]:
    """What records call heuristics: by their registered names, others by their class; a second one of a name gets a number.

    >>> heuristic_names([PPR(), OneHop(), PPR(restart_prob=0.5)])
    ['ppr', '1-hop', 'ppr 2']
    """
    registered: dict[type, str] = {kind: name for name, kind in HEURISTICS.items()}
    names: list[str] = []
    for heuristic in heuristics:
        kind = type(heuristic.heuristic if isinstance(heuristic, StoredHeuristic) else heuristic)
        name = registered.get(kind, kind.__name__)
        earlier = sum(known == name or known.startswith(f"{name} ") for known in names)
        names.append(f"{name} {earlier + 1}" if earlier else name)
    return names


def measured(heuristics: Sequence[HeuristicLike]) -> dict[str, dict[str, Any]]:
    """What approximate heuristics know of their error, by name, for the record."""
    known = [one for one in heuristics if isinstance(one, Heuristic | StoredHeuristic)]
    names = dict(zip(map(id, heuristics), heuristic_names(heuristics), strict=True))
    found = {names[id(one)]: one.measured() for one in known}
    return {name: facts for name, facts in found.items() if facts}


def _fitted(
    heuristic: str | HeuristicLike,
    settings: HeuristicSettings,
    graph: Graph,
    cache: DiskCache | None,
    rows: str,
) -> HeuristicLike:
    built = _built(heuristic, settings, graph, cache)
    if isinstance(built, Heuristic) and built.is_fitted_on(graph):
        return built
    stored = None if rows == "asked" else _stored(built, graph, cache)
    if stored is not None and stored.is_complete:
        return stored
    if isinstance(built, Heuristic) and (rows == "asked" or (rows == "computed" and built.row_by_row)):
        return built.attach(graph, few=rows == "asked")
    return _checked(built.fit(graph))


def _built(
    heuristic: str | HeuristicLike, settings: HeuristicSettings, graph: Graph, cache: DiskCache | None
) -> HeuristicLike:
    if isinstance(heuristic, str):
        return _class_of(heuristic).from_settings(settings, graph.num_nodes, cache)
    return _checked(heuristic)


def _stored(heuristic: HeuristicLike, graph: Graph, cache: DiskCache | None) -> StoredHeuristic | None:
    """The same heuristic with its rows on disk, whether they are there or not; None where they cannot be."""
    if cache is None or cache.directory is None or type(heuristic) not in HEURISTICS.values():
        return None
    assert isinstance(heuristic, Heuristic)
    return StoredHeuristic(heuristic, cache).fit(graph)


def _class_of(name: str) -> type[Heuristic]:
    if name.lower() not in HEURISTICS:
        raise unknown_name("heuristic", name, HEURISTICS)
    return HEURISTICS[name.lower()]


def _checked(heuristic: HeuristicLike) -> HeuristicLike:
    if isinstance(heuristic, type) or not isinstance(heuristic, HeuristicLike):
        known = ", ".join(HEURISTICS)
        raise InputError(
            f"A heuristic is a name ({known}) or an object with fit and rows, not {heuristic!r}."
        )
    return heuristic


__all__ = [
    "HEURISTICS",
    "KNN",
    "PPR",
    "Heuristic",
    "HeuristicLike",
    "HeuristicSettings",
    "OneHop",
    "StoredHeuristic",
    "TwoHop",
    "fit_heuristics",
    "heuristic_names",
    "measured",
    "resolve",
    "rows_are_stored",
    "stored_heuristics",
]
