"""A small graph with two isolated nodes, and helpers to build and renumber a baseline's inputs."""

import torch

from ansgt.graph import Graph
from ansgt.models import resolve_model
from ansgt.models.base import Inputs, NodeModel
from ansgt.storage import DiskCache
from ansgt.testing import random_graph


def small_graph() -> Graph:
    return random_graph(24, mean_degree=4.0, num_features=10, num_isolated=2, seed=3)


def build(name: str, graph: Graph, seed: int = 0, **settings: object) -> tuple[NodeModel, Inputs]:
    """The model in evaluation mode, and its inputs."""
    cls = resolve_model(name)
    inputs = cls.prepare(graph, DiskCache(None), **settings)
    torch.manual_seed(seed)
    decided = {**settings, **cls.graph_settings(graph)}
    model = cls(graph.num_features, graph.num_classes, **decided).eval()
    return model, inputs


def dense_gcn_norm(graph: Graph) -> torch.Tensor:
    """D^(-1/2) (A + I) D^(-1/2), written out densely."""
    adj = torch.from_numpy(graph.adj.toarray()).float() + torch.eye(graph.num_nodes)
    scale = adj.sum(1).rsqrt()
    return scale[:, None] * adj * scale[None, :]


def permuted(inputs: Inputs, order: torch.Tensor) -> Inputs:
    """Inputs of the graph whose node i is the old node order[i]; feature-like matrices keep their columns."""
    n = len(order)
    rank = torch.empty(n, dtype=torch.int64)
    rank[order] = torch.arange(n)
    out = {}
    for key, value in inputs.items():
        dense = value if value.layout == torch.strided else value.to_dense()
        if key.endswith("edge_index"):
            out[key] = rank[value]
        elif key == "divisions":  # Geom-GCN's blocks on a diagonal, one a division
            blocks = torch.cat([order + n * part for part in range(len(dense) // n)])
            out[key] = _like(dense[blocks][:, blocks], value)
        elif dense.shape[:1] != (n,):
            out[key] = value
        elif key not in ("x", "structure") and dense.shape == (n, n):
            out[key] = _like(dense[order][:, order], value)
        else:
            out[key] = _like(dense[order], value)
    return out


def _like(dense: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return dense.contiguous() if value.layout == torch.strided else dense.to_sparse_csr()
