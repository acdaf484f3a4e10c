"""Features for a graph that has none: what can be said of a node by its links alone."""

import copy
import warnings
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.graph import Graph
from ansgt.linalg import to_torch

DEGREES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
LINK_COLUMNS = 256


def without_features(data: Any) -> Any:
    """The same data with a stated substitute for features: steps of the degree, and the node's row of A in hashed columns.

    Entry (i, h(j)) is 1 / sqrt(d_i) for every link i - j, with h of the neighbour's name: a node of a later graph finds the
    columns of the neighbours it shares with the training graph.
    """
    warnings.warn(
        f"The graph has no features: {len(DEGREES)} columns of degree and {LINK_COLUMNS} of links stand in for them.",
        stacklevel=3,
    )
    number, names = int(data.num_nodes), getattr(data, "node_names", None)
    edges = {name: getattr(data, name, None) for name in ("edge_index", "adj_t")}
    graph = Graph.from_data(SimpleNamespace(x=torch.zeros(number, 1), **edges))
    degree = graph.degree
    steps = sp.csr_array((degree[:, None] >= np.array(DEGREES)).astype(np.float32))
    texts = range(number) if names is None else getattr(names, "values", names)
    column = np.array([zlib.crc32(str(text).encode("utf-8", "replace")) % LINK_COLUMNS for text in texts])
    hashed = sp.csr_array((np.ones(number), (np.arange(number), column)), shape=(number, LINK_COLUMNS))
    links = sp.diags_array(1 / np.sqrt(np.maximum(degree, 1))) @ (graph.adj @ hashed)
    found = copy.copy(data)
    found.x = to_torch(sp.csr_array(sp.hstack([steps, links])))
    return found
