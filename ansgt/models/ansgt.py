"""`ANSGT`: the hierarchical graph transformer of the paper (sections 5.2 and 5.3)."""

from dataclasses import dataclass
from typing import Any, Literal, overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ansgt.errors import InputError
from ansgt.kernels.choose import as_operand
from ansgt.kernels.dropout import WHOLE, Dropout, Places, dropout, input_dropout, keep_columns
from ansgt.kernels.tokens import first_states
from ansgt.models.attention import key_bias
from ansgt.models.transformer import Transformer, TransformerSettings
from ansgt.sequences.batch import SequenceBatch
from ansgt.settings import Rate


@dataclass(frozen=True)
class ANSGTSettings(TransformerSettings):
    """Settings of the model: those of the transformer, and what stands before and behind it."""

    input_dropout: Rate = 0.5
    """Dropout of the node features."""
    kind_embedding: bool = True
    """Adds a learned vector per kind of token (centre, node, super, global)."""
    own_features: bool = False
    """The head also reads the centre's encoded features as they are: LN divides by a node's magnitude, and the residual
    stream mixes the centre with others."""


class InputProjection(nn.Module):
    """X W + b for dense or sparse features, with dropout on the non-zero entries of X.

    Args:
        in_channels: p.
        out_channels: d.
        dropout: share of the features dropped in training.
        num_kept: last columns of X that are never dropped.
        bias: whether there is a b.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dropout: float = 0.0,
        num_kept: int = 0,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.num_kept = num_kept
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor, places: Places = WHOLE) -> Tensor:
        """[U, p], dense or sparse CSR -> [U, d]. Dense rows may have columns of zeros behind the p-th.

        Args:
            x: features.
            places: which rows (of a sparse x: which entries) of a batch that several processes share these are.
        """
        if x.layout == torch.strided:
            dropped = input_dropout(x, self.dropout, self.training, places=places)
            x = keep_columns(dropped, x, self.num_kept, len(self.weight))
            weight = F.pad(self.weight, (0, 0, 0, x.shape[1] - self.weight.shape[0]))
            return F.linear(as_operand(x, self.weight), weight.t(), self.bias)
        dropped = dropout(x.values(), self.dropout, self.training, places)
        out = weighted_rows(x, keep_columns(dropped, x, self.num_kept, x.shape[1]), self.weight)
        return out if self.bias is None else out + self.bias


@dataclass(frozen=True)
class LinkColumns:
    """What a model must know of the columns of links.

    Args:
        number: W.
        dropout: share of the links dropped in training.
    """

    number: int
    dropout: float = 0.0


def weighted_rows(pattern: Tensor, values: Tensor, weight: Tensor) -> Tensor:
    """A product with a sparse CSR matrix of other `values`.

    A row of it is a weighted sum of rows of W: an embedding bag. Unlike `csr @ dense` its gradient does not depend on MKL,
    and it is the same bit for bit from run to run.
    """
    return F.embedding_bag(
        pattern.col_indices(),
        weight,
        pattern.crow_indices(),
        mode="sum",
        per_sample_weights=values.to(weight.dtype),
        include_last_offset=True,
    )


class ANSGT(nn.Module):
    """Hierarchical graph transformer: classifies the centre of a sequence of nodes, super-nodes and global nodes.

    Args:
        in_channels: p, number of features.
        out_channels: C, number of classes.
        settings: sizes, rates and switches.
        num_kept: last columns of the features that feature dropout leaves alone.
        links: the columns of links that batches have beside the features, or None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        settings: ANSGTSettings = ANSGTSettings(),
        *,
        num_kept: int = 0,
        links: LinkColumns | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if value < 1:
                raise InputError(f"{name}={value} must be at least 1.")
        width = settings.hidden_channels
        self.num_classes = out_channels
        self.num_global = settings.num_global
        self.num_proximity = settings.num_proximity
        self.own_features = settings.own_features
        self.input = InputProjection(in_channels, width, settings.input_dropout, num_kept)
        self.global_nodes = nn.Parameter(0.02 * torch.randn(settings.num_global, width))
        self.kind = nn.Parameter(0.02 * torch.randn(4, width)) if settings.kind_embedding else None
        self.transformer = Transformer(settings)
        self.head = nn.Sequential(
            nn.Linear(2 * width if settings.own_features else width, width),
            nn.GELU(),
            Dropout(settings.dropout),
            nn.Linear(width, out_channels),
        )
        self.links = None  # drawn last, so that the other first weights are those of a model without
        if links is not None:
            self.links = InputProjection(links.number, width, links.dropout, bias=False)

    @overload
    def forward(self, batch: SequenceBatch, significance: Literal[False] = False) -> Tensor: ...
    @overload
    def forward(self, batch: SequenceBatch, significance: Literal[True]) -> tuple[Tensor, Tensor]: ...

    def forward(self, batch: SequenceBatch, significance: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """
        Args:
            batch: B sequences.
            significance: also return s_i of section 5.1 for the sampled slots; costs one row of attention per layer, no
                second pass.

        Returns:
            Logits [B, C]; with `significance` also s [B, N], 0 where masked.
        """
        logits, s = self.classify(batch, significance)
        return logits if s is None else (logits, s[:, batch.layout.sampled])

    def classify(self, batch: SequenceBatch, significance: bool = False) -> tuple[Tensor, Tensor | None]:
        """`forward` with s for the slots of all kinds: logits [B, C], and s [B, T] or None."""
        self._check(batch)
        layout = batch.layout  # slots per `TokenKind`, which `torch.compile` cannot iterate over
        counts = (1, layout.num_sampled, layout.num_supernodes, layout.num_global)
        # rows are encoded once and gathered, never once per token
        rows = self.input(batch.x, batch.places)
        if self.links is not None and batch.links is not None:
            rows = rows + self.links(batch.links, batch.link_places)
        h = first_states(rows, self.global_nodes, self.kind, batch.index, counts)
        bias = key_bias(batch.mask, batch.log_count)
        z, s = self.transformer(h, batch.proximity, bias, significance)
        return self.head(torch.cat([z, h[:, 0]], dim=-1) if self.own_features else z), s

    def param_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """Groups for the optimizer: biases, norms and learned vectors do not decay, matrices do."""
        vectors = {"global_nodes", "kind", "global_bias"}
        decay: list[nn.Parameter] = []
        rest: list[nn.Parameter] = []
        for name, parameter in self.named_parameters():
            matrix = parameter.ndim >= 2 and name.split(".")[-1] not in vectors
            (decay if matrix else rest).append(parameter)
        return [
            {"params": decay, "lr": lr, "weight_decay": weight_decay},
            {"params": rest, "lr": lr, "weight_decay": 0.0},
        ]

    def _check(self, batch: SequenceBatch) -> None:
        if batch.layout.num_global != self.num_global:
            raise InputError(
                f"The batch has {batch.layout.num_global} global nodes, the model {self.num_global}."
            )
        channels = batch.proximity.shape[-1]
        if channels != self.num_proximity:
            raise InputError(f"The batch has {channels} proximity channels, the model {self.num_proximity}.")
        if batch.proximity.shape[1] == 1 < min(len(self.transformer.layers), batch.layout.length):
            raise InputError(
                "The batch has the centre's row of the proximities alone; a transformer of several layers reads all."
            )
        if (batch.links is None) != (self.links is None):
            raise InputError(
                f"The batch has {'no ' if batch.links is None else ''}columns of links, the model reads "
                f"{'none' if self.links is None else 'them'}."
            )
