"""Graphs of any size to measure on: degree-corrected blocks with power-law degrees and noisy features.

An edge is a function of the seed and its number alone, so the edges are made twice, to count and to place them, and are
never held as a list: the peak of memory is the adjacency matrix, the features and a block of them.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit

from ansgt.device import available_bytes
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.linalg import narrow
from ansgt.settings import NonNegative, Range, Seed, Share

LARGEST_SHARE, LARGEST_DEGREE = 0.1, 20_000
"""No node is expected to have more neighbours than this share of the nodes or this many, as in ogbn-products."""
TOLERANCE = 0.05
"""Share of the edges that may be missing because pairs were drawn twice, before more are drawn."""
_ROUNDS = 4
_BLOCK = 65_536
"""Nodes whose features are drawn at once."""


@dataclass(frozen=True)
class SyntheticSettings:
    """What a synthetic graph looks like; the defaults have the shape of ogbn-arxiv."""

    num_nodes: Annotated[int, Range(10, 2**31 - 1)] = 10_000
    mean_degree: Annotated[float, Range(0, 10_000)] = 14.0
    """Reached within `TOLERANCE`: where hubs meet, a pair is drawn more than once and counts once."""
    num_classes: Annotated[int, Range(2, 10_000)] = 40
    num_features: Annotated[int, Range(1, 100_000)] = 128
    homophily: Share = 0.6
    """Expected share of edges within a class."""
    noise: NonNegative = 0.45
    """Standard deviation around the centre of a class, a vector of length 1; with the default the best that features alone
    can do is to be right about half of the time."""
    exponent: Annotated[float, Range(2, 100, open_low=True)] = 2.5
    """The number of nodes of degree d falls like d^-exponent."""
    train_share: Share = 0.54
    val_share: Share = 0.18
    """What neither has is the test part."""
    seed: Seed = 0


def synthetic_graph(settings: SyntheticSettings) -> tuple[Graph, Split]:
    """A graph with a split, both functions of the settings alone.

    Classes have the same size. Node i has the weight w_i = u^(-1 / (exponent - 1)) of a power law. It begins about
    w_i |E| / sum(w) edges, whose other ends are drawn in proportion to w: from its own class with probability
    `homophily`, else from the others.

    >>> synthetic_graph(SyntheticSettings(num_nodes=1000, num_features=8))[0]
    Graph('synthetic-1000', num_nodes=1000, num_edges=..., num_features=8, num_classes=40)
    """
    _check(settings)
    rng = np.random.RandomState([settings.seed % 2**32, settings.seed // 2**32])  # a frozen stream (NEP 19)
    n, num_classes = settings.num_nodes, settings.num_classes
    y = rng.permutation(np.arange(n, dtype=np.int64) % num_classes)
    weight = _weights(settings, rng)
    order = np.argsort(y, kind="stable")
    blocks = _Blocks(
        y,
        order.astype(np.int32),
        np.concatenate([[0.0], np.cumsum(weight[order])]),
        np.searchsorted(y[order], np.arange(num_classes + 1)),
    )
    indptr, indices = _edges(weight, blocks, settings, rng)
    x = _features(y, settings, rng)
    graph = Graph(
        torch.from_numpy(x),
        indptr,
        indices,
        torch.from_numpy(y),
        num_classes,
        np.zeros(n, dtype=bool),
        f"synthetic-{n}",
    )
    return graph, _split(settings, rng)


class _Blocks(NamedTuple):
    """Class of every node [n], the nodes by class [n], their weights summed [n + 1], where each class begins [C + 1]."""

    y: np.ndarray
    order: np.ndarray
    cumulative: np.ndarray
    starts: np.ndarray


def _check(settings: SyntheticSettings) -> None:
    n = settings.num_nodes
    if settings.num_classes > n // 2:
        raise InputError(
            f"A synthetic graph of {n} nodes has at most {n // 2} classes, not {settings.num_classes}."
        )
    if settings.mean_degree > n / 4:
        raise InputError(f"A synthetic graph of {n} nodes has a mean degree of at most {n / 4:g}.")
    if settings.train_share + settings.val_share > 1:
        raise InputError("train_share and val_share of a synthetic graph are more than 1 together.")
    needed = n * (4 * settings.num_features + 5 * settings.mean_degree + 80)
    if needed > available_bytes(torch.device("cpu")):
        raise InputError(f"A synthetic graph of {n} nodes needs {needed / 2**30:.1f} GiB, more than is free.")


def _weights(settings: SyntheticSettings, rng: np.random.RandomState) -> np.ndarray:
    """Weights of a power law that sum to 1, none expected to have more neighbours than a hub may."""
    n = settings.num_nodes
    weight = (1.0 - rng.random_sample(n)) ** (-1.0 / (settings.exponent - 1.0))
    if settings.mean_degree:
        highest = min(LARGEST_SHARE * n, LARGEST_DEGREE) / settings.mean_degree
        for _ in range(3):  # what is cut off the hubs raises the others
            weight = np.minimum(weight / weight.mean(), max(highest, 1.0))
    return np.asarray(weight / weight.sum())


def _edges(
    weight: np.ndarray, blocks: _Blocks, settings: SyntheticSettings, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers and columns of the adjacency matrix, drawn again with more edges while too many are the same pairs."""
    wanted = drawn = settings.num_nodes * settings.mean_degree / 2
    rounding, seed = rng.random_sample(settings.num_nodes), np.uint64(rng.randint(2**62, dtype=np.int64))
    for _ in range(_ROUNDS):
        begun = np.floor(weight * drawn + rounding).astype(np.int64)
        indptr, indices = _distinct(begun, blocks, settings.homophily, seed)
        if len(indices) / 2 >= (1 - TOLERANCE) * wanted:
            break
        drawn *= 2 * wanted / max(len(indices), 1)
    return indptr, indices


def _distinct(
    begun: np.ndarray, blocks: _Blocks, homophily: float, seed: np.uint64
) -> tuple[np.ndarray, np.ndarray]:
    """The CSR of one drawing: without loops, each pair once, both directions."""
    n = len(begun)
    indptr, indices = np.zeros(n + 2, dtype=np.int64), np.empty(0, dtype=np.int32)
    _link(begun, blocks, homophily, seed, indptr, indices)
    np.cumsum(indptr, out=indptr)
    if indptr[-1]:
        indices = np.empty(indptr[-1], dtype=np.int32)
        _link(begun, blocks, homophily, seed, indptr, indices)
    pointers = narrow(indptr[:-1])
    matrix = sp.csr_array((np.ones(len(indices), dtype=np.bool_), indices, pointers), shape=(n, n))
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


@njit(cache=True)
def _uniform(number: np.uint64) -> float:
    """A number in [0, 1) for every counter: splitmix64."""
    z = number * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def _link(
    begun: np.ndarray,
    blocks: _Blocks,
    homophily: float,
    seed: np.uint64,
    indptr: np.ndarray,
    indices: np.ndarray,
) -> None:
    """Counts the neighbours of node i in indptr[i + 2] or, given room in `indices`, writes them from indptr[i + 1] on."""
    y, order, cumulative, starts = blocks
    number = seed
    for node in range(len(begun)):
        low, high = cumulative[starts[y[node]]], cumulative[starts[y[node] + 1]]
        for _ in range(begun[node]):
            position, side = _uniform(number), _uniform(number + np.uint64(1))
            number += np.uint64(2)
            if side < homophily:
                position = low + position * (high - low)
            else:
                position *= cumulative[-1] - (high - low)
                if position >= low:
                    position += high - low
            place = np.searchsorted(cumulative, position, side="right") - 1
            other = order[min(place, len(order) - 1)]
            if other == node:
                continue
            if len(indices) == 0:
                indptr[node + 2] += 1
                indptr[other + 2] += 1
            else:
                indices[indptr[node + 1]] = other
                indices[indptr[other + 1]] = node
                indptr[node + 1] += 1
                indptr[other + 1] += 1


def _features(y: np.ndarray, settings: SyntheticSettings, rng: np.random.RandomState) -> np.ndarray:
    centres = rng.standard_normal((settings.num_classes, settings.num_features)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    x = np.empty((len(y), settings.num_features), dtype=np.float32)
    for start in range(0, len(y), _BLOCK):
        rows = slice(start, start + _BLOCK)
        x[rows] = settings.noise * rng.standard_normal(x[rows].shape)
        x[rows] += centres[y[rows]]
    return x


def _split(settings: SyntheticSettings, rng: np.random.RandomState) -> Split:
    nodes = torch.from_numpy(rng.permutation(settings.num_nodes))
    first = round(settings.train_share * len(nodes))
    second = round((settings.train_share + settings.val_share) * len(nodes))
    return Split(nodes[:first], nodes[first:second], nodes[second:], "given")
