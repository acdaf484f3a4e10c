"""What the conformance suites share: a demand with a sentence, the graphs they try, and a watch over the graph."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.graph import Graph
from ansgt.testing.graphs import path_graph, random_graph, star_graph


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
