"""`SequenceBatch`: what the transformer reads. Every field has a fixed, documented shape.

One sequence is [centre | N sampled nodes | n_s super-nodes | n_g global nodes] (section 5.2), T tokens in all;
which kind a token is depends on its slot alone, so all sequences of a batch share one layout.
"""

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.kernels.dropout import WHOLE, Places


class TokenKind(IntEnum):
    CENTRE = 0
    NODE = 1
    SUPER = 2
    GLOBAL = 3


@dataclass(frozen=True)
class SequenceLayout:
    """How many slots of each kind a sequence has.

    >>> SequenceLayout(num_sampled=2, num_supernodes=1, num_global=1).kind.tolist()
    [0, 1, 1, 2, 3]
    """

    num_sampled: int
    num_supernodes: int = 0
    num_global: int = 0

    @property
    def length(self) -> int:
        """T = 1 + N + n_s + n_g."""
        return 1 + self.num_sampled + self.num_supernodes + self.num_global

    @cached_property
    def kind(self) -> Tensor:
        """Kind of every slot [T], int8 (`TokenKind`)."""
        counts = torch.tensor([1, self.num_sampled, self.num_supernodes, self.num_global])
        return torch.repeat_interleave(torch.arange(4, dtype=torch.int8), counts)

    @property
    def sampled(self) -> slice:
        return slice(1, 1 + self.num_sampled)

    @property
    def supernodes(self) -> slice:
        return slice(1 + self.num_sampled, 1 + self.num_sampled + self.num_supernodes)

    @property
    def globals(self) -> slice:
        return slice(self.length - self.num_global, self.length)


@dataclass(frozen=True, eq=False)
class SequenceBatch:
    """B sequences of T tokens. U is the number of distinct encoded rows, M the number of proximity channels.

    Args:
        layout: which slots are what.
        ids: extended ids [B, T], int64: node i is i, super-node a is n + a, global node g is -1 - g; 0 where masked.
        mask: True where a token is real [B, T], bool. The centre and the global slots always are.
        log_count: log multiplicity of a merged token [B, T], float32; 0 for all others.
        proximity: Phi_m(i, j) [B, Q, T, M], float; 0 for pairs with a global or a masked token. Q is T, or 1 where nothing
            but the centre's row is read (a transformer of one layer).
        x: features of the distinct rows [U, p], dense or sparse CSR; encoded once per step, not once per token.
        index: row of `x` for every token [B, T], int64; U + g for global node g; 0 where masked.
        target: label of the centre [B], int64; -1 unknown.
        links: the columns of links of the same rows [U, W], sparse CSR; or None.
        places, link_places: of `x` and `links` in a batch of which other processes have the other sequences.
    """

    layout: SequenceLayout
    ids: Tensor
    mask: Tensor
    log_count: Tensor
    proximity: Tensor
    x: Tensor
    index: Tensor
    target: Tensor
    links: Tensor | None = None
    places: Places = WHOLE
    link_places: Places = WHOLE
    __repr__ = brief_repr

    @property
    def kind(self) -> Tensor:
        """Kind of every token [B, T], int8 (`TokenKind`)."""
        return self.layout.kind.to(self.ids.device).expand(self.ids.shape)

    @property
    def centre(self) -> Tensor:
        """Node id of every centre [B], int64."""
        return self.ids[:, 0]

    def __len__(self) -> int:
        return self.ids.shape[0]

    def to(self, device: torch.device | str) -> "SequenceBatch":
        moved: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if isinstance(value, Tensor):
                moved[name] = value.to(device)
        return replace(self, **moved)
