"""`check_heuristic`: whether a heuristic of your own keeps the contract that the sampler relies on."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ansgt.graph import Graph
from ansgt.heuristics import Heuristic, HeuristicLike
from ansgt.testing.graphs import demand, fail, other_labels, small_graphs, unchanged


def check_heuristic(heuristic: HeuristicLike | type) -> None:
    """Raises `AssertionError`, with a sentence that says what is wrong, unless the heuristic keeps its contract.

    It is fitted on small graphs, among them one with isolated nodes and one without edges. There its rows must be
    distributions over the other nodes, or empty; the same for the same graph, whatever nodes are asked for together;
    independent of the labels; and the graph must stay as it was.

    Args:
        heuristic: a class that is built without arguments, or an object, which is copied for every graph.

    >>> from ansgt.heuristics import OneHop
    >>> check_heuristic(OneHop)
    """
    for graph in small_graphs():
        _check_on(heuristic, graph)
    if isinstance(heuristic, Heuristic) or (isinstance(heuristic, type) and issubclass(heuristic, Heuristic)):
        _check_bound(heuristic)


def check_rows(rows: Any, nodes: np.ndarray, num_nodes: int, who: str = "The heuristic") -> None:
    """Raises `AssertionError` unless `rows` [len(nodes), num_nodes] are distributions over the others, or empty."""
    demand(sp.issparse(rows), f"{who} gives rows of type {type(rows).__name__}, not a scipy.sparse array.")
    shape = (len(nodes), num_nodes)
    demand(rows.shape == shape, f"{who} gives rows of shape {rows.shape} in place of {shape}.")
    rows = sp.csr_array(rows)
    demand(
        np.issubdtype(rows.dtype, np.floating), f"{who} gives rows of {rows.dtype}, not of floating point."
    )
    demand(np.isfinite(rows.data).all(), f"{who} gives rows with entries that are not finite.")
    owner = np.repeat(nodes, np.diff(rows.indptr))
    negative = rows.data < 0
    if negative.any():
        fail(f"{who} gives node {owner[negative][0]} a negative probability.")
    own = (rows.indices == owner) & (rows.data > 0)
    if own.any():
        fail(f"{who} proposes node {owner[own][0]} to itself.")
    sums = np.asarray(rows.sum(axis=1)).ravel()
    wrong = (sums > 0) & (np.abs(sums - 1) > 1e-5)
    if wrong.any():
        fail(f"{who} gives node {nodes[wrong][0]} a row of sum {sums[wrong][0]:.6g}, not 1.")


def _check_on(heuristic: HeuristicLike | type, graph: Graph) -> None:
    who = f"{_name(heuristic)} on the graph '{graph.name}'"
    everyone = np.arange(graph.num_nodes)
    with unchanged(graph, who):
        fitted = _fitted(heuristic, graph, who)
        whole = _rows(fitted, everyone, graph.num_nodes, who)
        _check_parts(fitted, whole, who)
    again = _fitted(heuristic, replace(graph), who).rows(everyone).toarray()
    demand(np.array_equal(again, whole), f"{who} gives other rows when it is fitted a second time.")
    blind = _fitted(heuristic, other_labels(graph), who).rows(everyone).toarray()
    demand(np.array_equal(blind, whole), f"{who} looks at the labels.")


def _check_parts(fitted: HeuristicLike, whole: np.ndarray, who: str) -> None:
    n = len(whole)
    asked = np.random.default_rng(0).permutation(np.repeat(np.arange(n), 2))
    for size in (1, 3, len(asked)):
        for start in range(0, len(asked), size):
            nodes = asked[start : start + size]
            demand(
                np.allclose(_rows(fitted, nodes, n, who), whole[nodes], atol=1e-6),
                f"{who} gives a node another row when {size} nodes are asked for together.",
            )
    nobody = fitted.rows(np.array([], dtype=np.int64))
    demand(nobody.shape == (0, n), f"{who} gives rows of shape {nobody.shape} for no node at all.")


def _rows(fitted: HeuristicLike, nodes: np.ndarray, num_nodes: int, who: str) -> np.ndarray:
    """Checked rows [len(nodes), n], dense."""
    asked = nodes.copy()
    found = fitted.rows(asked)
    demand(np.array_equal(asked, nodes), f"{who} changes the nodes it is given.")
    check_rows(found, nodes, num_nodes, who)
    return np.asarray(found.toarray())


def _check_bound(heuristic: HeuristicLike | type) -> None:
    """Of a `Heuristic`: `max_candidates` keeps the largest entries of a row and scales them to sum 1."""
    graph = small_graphs()[2]
    everyone = np.arange(graph.num_nodes)
    bounded, free = _new(heuristic), _new(heuristic)
    bounded.max_candidates, free.max_candidates = 3, None
    rows = sp.csr_array(bounded.fit(graph).rows(everyone))
    who = f"{_name(heuristic)} with max_candidates=3"
    demand(np.diff(rows.indptr).max() <= 3, f"{who} proposes {np.diff(rows.indptr).max()} nodes to one.")
    largest = np.sort(free.fit(graph).rows(everyone).toarray(), axis=1)[:, -3:]
    sums = largest.sum(axis=1, keepdims=True)
    expected = np.divide(largest, sums, out=np.zeros_like(largest), where=sums > 0)
    kept = np.sort(rows.toarray(), axis=1)[:, -3:]
    demand(np.allclose(kept, expected, atol=1e-5), f"{who} does not keep the three largest of a row.")


def _new(heuristic: HeuristicLike | type) -> Any:
    return heuristic() if isinstance(heuristic, type) else copy.deepcopy(heuristic)


def _fitted(heuristic: HeuristicLike | type, graph: Graph, who: str) -> HeuristicLike:
    made = _new(heuristic)
    demand(isinstance(made, HeuristicLike), f"{_name(heuristic)} lacks a method fit or rows.")
    fitted = made.fit(graph)
    demand(
        isinstance(fitted, HeuristicLike), f"{who}: fit returns {fitted!r}, not the heuristic that it fitted."
    )
    found: HeuristicLike = fitted
    return found


def _name(heuristic: HeuristicLike | type) -> str:
    return heuristic.__name__ if isinstance(heuristic, type) else type(heuristic).__name__
