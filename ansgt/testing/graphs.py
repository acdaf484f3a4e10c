"""Small graphs for doctests and tests, batches of random sequences, and what the conformance suites share."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.graph import Graph
from ansgt.sequences.batch import SequenceBatch, SequenceLayout


def path_graph(num_nodes: int = 4, num_features: int = 3) -> Graph:
    """0 - 1 - ... - (n-1), with one-hot features as far as there are columns and two classes."""
    edges = torch.stack([torch.arange(num_nodes - 1), torch.arange(1, num_nodes)])
    x = torch.eye(num_nodes, num_features)
    return Graph.from_arrays(x, edges, torch.arange(num_nodes) % 2, name="path")


def star_graph(num_leaves: int = 5) -> Graph:
    """Node 0 joined to every other node."""
    edges = torch.stack([torch.zeros(num_leaves, dtype=torch.int64), torch.arange(1, num_leaves + 1)])
    y = torch.zeros(num_leaves + 1, dtype=torch.int64)
    y[1:] = torch.arange(num_leaves) % 2
    return Graph.from_arrays(torch.eye(num_leaves + 1), edges, y, name="star")


def random_graph(
    num_nodes: int = 60,
    mean_degree: float = 6.0,
    num_features: int = 16,
    num_classes: int = 3,
    num_isolated: int = 0,
    seed: int = 0,
) -> Graph:
    """A seeded random graph whose last `num_isolated` nodes have no edge; features carry a little label signal."""
    rng = np.random.default_rng(seed)
    linked = num_nodes - num_isolated
    edges = rng.integers(0, max(linked, 1), size=(2, int(linked * mean_degree / 2)))
    y = np.arange(num_nodes) % num_classes
    x = rng.normal(size=(num_nodes, num_features)).astype(np.float32)
    x[np.arange(num_nodes), y % num_features] += 2.0
    return Graph.from_arrays(x, torch.from_numpy(edges), y, name=f"random-{seed}")


class RandomSequences:
    """Resident tables of random sequences, S per node: the smallest thing that builds batches, for tests and timings.

    Calling it with centres [b] gives their b * S sequences, centre-major, by gathers alone.
    """

    def __init__(
        self,
        num_nodes: int,
        num_features: int,
        num_classes: int,
        layout: SequenceLayout,
        num_sequences: int,
        num_proximity: int,
        masked: float = 0.0,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        shape = (num_nodes, num_sequences, layout.length)
        index = torch.randint(0, num_nodes, shape, generator=generator)
        index[..., 0] = torch.arange(num_nodes)[:, None]
        mask = torch.rand(shape, generator=generator) >= masked
        mask[..., 0] = mask[..., layout.globals] = True
        index[..., layout.globals] = num_nodes + torch.arange(layout.num_global)
        self.layout = layout
        self.x = torch.randn(num_nodes, num_features, generator=generator).to(device)
        self.y = (torch.arange(num_nodes) % num_classes).to(device)
        self.index = (index * mask).to(device)
        self.mask = mask.to(device)
        self.proximity = torch.rand(num_nodes + 1, num_nodes + 1, num_proximity, generator=generator)
        self.proximity[-1] = self.proximity[:, -1] = 0.0  # of a global or masked token
        self.proximity = self.proximity.to(device)

    def __call__(self, centres: Tensor) -> SequenceBatch:
        index, mask = self.index[centres].flatten(0, 1), self.mask[centres].flatten(0, 1)
        row = torch.where(mask, index, len(self.x)).clamp(max=len(self.x))
        proximity = self.proximity[row[:, :, None], row[:, None, :]]
        log_count = torch.zeros(index.shape, device=index.device)
        target = self.y[index[:, 0]]
        return SequenceBatch(self.layout, index, mask, log_count, proximity, self.x, index, target)


def demand(condition: Any, sentence: str) -> None:
    """Raises `AssertionError` with the sentence unless the condition holds."""
    if not bool(condition):
        fail(sentence)


def fail(sentence: str) -> NoReturn:
    raise AssertionError(sentence)


def small_graphs() -> list[Graph]:
    """A path, a star, a random graph with isolated nodes, the same with sparse features, and one without any edge."""
    mixed = random_graph(60, num_isolated=3)
    sparse = Graph.from_arrays(sp.csr_array(np.maximum(mixed.x.numpy(), 0)), mixed.edge_index, mixed.y)
    bare = Graph.from_arrays(torch.eye(5, 3), torch.empty(2, 0, dtype=torch.int64), torch.arange(5) % 2)
    return [
        path_graph(4),
        star_graph(6),
        replace(mixed, name="random"),
        replace(sparse, name="random, sparse features"),
        replace(bare, name="without edges"),
    ]


def other_labels(graph: Graph) -> Graph:
    """The same graph with another label on every node."""
    return replace(graph, y=(graph.y + 1) % max(graph.num_classes, 1))


@contextmanager
def unchanged(graph: Graph, who: str) -> Iterator[None]:
    """Demands that the block leaves the graph's arrays as they were."""
    before = {name: array.copy() for name, array in _arrays(graph).items()}
    yield
    for name, array in _arrays(graph).items():
        demand(np.array_equal(before[name], array), f"{who} changes the graph's {name}.")


def _arrays(graph: Graph) -> dict[str, np.ndarray]:
    x = graph.x if graph.x.layout == torch.strided else graph.x.values()
    return {
        "features": x.numpy(),
        "indptr": graph.indptr,
        "indices": graph.indices,
        "labels": graph.y.numpy(),
    }
