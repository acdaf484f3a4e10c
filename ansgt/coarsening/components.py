"""Disconnected graphs: which components share a super-node when there are too few super-nodes to go round."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ansgt.arrays import brief_repr
from ansgt.coarsening.contraction import Contracted, cluster_means, group_by_cluster, relabel
from ansgt.errors import InputError
from ansgt.graph import Graph

BELOW_COMPONENTS = ("merge", "stop", "error")
"""What to do when there are fewer super-nodes than components: see `plan_components`."""

CROWDING = 4.0
"""Small components are grouped once the others' super-nodes would be this many times larger than the average one."""

ROOM = 180
"""Nodes that a super-node may hold at first, however mild the rate, so that the leaves of a hub may stay together."""

SKETCH = 32
"""Features are sketched to this many dimensions before components are compared."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Where the levels start and where they should end.

    Args:
        target: number of clusters to reach.
        label: cluster of every node at the start [n]: nodes of grouped components share one, all others are alone.
        num_labels: number of clusters at the start.
        average: n / m, the mean size of a super-node.
        reason: why the target is not the number asked for, if it is not.
    """

    target: int
    label: np.ndarray
    num_labels: int
    average: float
    reason: str | None = None
    __repr__ = brief_repr

    @property
    def cap(self) -> int:
        """Largest cluster allowed at first: 20 average ones, but at least `ROOM` nodes; at most 40 % of the graph, but at
        least 1.5 average ones."""
        n = len(self.label)
        return int(max(min(max(20 * self.average, ROOM), 0.4 * n), 1.5 * self.average, 2))


def plan_components(graph: Graph, start: Contracted, target: int, below_components: str, seed: int) -> Plan:
    """Decides how many clusters to make, and groups small components where that is needed and allowed.

    Contraction along edges never leaves a component, so m super-nodes for q > m components takes a decision. With "merge",
    a component smaller than the average super-node (n / m nodes) gets no super-node of its own: such components are
    grouped into balanced groups of about that size, alike in features, and every other component keeps its fair share.
    This also happens for m >= q where the many small components would starve the large ones.
    """
    n, q = start.num_nodes, start.num_components
    alone = np.arange(n)
    if q > target and below_components == "error":
        raise InputError(f"{target} super-nodes asked for but the graph has {q} components.")
    if q > target and below_components == "stop":
        reason = f"the graph has {q} components and below_components is 'stop'"
        return Plan(q, alone, n, n / q, reason)
    average = n / target
    sizes = np.bincount(start.component)
    small = sizes < average
    if below_components != "merge" or not _crowded(sizes, small, target):
        return Plan(target, alone, n, average)
    num_groups = max(1, round(float(sizes[small].sum()) / average))
    group = group_components(graph, start, np.flatnonzero(small), num_groups, seed)
    in_small = small[start.component]
    label = np.where(in_small, n + group[start.component], alone)
    label, count = relabel(np.unique(label, return_inverse=True)[1].reshape(-1))
    return Plan(target, label, count, average)


def _crowded(sizes: np.ndarray, small: np.ndarray, target: int) -> bool:
    """Whether one super-node for each small component leaves too few for the others."""
    if len(sizes) > target:
        return True
    left = target - int(small.sum())
    crowd = float(sizes[~small].sum())
    return bool(crowd > CROWDING * left * sizes.sum() / target)


def group_components(
    graph: Graph, start: Contracted, chosen: np.ndarray, num_groups: int, seed: int
) -> np.ndarray:
    """Group of every chosen component [q] (-1 elsewhere): balanced in nodes, alike in mean features.

    Components are split in two along the direction in which their features differ most, at the point that balances the
    halves, and so on: linear in components times the depth, and as balanced as component sizes allow.
    """
    rng = np.random.default_rng(seed)
    sizes = np.bincount(start.component)
    features = _component_features(graph, start, chosen, rng)
    tie = rng.permutation(len(chosen))
    group = np.full(start.num_components, -1, dtype=np.int64)
    pending = [(np.arange(len(chosen)), num_groups)]
    made = 0
    while pending:
        members, parts = pending.pop()
        if parts == 1:
            group[chosen[members]] = made
            made += 1
            continue
        order = members[np.lexsort((tie[members], _spread(features[members])))]
        low = parts // 2
        mass = np.cumsum(sizes[chosen[order]])
        cut = 1 + int(np.argmin(np.abs(mass - mass[-1] * low / parts)))
        cut = min(max(cut, low), len(order) - (parts - low))
        pending += [(order[:cut], low), (order[cut:], parts - low)]
    return group


def _component_features(
    graph: Graph, start: Contracted, chosen: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Mean features of the chosen components, of unit length, sketched by a random projection [chosen, <= SKETCH]."""
    place = np.full(start.num_components, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(place[start.component] >= 0)
    x = graph.features[rows]
    if x.shape[1] > SKETCH:
        x = x @ (rng.standard_normal((x.shape[1], SKETCH)) / np.sqrt(SKETCH)).astype(np.float32)
    dense = np.ascontiguousarray(sp.csr_array(x).toarray() if sp.issparse(x) else x, dtype=np.float64)
    pointer, nodes = group_by_cluster(place[start.component[rows]], len(chosen))
    means = cluster_means(pointer, nodes, np.ones(len(rows), dtype=np.int64), dense)
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12))


def _spread(points: np.ndarray) -> np.ndarray:
    """Coordinates of points along their first principal direction [len(points)]; zeros when they do not differ."""
    if points.shape[1] == 0:
        return np.zeros(len(points))
    centred = points - points.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    coordinate = centred @ directions[:, -1]
    return np.where(np.abs(coordinate) < 1e-9, 0.0, coordinate)
