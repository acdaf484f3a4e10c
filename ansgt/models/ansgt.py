"""`ANSGT`: the hierarchical graph transformer of the paper (sections 5.2 and 5.3)."""

import inspect
from typing import Any, Literal, Self, overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ansgt.errors import InputError
from ansgt.models.attention import Kernel, as_operand, key_bias
from ansgt.models.dropout import Dropout, dropout, keep_columns
from ansgt.models.transformer import Transformer
from ansgt.optional import HAS_TRITON
from ansgt.sequences.batch import SequenceBatch, SequenceLayout


class InputProjection(nn.Module):
    """X W + b for dense or sparse features, with dropout on the non-zero entries of X.

    Args:
        in_channels: p.
        out_channels: d.
        dropout: share of the features dropped in training.
    """

    num_kept = 0
    """Last columns of X that are never dropped (`training.features.keep_appended`)."""

    def __init__(self, in_channels: int, out_channels: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """[U, p], dense or sparse CSR -> [U, d]. Dense rows may have columns of zeros behind the p-th."""
        if x.layout == torch.strided:
            x = keep_columns(self._dropped(x), x, self.num_kept, len(self.weight))
            weight = F.pad(self.weight, (0, 0, 0, x.shape[1] - self.weight.shape[0]))
            return F.linear(as_operand(x, self.weight), weight.t(), self.bias)
        # A row of a sparse product is a weighted sum of rows of W: an embedding bag. Unlike `csr @ dense` its gradient
        # does not depend on MKL, and it is the same bit for bit from run to run.
        dropped = dropout(x.values(), self.dropout, self.training)
        values = keep_columns(dropped, x, self.num_kept, x.shape[1]).to(self.weight.dtype)
        out = F.embedding_bag(
            x.col_indices(),
            self.weight,
            x.crow_indices(),
            mode="sum",
            per_sample_weights=values,
            include_last_offset=True,
        )
        return out + self.bias

    def _dropped(self, x: Tensor) -> Tensor:
        """Dropout of dense features. A kernel of our own where they need no gradient: the mask need not be kept."""
        if self.training and self.dropout and x.is_cuda and not x.requires_grad and HAS_TRITON:
            from ansgt.models.triton_dropout import dropped

            return dropped(x, self.dropout)
        return dropout(x, self.dropout, self.training)


class ANSGT(nn.Module):
    """Hierarchical graph transformer: classifies the centre of a sequence of nodes, super-nodes and global nodes.

    Args:
        in_channels: p, number of features.
        out_channels: C, number of classes.
        hidden_channels: d.
        num_layers: L.
        num_heads: attention heads.
        num_global: n_g, learnable global nodes; what the batches hold.
        num_proximity: M, channels of the proximity encoding.
        dropout: after attention, in the FFN and in the head.
        attention_dropout: on the attention weights.
        input_dropout: on the non-zero features.
        ffn_multiplier: inner width of the FFN over d.
        kind_embedding: adds a learned vector per kind of token (centre, node, super, global).
        per_layer_bias: a proximity bias for every layer instead of one for all.
        own_features: the head also reads the centre's first state as it is: LN divides by a node's magnitude, and the
            residual stream mixes the centre with others.
        attention: how attention is computed: "auto", "plain" or "sdpa".
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 128,
        num_layers: int = 5,
        num_heads: int = 8,
        num_global: int = 2,
        num_proximity: int = 10,
        dropout: float = 0.5,
        attention_dropout: float = 0.5,
        input_dropout: float = 0.5,
        ffn_multiplier: float = 2.0,
        kind_embedding: bool = True,
        per_layer_bias: bool = False,
        own_features: bool = False,
        attention: Kernel = "auto",
    ) -> None:
        super().__init__()
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if value < 1:
                raise InputError(f"{name}={value} must be at least 1.")
        self.num_global = num_global
        self.num_proximity = num_proximity
        self.own_features = own_features
        self.input = InputProjection(in_channels, hidden_channels, input_dropout)
        self.global_nodes = nn.Parameter(0.02 * torch.randn(num_global, hidden_channels))
        self.kind = nn.Parameter(0.02 * torch.randn(4, hidden_channels)) if kind_embedding else None
        self.transformer = Transformer(
            hidden_channels,
            num_layers,
            num_heads,
            num_proximity,
            num_global,
            per_layer_bias,
            ffn_multiplier,
            dropout,
            attention_dropout,
            attention,
        )
        self.head = nn.Sequential(
            nn.Linear(2 * hidden_channels if own_features else hidden_channels, hidden_channels),
            nn.GELU(),
            Dropout(dropout),
            nn.Linear(hidden_channels, out_channels),
        )

    @classmethod
    def from_settings(cls, in_channels: int, out_channels: int, settings: object) -> Self:
        """With every keyword for which `settings` has an attribute."""
        names = inspect.signature(ANSGT.__init__).parameters
        given = {name: getattr(settings, name) for name in names if hasattr(settings, name)}
        return cls(in_channels, out_channels, **given)

    @overload
    def forward(self, batch: SequenceBatch, significance: Literal[False] = False) -> Tensor: ...
    @overload
    def forward(self, batch: SequenceBatch, significance: Literal[True]) -> tuple[Tensor, Tensor]: ...

    def forward(self, batch: SequenceBatch, significance: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """
        Args:
            batch: B sequences.
            significance: also return s_i of section 5.1 for the sampled slots; costs one row of attention a layer, no
                second pass.

        Returns:
            Logits [B, C]; with `significance` also s [B, N], 0 where masked.
        """
        self._check(batch)
        tokens = (batch.x, batch.index, batch.mask, batch.log_count, batch.proximity)
        logits, s = self.classify(batch.layout, *tokens, significance=significance)
        return logits if s is None else (logits, s[:, batch.layout.sampled])

    def classify(
        self,
        layout: SequenceLayout,
        x: Tensor,
        index: Tensor,
        mask: Tensor,
        log_count: Tensor,
        proximity: Tensor,
        significance: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """`forward` on the fields of a batch: logits [B, C] and s [B, T] or None. Tensors only, for `torch.compile`."""
        h = self._first_states(self.input(x), index, layout)
        z, s = self.transformer(h, proximity, key_bias(mask, log_count), significance)
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

    def _first_states(self, rows: Tensor, index: Tensor, layout: SequenceLayout) -> Tensor:
        """Encoded rows [U, d] and the global nodes, one per token, plus its kind's vector [B, T, d].

        Rows are encoded once and gathered, never once per token. In float32 even under autocast, because the gradient
        of a row is a sum over all tokens that used it.
        """
        if rows.is_cuda and HAS_TRITON:
            from ansgt.models.triton_tokens import first_states

            return first_states(rows, self.global_nodes, self.kind, index, layout)
        h = F.embedding(index, torch.cat([rows.to(self.global_nodes.dtype), self.global_nodes]))
        return h if self.kind is None else h + self._kinds(layout)

    def _kinds(self, layout: SequenceLayout) -> Tensor:
        """Kind vector of every slot [T, d], built from slices: an index tensor would have to travel to the device."""
        # in the order of `TokenKind`, which `torch.compile` cannot iterate over
        counts = (1, layout.num_sampled, layout.num_supernodes, layout.num_global)
        kind: Tensor = self.kind  # type: ignore[assignment]
        return torch.cat([kind[k : k + 1].expand(count, -1) for k, count in enumerate(counts)])

    def _check(self, batch: SequenceBatch) -> None:
        if batch.layout.num_global != self.num_global:
            raise InputError(
                f"The batch has {batch.layout.num_global} global nodes, the model {self.num_global}."
            )
        channels = batch.proximity.shape[-1]
        if channels != self.num_proximity:
            raise InputError(f"The batch has {channels} proximity channels, the model {self.num_proximity}.")
