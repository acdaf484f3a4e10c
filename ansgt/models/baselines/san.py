"""SAN (Kreuzer et al., 2021): learned spectral encoding, and full attention that tells real edges from added ones."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.utils import scatter, softmax

from ansgt.graph import Graph
from ansgt.models.base import Inputs, NodeModel
from ansgt.models.baselines.encode import FeatureEncoder
from ansgt.models.baselines.full_attention import (
    FUSED_NODES,
    attention_bytes,
    full_attention,
    fused_attention,
    is_fused,
)
from ansgt.models.baselines.gt import flip_signs
from ansgt.models.baselines.norms import make_norm
from ansgt.models.baselines.spectral import laplacian_eigenvectors
from ansgt.storage import DiskCache


class SAN(NodeModel):
    """Spectral attention network.

    Real neighbours and all other nodes have queries and keys of their own and a softmax of their own, weighted
    1 / (1 + gamma) and gamma / (1 + gamma); the values are shared. The published model also multiplies the scores with
    embeddings of the edge types; with two types that is absorbed by the two sets of queries.

    Args:
        hidden_channels: d, a multiple of `heads`.
        num_layers: transformer layers.
        heads: attention heads.
        num_eigenvectors: eigenpairs that the spectral encoding reads.
        position_channels: width of the spectral encoding, a multiple of `position_heads`.
        position_layers, position_heads: of the transformer that computes it.
        gamma: weight of the added edges; 0 leaves sparse attention.
        dropout: of hidden features.
        input_dropout: of node features.
        attention_dropout: of attention weights.
        norm: "layer" or "batch".
        fused: on CUDA, attention of all pairs by `triton_pairs.py` where it can; False: block by block.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 64,
        num_layers: int = 2,
        heads: int = 4,
        num_eigenvectors: int = 10,
        position_channels: int = 8,
        position_layers: int = 1,
        position_heads: int = 4,
        gamma: float = 0.1,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        attention_dropout: float = 0.0,
        norm: str = "layer",
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.encode = FeatureEncoder(in_channels, hidden_channels - position_channels, input_dropout)
        self.encode_position = SpectralEncoding(position_channels, position_layers, position_heads, dropout)
        self.layers = nn.ModuleList(
            SANLayer(hidden_channels, heads, gamma, dropout, attention_dropout, norm, fused)
            for _ in range(num_layers)
        )
        self.classifier = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, num_eigenvectors: int = 10, **settings: Any) -> Inputs:
        values, vectors = laplacian_eigenvectors(graph, num_eigenvectors, cache)
        spectrum = {"eigenvalues": torch.from_numpy(values), "eigenvectors": torch.from_numpy(vectors)}
        return {**super().prepare(graph, cache), **spectrum}

    @classmethod
    def estimate_bytes(
        cls,
        graph: Graph,
        hidden_channels: int = 64,
        num_layers: int = 2,
        heads: int = 4,
        num_eigenvectors: int = 10,
        position_channels: int = 8,
        fused: bool = True,
        **settings: Any,
    ) -> int:
        encoding = 40 * 4 * graph.num_nodes * num_eigenvectors * position_channels
        messages = 8 * 4 * 2 * graph.num_edges * hidden_channels * num_layers
        tabled = fused and graph.num_nodes <= FUSED_NODES
        pairs = (num_layers + 2) * graph.num_nodes**2 if tabled else 0  # the kernel's tables, a byte a pair
        attention = attention_bytes(graph.num_nodes, heads, hidden_channels, num_layers)
        return encoding + messages + pairs + attention

    def forward(self, inputs: Inputs) -> Tensor:
        vectors = flip_signs(inputs["eigenvectors"], self.training)
        position = self.encode_position(inputs["eigenvalues"], vectors)
        h = self.encode(inputs["x"])
        h = F.dropout(torch.cat([h, position], dim=1), self.dropout, self.training)
        for layer in self.layers:
            h = layer(h, inputs["edge_index"])
        return self.classifier(h)


class SpectralEncoding(nn.Module):
    """A transformer over the pairs (lambda_i, phi_i[node]), i = 1..m, averaged over i (the paper sums): [n, channels]."""

    def __init__(self, channels: int, num_layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Linear(2, channels)
        layer = nn.TransformerEncoderLayer(channels, heads, 2 * channels, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)

    def forward(self, values: Tensor, vectors: Tensor) -> Tensor:
        num_nodes, count = vectors.shape
        if count == 0:
            return vectors.new_zeros(num_nodes, self.embed.out_features)
        pairs = torch.stack([values.expand(num_nodes, count), vectors], dim=-1)  # [n, m, 2]
        return self.encoder(self.embed(pairs)).mean(dim=1)


class SANLayer(nn.Module):
    """norm(h + O attention(h)), then norm(h + FFN(h))."""

    def __init__(
        self,
        channels: int,
        heads: int,
        gamma: float,
        dropout: float,
        attention_dropout: float,
        norm: str,
        fused: bool,
    ) -> None:
        super().__init__()
        self.real = nn.Linear(channels, 2 * channels, bias=False)
        self.added = nn.Linear(channels, 2 * channels, bias=False)
        self.value = nn.Linear(channels, channels, bias=False)
        self.project = nn.Linear(channels, channels)
        self.norm1, self.norm2 = make_norm(norm, channels), make_norm(norm, channels)
        self.widen, self.narrow = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)
        self.heads, self.gamma, self.fused = heads, gamma, fused
        self.dropout, self.attention_dropout = dropout, attention_dropout

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        attended = self.project(self.attend(h, edge_index))
        h = self.norm1(h + F.dropout(attended, self.dropout, self.training))
        inner = F.dropout(self.widen(h).relu(), self.dropout, self.training)
        return self.norm2(h + F.dropout(self.narrow(inner), self.dropout, self.training))

    def attend(self, h: Tensor, edge_index: Tensor) -> Tensor:
        """Both attentions, weighted [n, d]."""
        drop = self.attention_dropout if self.training else 0.0
        value = self._split(self.value(h))
        query, key = map(self._split, self.real(h).chunk(2, dim=1))
        out = edge_attention(query, key, value, edge_index, drop) / (1 + self.gamma)
        if self.gamma > 0:
            query, key = map(self._split, self.added(h).chunk(2, dim=1))
            full = added_attention(query, key, value, edge_index, drop, self.fused)
            out = out + full * (self.gamma / (1 + self.gamma))
        return out.flatten(1)

    def _split(self, h: Tensor) -> Tensor:
        return h.unflatten(1, (self.heads, -1))  # [n, heads, d / heads]


def edge_attention(query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, dropout: float) -> Tensor:
    """Softmax attention over the neighbours [n, heads, d]; 0 where there are none."""
    centre, other = edge_index
    score = (query[centre] * key[other]).sum(-1) / query.shape[-1] ** 0.5  # [edges, heads]
    weight = F.dropout(softmax(score, centre, num_nodes=len(query)), dropout)
    return scatter(weight[..., None] * value[other], centre, dim_size=len(query), reduce="sum")


def added_attention(
    query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, dropout: float, fused: bool = True
) -> Tensor:
    """Softmax attention over all nodes that are neither neighbours nor the node itself [n, heads, d]; 0 without any."""
    query, key, value = (t.transpose(0, 1) for t in (query, key, value))  # [heads, n, d]
    if fused and is_fused(query, dropout):
        table = torch.zeros(len(query), 2, device=query.device)
        table[:, 1] = -torch.inf
        out = fused_attention(query, key, value, table, edge_codes(edge_index, query.shape[1]))
    else:
        out = _blocked_added_attention(query, key, value, edge_index, dropout)
    return out.transpose(0, 1)


def edge_codes(edge_index: Tensor, num_nodes: int) -> Tensor:
    """1 where two nodes are joined by an edge or the same, else 0: [n, n], uint8."""
    code = torch.zeros(num_nodes, num_nodes, dtype=torch.uint8, device=edge_index.device)
    code[edge_index[0], edge_index[1]] = 1
    return code.fill_diagonal_(1)


def _blocked_added_attention(
    query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, dropout: float
) -> Tensor:
    num_nodes = query.shape[1]
    centre, other = edge_index
    degree = torch.bincount(centre, minlength=num_nodes)
    complete = degree == num_nodes - 1  # nobody left: attends to itself, and is zeroed below
    bounds = torch.cumsum(degree, 0).cpu()

    def allowed(at: slice) -> Tensor:
        mask = torch.ones(at.stop - at.start, num_nodes, dtype=torch.bool, device=query.device)
        first = int(bounds[at.start - 1]) if at.start else 0
        part = slice(first, int(bounds[at.stop - 1]))
        mask[centre[part] - at.start, other[part]] = False
        rows = torch.arange(at.start, at.stop, device=query.device)
        mask[rows - at.start, rows] = complete[at]
        return mask[None]

    out = full_attention(query, key, value, allowed, dropout)
    return out.masked_fill(complete[:, None], 0.0)
