"""`check_coarsener`: whether a coarsener of your own keeps the contract of `CoarseGraph`."""

import math
from dataclasses import replace

import numpy as np
import torch

from ansgt.coarsening import CoarseGraph, Coarsener, CoarsenerLike
from ansgt.graph import Graph
from ansgt.testing.graphs import demand, other_labels, small_graphs, unchanged

RATES = (0.05, 0.3, 1.0)


def check_coarsener(coarsener: CoarsenerLike | type) -> None:
    """Raises `AssertionError`, with a sentence that says what is wrong, unless the coarsener keeps its contract.

    It coarsens small graphs, among them one with isolated nodes and one without edges. Every node must be in one
    super-node, all derived fields must follow from that, the same graph must give the same super-nodes, labels must not
    matter, and the graph must stay as it was. A subclass of `Coarsener` must also reach the rates it is asked for, or say
    why not.

    Args:
        coarsener: a class that is built without arguments, or an object.

    >>> from ansgt.coarsening import HeavyEdge
    >>> check_coarsener(HeavyEdge)
    """
    made = coarsener() if isinstance(coarsener, type) else coarsener
    demand(isinstance(made, CoarsenerLike), f"{type(made).__name__} lacks a method fit.")
    for graph in small_graphs():
        who = f"{type(made).__name__} on the graph '{graph.name}'"
        with unchanged(graph, who):
            coarse = made.fit(graph)
            check_coarse(graph, coarse, who)
        again = made.fit(replace(graph))
        demand(
            np.array_equal(again.assignment, coarse.assignment),
            f"{who} gives other super-nodes when it runs a second time.",
        )
        blind = made.fit(other_labels(graph))
        demand(np.array_equal(blind.assignment, coarse.assignment), f"{who} looks at the labels.")
    if isinstance(made, Coarsener):
        _check_rates(type(made))


def _check_rates(coarsener: type[Coarsener]) -> None:
    for graph in small_graphs():
        for rate in RATES:
            coarse = coarsener(rate=rate).fit(graph)
            who = f"{coarsener.__name__}(rate={rate}) on the graph '{graph.name}'"
            check_coarse(graph, coarse, who)
            wanted = max(1, math.ceil(rate * graph.num_nodes - 1e-9))
            demand(
                coarse.num_supernodes == wanted or coarse.reason is not None,
                f"{who} makes {coarse.num_supernodes} super-nodes in place of {wanted} and gives no reason.",
            )


def check_coarse(graph: Graph, coarse: CoarseGraph, who: str = "The coarsener") -> None:
    """Raises `AssertionError` unless the coarse graph fits the graph; every field is computed anew, densely."""
    n, m = graph.num_nodes, coarse.num_supernodes
    assignment = np.asarray(coarse.assignment)
    demand(assignment.shape == (n,), f"{who}: assignment has shape {assignment.shape} in place of ({n},).")
    demand(assignment.dtype == np.int64, f"{who}: assignment holds {assignment.dtype}, not int64.")
    named = sorted(set(assignment.tolist()))
    demand(named == list(range(m)), f"{who}: assignment does not use each of 0..{m - 1}, and no others.")
    one_hot = np.zeros((n, m))
    one_hot[np.arange(n), assignment] = 1
    sizes = one_hot.sum(axis=0)
    P = one_hot / np.sqrt(sizes)
    x = graph.x.to_dense().numpy()
    _check_close(coarse.P.toarray(), P, f"{who}: P is not the one-hot assignment over the root of the size.")
    _check_close(coarse.adj.toarray(), P.T @ graph.adj.toarray() @ P, f"{who}: adj is not PᵀAP.")
    _check_close(coarse.x.numpy(), P.T @ x, f"{who}: x is not PᵀX.")
    means = one_hot.T @ x / sizes[:, None]
    _check_close(coarse.x_mean.numpy(), means, f"{who}: x_mean is not the mean of the features.")
    single = coarse.x.dtype == coarse.x_mean.dtype == torch.float32
    demand(single, f"{who}: x and x_mean hold {coarse.x.dtype} and {coarse.x_mean.dtype}, not float32.")
    demand(coarse.rate_reached == m / n, f"{who}: rate_reached is {coarse.rate_reached}, not {m / n}.")
    share = sizes.max() / n
    demand(coarse.largest_share == share, f"{who}: largest_share is {coarse.largest_share}, not {share}.")
    demand(coarse.seconds.get("total", -1) >= 0, f"{who}: seconds has no total.")


def _check_close(found: np.ndarray, expected: np.ndarray, sentence: str) -> None:
    demand(found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-5), sentence)
