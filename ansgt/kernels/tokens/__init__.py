"""The tokens' first states: rows of encoded features and global nodes, one per token, plus the vector of its kind."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ansgt.kernels.choose import Kernel, choose


def plain_first_states(
    rows: Tensor, globals: Tensor, kinds: Tensor | None, index: Tensor, counts: Sequence[int]
) -> Tensor:
    """The gather written out, for the arguments of `first_states`."""
    h = F.embedding(index, torch.cat([rows.to(globals.dtype), globals]))
    return h if kinds is None else h + _per_slot(kinds, counts)


def first_states(
    rows: Tensor,
    globals: Tensor,
    kinds: Tensor | None,
    index: Tensor,
    counts: Sequence[int],
    kernel: Kernel = "auto",
) -> Tensor:
    """The row of every token plus the vector of its kind [B, T, d].

    In float32 even under autocast, because the gradient of a row is a sum over all tokens that used it.

    Args:
        rows: encoded features [U, d].
        globals: global nodes [n_g, d], float32.
        kinds: a vector per kind of token [4, d], float32, or None.
        index: row of every token [B, T], int64; U + g for global node g.
        counts: how many slots each of the four kinds has, in the order of the slots.
        kernel: how it is computed. The twin adds up a row's gradient in an order that does not matter.
    """
    if choose("tokens", rows, kernel) == "triton":
        from ansgt.kernels.tokens.triton import first_states as twin

        return twin(rows, globals, kinds, index, counts)
    return plain_first_states(rows, globals, kinds, index, counts)


def _per_slot(kinds: Tensor, counts: Sequence[int]) -> Tensor:
    """Kind vector of every slot [T, d], built from slices: an index tensor would have to travel to the device."""
    return torch.cat([kinds[k : k + 1].expand(count, -1) for k, count in enumerate(counts)])
