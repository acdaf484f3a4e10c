"""SAN (Kreuzer et al., 2021): learned spectral encoding, and full attention that tells real edges from added ones."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.utils import scatter, softmax

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.kernels.choose import PAIR_NODES
from ansgt.kernels.pairs import attention_bytes, full_attention, pair_attention, takes_pairs
from ansgt.models.base import SPACE, Inputs, NodeModel
from ansgt.models.baselines.gt import flip_signs
from ansgt.models.baselines.layers import FeatureEncoder, Norm, make_norm
from ansgt.models.baselines.positions import laplacian_eigenvectors
from ansgt.settings import Count, Few, ModelSettings, NonNegative, Rate, Size, Space, Span, check_multiple
from ansgt.storage import DiskCache


class SAN(NodeModel):
    """Spectral attention network.

    Real neighbours and all other nodes have queries and keys of their own and a softmax of their own, weighted
    1 / (1 + gamma) and gamma / (1 + gamma); the values are shared. The published model also multiplies the scores with
    embeddings of the edge types; with two types that is absorbed by the two sets of queries.
    """

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        """Settings of SAN."""

        space: ClassVar[Space] = {
            **SPACE,
            "num_layers": (1, 2, 3),
            "gamma": Span(1e-5, 0.5, log=True),
            "attention_dropout": Span(0.0, 0.5),
        }

        hidden_channels: Count = 64
        """d, a multiple of `heads`; `position_channels` of them are the spectral encoding's."""
        num_layers: Few = 2
        """Transformer layers."""
        heads: Count = 4
        """Attention heads."""
        num_eigenvectors: Size = 10
        """Eigenpairs that the spectral encoding reads."""
        position_channels: Count = 8
        """Width of the spectral encoding, a multiple of `position_heads`."""
        position_layers: Count = 1
        """Layers of the transformer that computes it."""
        position_heads: Count = 4
        """Heads of the transformer that computes it."""
        gamma: NonNegative = 0.1
        """Weight of the added edges; 0 leaves sparse attention."""
        dropout: Rate = 0.5
        """Of hidden features."""
        input_dropout: Rate = 0.5
        """Of node features."""
        attention_dropout: Rate = 0.0
        """Of attention weights."""
        norm: Norm = "layer"
        """After attention and after the feed-forward network."""
        fused: bool = True
        """On CUDA, attention of all pairs by one kernel where it can; False: block by block."""

        def __post_init__(self) -> None:
            check_multiple(self, "hidden_channels", "heads")
            check_multiple(self, "position_channels", "position_heads")
            if self.hidden_channels <= self.position_channels:
                raise InputError(
                    f"Setting hidden_channels must be greater than position_channels={self.position_channels}, "
                    f"not {self.hidden_channels}."
                )

    def __init__(
        self, in_channels: int, out_channels: int, settings: Settings = Settings(), *, num_kept: int = 0
    ) -> None:
        super().__init__(num_kept)
        hidden = settings.hidden_channels
        width = hidden - settings.position_channels
        self.encode = FeatureEncoder(in_channels, width, settings.input_dropout, num_kept)
        self.encode_position = SpectralEncoding(settings)
        self.layers = nn.ModuleList(SANLayer(settings) for _ in range(settings.num_layers))
        self.classifier = nn.Linear(hidden, out_channels)
        self.dropout = settings.dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        values, vectors = laplacian_eigenvectors(graph, settings.num_eigenvectors, cache)
        spectrum = {"eigenvalues": torch.from_numpy(values), "eigenvectors": torch.from_numpy(vectors)}
        return {**super().prepare(graph, cache, settings), **spectrum}

    @classmethod
    def estimate_bytes(cls, graph: Graph, settings: Settings) -> int:
        nodes, depth, width = graph.num_nodes, settings.num_layers, settings.hidden_channels
        encoding = 40 * 4 * nodes * settings.num_eigenvectors * settings.position_channels
        messages = 8 * 4 * 2 * graph.num_edges * width * depth
        tabled = settings.fused and nodes <= PAIR_NODES
        pairs = (depth + 2) * nodes**2 if tabled else 0  # the kernel's tables, one byte per pair
        return encoding + messages + pairs + attention_bytes(nodes, settings.heads, width, depth)

    def forward(self, inputs: Inputs) -> Tensor:
        vectors = flip_signs(inputs["eigenvectors"], self.training)
        position = self.encode_position(inputs["eigenvalues"], vectors)
        h = self.encode(inputs["x"])
        h = F.dropout(torch.cat([h, position], dim=1), self.dropout, self.training)
        for layer in self.layers:
            h = layer(h, inputs["edge_index"])
        logits: Tensor = self.classifier(h)
        return logits


class SpectralEncoding(nn.Module):
    """A transformer over the pairs (lambda_i, phi_i[node]), i = 1..m, averaged over i (the paper sums): [n, channels]."""

    def __init__(self, settings: SAN.Settings) -> None:
        super().__init__()
        channels, heads, drop = settings.position_channels, settings.position_heads, settings.dropout
        self.embed = nn.Linear(2, channels)
        layer = nn.TransformerEncoderLayer(channels, heads, 2 * channels, drop, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, settings.position_layers, enable_nested_tensor=False)

    def forward(self, values: Tensor, vectors: Tensor) -> Tensor:
        num_nodes, count = vectors.shape
        if count == 0:
            return vectors.new_zeros(num_nodes, self.embed.out_features)
        pairs = torch.stack([values.expand(num_nodes, count), vectors], dim=-1)  # [n, m, 2]
        encoded: Tensor = self.encoder(self.embed(pairs))
        return encoded.mean(dim=1)


class SANLayer(nn.Module):
    """norm(h + O attention(h)), then norm(h + FFN(h))."""

    def __init__(self, settings: SAN.Settings) -> None:
        super().__init__()
        channels, norm = settings.hidden_channels, settings.norm
        self.real = nn.Linear(channels, 2 * channels, bias=False)
        self.added = nn.Linear(channels, 2 * channels, bias=False)
        self.value = nn.Linear(channels, channels, bias=False)
        self.project = nn.Linear(channels, channels)
        self.norm1, self.norm2 = make_norm(norm, channels), make_norm(norm, channels)
        self.widen, self.narrow = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)
        self.heads, self.gamma, self.fused = settings.heads, settings.gamma, settings.fused
        self.dropout, self.attention_dropout = settings.dropout, settings.attention_dropout

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        attended = self.project(self.attend(h, edge_index))
        h = self.norm1(h + F.dropout(attended, self.dropout, self.training))
        inner = F.dropout(self.widen(h).relu(), self.dropout, self.training)
        out: Tensor = self.norm2(h + F.dropout(self.narrow(inner), self.dropout, self.training))
        return out

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
        return h.reshape(len(h), self.heads, -1)  # [n, heads, d / heads]


def edge_attention(query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, dropout: float) -> Tensor:
    """Softmax attention over the neighbours [n, heads, d]; 0 where there are none."""
    centre, other = edge_index
    score = (query[centre] * key[other]).sum(-1) / query.shape[-1] ** 0.5  # [edges, heads]
    weight = F.dropout(softmax(score, centre, num_nodes=len(query)), dropout)
    messages = weight[..., None] * value[other]
    out: Tensor = scatter(messages, centre, dim_size=len(query), reduce="sum")
    return out


def added_attention(
    query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, dropout: float, fused: bool = True
) -> Tensor:
    """Softmax attention over all nodes that are neither neighbours nor the node itself [n, heads, d]; 0 without any."""
    query, key, value = (t.transpose(0, 1) for t in (query, key, value))  # [heads, n, d]
    if fused and takes_pairs(query, dropout):
        table = torch.zeros(len(query), 2, device=query.device)
        table[:, 1] = -torch.inf
        out = pair_attention(query, key, value, table, edge_codes(edge_index, query.shape[1]))
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
