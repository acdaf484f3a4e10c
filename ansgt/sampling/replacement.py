"""Sampling with replacement by the inverse of the cumulative psi, repeats merged or not, in torch and in numba."""

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from ansgt.sampling.counter import uniform, uniform_scalar

_JIT_PAYS = 1 << 22


@dataclass(frozen=True, eq=False)
class Draws:
    """`position` in the candidate row [B, S, N] int64, -1 for an empty slot, and `count` of the draws in it, int64."""

    position: Tensor
    count: Tensor


def draw_with_replacement(psi: Tensor, lengths: Tensor, keys: Tensor, num_draws: int, merge: bool) -> Draws:
    """Draws `num_draws` candidates in proportion to psi; `merge` puts repeats into one slot, distinct ones first.

    Args:
        psi: [B, C], float64, 0 beyond the last candidate.
        lengths: candidates of every row [B], int64; a row without any gives empty slots.
        keys: one per sequence [B, S], int64.
    """
    large = psi.numel() + keys.numel() * num_draws >= _JIT_PAYS
    if psi.device.type == "cpu" and large:
        return _numba(psi, lengths, keys, num_draws, merge)
    position = _inverse(psi, lengths, keys, num_draws)
    return _merged(position) if merge else Draws(position, (position >= 0).to(torch.int64))


def _inverse(psi: Tensor, lengths: Tensor, keys: Tensor, num_draws: int) -> Tensor:
    slots = torch.arange(num_draws, device=psi.device)
    u = uniform(keys[:, :, None], slots).flatten(1)  # [B, S * N]
    cumulative = psi.cumsum(dim=1)
    position = torch.searchsorted(cumulative, u * cumulative[:, -1:], right=True)
    return torch.minimum(position, lengths[:, None] - 1).view(*keys.shape, num_draws)


def _merged(position: Tensor) -> Draws:
    """Merges repeats: distinct positions first (ascending), then -1; and how often each occurred."""
    ordered = position.sort(dim=-1).values
    fresh = torch.ones_like(ordered, dtype=torch.bool)
    fresh[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    place = fresh.cumsum(dim=-1) - 1  # which merged slot a draw belongs to
    count = torch.zeros_like(ordered).scatter_add_(-1, place, torch.ones_like(ordered))
    merged = torch.full_like(ordered, -1).scatter_(-1, place, ordered)
    return Draws(merged, count * (merged >= 0))


def _numba(psi: Tensor, lengths: Tensor, keys: Tensor, num_draws: int, merge: bool) -> Draws:
    position = np.empty((*keys.shape, num_draws), dtype=np.int64)
    count = np.zeros_like(position)
    unsigned = keys.contiguous().numpy().view(np.uint64)
    _kernel(psi.contiguous().numpy(), lengths.numpy(), unsigned, merge, position, count)
    return Draws(torch.from_numpy(position), torch.from_numpy(count))


@njit(cache=True, parallel=True)
def _kernel(
    psi: np.ndarray,
    lengths: np.ndarray,
    keys: np.ndarray,
    merge: bool,
    position: np.ndarray,
    count: np.ndarray,
) -> None:
    for b in prange(psi.shape[0]):
        cumulative = np.cumsum(psi[b])
        for s in range(keys.shape[1]):
            slots, counts = position[b, s], count[b, s]
            filled = 0
            for n in range(len(slots)):
                u = uniform_scalar(keys[b, s], np.uint64(n)) * cumulative[-1]
                drawn = min(np.searchsorted(cumulative, u, side="right"), lengths[b] - 1)
                if merge:
                    filled = _insert(slots, counts, filled, drawn)
                else:
                    slots[n], counts[n], filled = drawn, drawn >= 0, n + 1
            slots[filled:] = -1


@njit(cache=True)
def _insert(slots: np.ndarray, counts: np.ndarray, filled: int, drawn: int) -> int:
    """Adds a draw to the ascending list of distinct ones; returns its new length."""
    if drawn < 0:
        return 0
    place = filled
    while place > 0 and slots[place - 1] > drawn:
        place -= 1
    if place > 0 and slots[place - 1] == drawn:
        counts[place - 1] += 1
        return filled
    for later in range(filled, place, -1):
        slots[later], counts[later] = slots[later - 1], counts[later - 1]
    slots[place], counts[place] = drawn, 1
    return filled + 1
