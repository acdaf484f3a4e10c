"""What several test files share: small inputs, and the paper's formulas written as directly as possible."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ansgt.graph import Graph
from ansgt.kernels.choose import HAS_TRITON, is_interpreted
from ansgt.models import resolve_model
from ansgt.models.ansgt import ANSGT, ANSGTSettings
from ansgt.models.base import Inputs, NodeModel
from ansgt.sampling import Mixture
from ansgt.sequences.batch import SequenceLayout
from ansgt.settings import fitted
from ansgt.storage import DiskCache
from ansgt.testing import RandomSequences, random_graph
from ansgt.training.optim import LinearSchedule, ScheduledAdamW
from ansgt.training.steps import TrainStep


def small_graph() -> Graph:
    return random_graph(24, mean_degree=4.0, num_features=10, num_isolated=2, seed=3)


def build(
    name: str, graph: Graph, seed: int = 0, num_kept: int = 0, **values: object
) -> tuple[NodeModel, Inputs]:
    """The model in evaluation mode, with the given values of its settings, and its inputs."""
    cls = resolve_model(name)
    settings = fitted(cls.Settings, values)
    inputs = cls.prepare(graph, DiskCache(None), settings)
    torch.manual_seed(seed)
    sizes = (graph.num_features, graph.num_classes)
    model = cls(*sizes, settings, num_kept=num_kept, **cls.graph_settings(graph))
    return model.eval(), inputs


def close(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def dense_adjacency(graph: Graph) -> torch.Tensor:
    return torch.from_numpy(graph.adj.toarray()).float()


def dense_gcn_norm(graph: Graph) -> torch.Tensor:
    """D^(-1/2) (A + I) D^(-1/2), written out densely."""
    adj = dense_adjacency(graph) + torch.eye(graph.num_nodes)
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


def linked(graph: Graph) -> torch.Tensor:
    return dense_adjacency(graph) > 0


def dense_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """[n, heads, d] from queries, keys and values of that shape; rows without anybody allowed give 0."""
    score = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5
    weight = score.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num(0.0)
    return torch.einsum("hij,jhd->ihd", weight, v)


def post_norm(layer: torch.nn.Module, h: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
    h = layer.norm1(h + layer.project(attended.flatten(1)))
    return layer.norm2(h + layer.narrow(layer.widen(h).relu()))


def two_cliques(k=8):
    """Two k-cliques joined by one edge."""
    edges = [(i, j) for block in (0, k) for i in range(block, block + k) for j in range(block, i)]
    edges.append((0, k))
    return Graph.from_arrays(np.eye(2 * k, dtype=np.float32), torch.tensor(edges).T)


def normalized(scores: np.ndarray) -> np.ndarray:
    scores = np.maximum(scores, 0)
    np.fill_diagonal(scores, 0)
    sums = scores.sum(axis=1, keepdims=True)
    return np.divide(scores, sums, out=np.zeros_like(scores), where=sums > 0)


def dense_gcn(graph: Graph) -> np.ndarray:
    adj = graph.adj.toarray() + np.eye(graph.num_nodes)
    degree = adj.sum(axis=1)
    return adj / np.sqrt(np.outer(degree, degree))


def dense_ppr(graph: Graph, restart: float = 0.15) -> np.ndarray:
    """Row i: the walk that restarts at i, from the inverse."""
    adj = graph.adj.toarray()
    column_normalized = adj / np.maximum(adj.sum(axis=0), 1)
    system = np.eye(graph.num_nodes) - (1 - restart) * column_normalized
    return restart * np.linalg.inv(system).T


def dense_cosine(graph: Graph) -> np.ndarray:
    x = graph.x.to_dense().double().numpy()
    length = np.linalg.norm(x, axis=1)
    return (x @ x.T) / np.maximum(np.outer(length, length), 1e-300)


def dense_rows(name: str, graph: Graph) -> np.ndarray:
    """Rows of the paper's four heuristics, self excluded."""
    if name == "1-hop":
        return normalized(dense_gcn(graph))
    if name == "2-hop":
        return normalized(dense_gcn(graph) @ dense_gcn(graph))
    if name == "knn":
        return normalized(dense_cosine(graph))
    return normalized(dense_ppr(graph))


INTERPRETED = is_interpreted()
"""Kernels are tested on CUDA if there is one, else in Triton's interpreter (`tests/conftest.py` sees to it)."""
DEVICE = "cpu" if INTERPRETED else "cuda"
HALF = torch.float16 if INTERPRETED else torch.bfloat16
"""Half precision; the interpreter's `dot` cannot do bfloat16."""
BACKEND = "aot_eager" if INTERPRETED else "inductor"
"""Of `torch.compile`."""
needs_triton = pytest.mark.skipif(not HAS_TRITON, reason="triton is absent")


def random_mixture(
    num_candidates: int = 12, num_rows: int = 1, seed: int = 0, sparse: bool = True
) -> Mixture:
    """Four heuristics; the first proposes few candidates, the last nearly all: where a wrong reward goes wrong."""
    generator = torch.Generator().manual_seed(seed)
    Q = torch.rand(4, num_rows, num_candidates, generator=generator) ** 3 + 1e-3
    if sparse:
        for k, share in enumerate((0.25, 0.4, 0.7, 1.0)):
            Q[k, :, max(int(share * num_candidates), 1) :] = 0
    Q = Q / Q.sum(dim=-1, keepdim=True)
    return Mixture(
        candidates=torch.arange(1, num_candidates + 1, dtype=torch.int32).repeat(num_rows, 1),
        lengths=torch.full((num_rows,), num_candidates),
        Q=Q,
        active=torch.ones(4, num_rows, dtype=torch.bool),
    )


P = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)


@dataclass
class Coarse:
    """Plain arrays, as a coarsener would give them: P = P̂ D^(-1/2), x = PᵀX, adj = PᵀAP."""

    assignment: np.ndarray
    adj: sp.csr_array
    x: torch.Tensor


def coarse_graph(graph: Graph, num_supernodes: int = 12, seed: int = 0) -> Coarse:
    assignment = np.random.default_rng(seed).permutation(np.arange(graph.num_nodes) % num_supernodes)
    one_hot = sp.csr_array((np.ones(graph.num_nodes), (np.arange(graph.num_nodes), assignment)))
    size = np.asarray(one_hot.sum(axis=0)).ravel()
    P = sp.csr_array(one_hot @ sp.diags_array(size**-0.5))
    x = torch.from_numpy(P.T @ graph.x.to_dense().numpy()).float()
    return Coarse(assignment, sp.csr_array(P.T @ graph.adj @ P), x)


def dense_powers(adj: np.ndarray, num_powers: int) -> np.ndarray:
    """Ã^m [n, n, M] by dense products in float64."""
    adj = adj + np.eye(len(adj))
    degree = adj.sum(axis=1)
    normalized = adj / np.sqrt(np.outer(degree, degree))
    powers = [np.eye(len(adj))]
    for _ in range(num_powers - 1):
        powers.append(powers[-1] @ normalized)
    return np.stack(powers, axis=-1)


def reference_pairs(
    ids: np.ndarray,
    mask: np.ndarray,
    fine: np.ndarray,
    coarse: np.ndarray | None,
    assignment: np.ndarray | None,
) -> np.ndarray:
    """Phi pair by pair, straight from its definition."""
    n = len(fine)
    out = np.zeros((*ids.shape, ids.shape[1], fine.shape[-1]))
    for b in range(len(ids)):
        for s, i in enumerate(ids[b]):
            for t, j in enumerate(ids[b]):
                if not (mask[b, s] and mask[b, t]) or i < 0 or j < 0:
                    continue
                if i < n and j < n:
                    out[b, s, t] = fine[i, j]
                else:
                    above = [assignment[v] if v < n else v - n for v in (i, j)]
                    out[b, s, t] = coarse[above[0], above[1]]
    return out


NODES, SEQUENCES, CLASSES = 23, 3, 3
LAYOUT = SequenceLayout(num_sampled=4, num_supernodes=0, num_global=1)


def make_step(device: str = "cpu", dropout: float = 0.0, **settings: bool) -> TrainStep:
    torch.manual_seed(0)
    rates = {"dropout": dropout, "attention_dropout": dropout, "input_dropout": dropout}
    sizes = {"hidden_channels": 16, "num_layers": 2, "num_heads": 2, "num_global": 1, "num_proximity": 2}
    model = ANSGT(5, CLASSES, ANSGTSettings(**sizes, **rates)).to(device)
    optimizer = ScheduledAdamW(model, LinearSchedule(peak=5e-3, end=1e-4, warmup=5, total=150))
    tables = RandomSequences(NODES, 5, CLASSES, LAYOUT, SEQUENCES, 2, device=device)
    return TrainStep(model, optimizer, tables, **settings)


def weights_into(pyg: torch.nn.Module, ours: torch.nn.Module, pairs: dict[str, str]) -> None:
    """Copies the parameters of our modules to PyG's, by the beginnings of their names."""
    state = {}
    for name, value in pyg.state_dict().items():
        there = max((start for start in pairs if name.startswith(start)), key=len, default=None)
        state[name] = value if there is None else ours.state_dict()[pairs[there] + name[len(there) :]]
    pyg.load_state_dict(state)
