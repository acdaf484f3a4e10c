"""Small graphs for doctests and tests, and batches of random sequences without a graph or a sampler."""

import numpy as np
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
