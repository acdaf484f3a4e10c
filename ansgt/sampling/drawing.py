"""Draws that depend on nothing but (seed, round, centre, sequence): numbers from a counter, with and without replacement.

Numbers are SplitMix64 (Steele, Lea and Flood, 2014) used as a hash. torch has no unsigned 64-bit arithmetic, so its version
works on wrapped int64 with masked shifts, on any device; `uniform_scalar` is the same function for numba kernels.

Without replacement it is a race of exponential clocks (Gumbel top-k in other words). Candidate i rings at time
E_i = -log(u_i) / psi_i; the N earliest are drawn. With tau the (N+1)-th time, candidate i is among the first N with
probability pi_i = 1 - exp(-psi_i tau) given everybody else's clock: what an unbiased reward divides by (Duffield, Lund and
Thorup, 2007). In keys of Gumbel top-k, tau = exp(-kappa).

With replacement it is the inverse of the cumulative psi, repeats merged or not.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.device import runs_numba

_JIT_PAYS = 1 << 22
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_WORD = (1 << 64) - 1
_TO_UNIT = 2.0**-53


def _signed(value: int) -> int:
    value &= _WORD
    return value - (1 << 64) if value >> 63 else value


def _mix_int(value: int) -> int:
    value &= _WORD
    value = ((value ^ (value >> 30)) * _FIRST) & _WORD
    value = ((value ^ (value >> 27)) * _SECOND) & _WORD
    return value ^ (value >> 31)


def stream(seed: int, *path: int) -> int:
    """A signed 64-bit key for a seed and any number of coordinates (round, purpose, ...).

    >>> stream(0, 1) == stream(0, 1), stream(0, 1) == stream(1, 0)
    (True, False)
    """
    key = _mix_int(seed + _GOLDEN)
    for coordinate in path:
        key = _mix_int(key + (coordinate + 1) * _GOLDEN)
    return _signed(key)


def _shift_xor(z: Tensor, bits: int) -> Tensor:
    return z.bitwise_xor_((z >> bits).bitwise_and_((1 << (64 - bits)) - 1))


def hash_tensor(key: Tensor | int, counter: Tensor) -> Tensor:
    """64 random bits for every (key, counter), broadcast; int64."""
    z = (counter + 1) * _signed(_GOLDEN)
    z = z + key
    z = _shift_xor(z, 30).mul_(_signed(_FIRST))
    z = _shift_xor(z, 27).mul_(_signed(_SECOND))
    return _shift_xor(z, 31)


def uniform(key: Tensor | int, counter: Tensor) -> Tensor:
    """A float64 strictly between 0 and 1 for every (key, counter), broadcast."""
    bits = (hash_tensor(key, counter) >> 11).bitwise_and_((1 << 53) - 1)
    return bits.to(torch.float64).add_(0.5).mul_(_TO_UNIT)


def sequence_keys(key: int, centres: Tensor, num_sequences: int) -> Tensor:
    """One key per centre and sequence [B, S], int64."""
    per_centre = hash_tensor(key, centres.to(torch.int64))
    return hash_tensor(per_centre[:, None], torch.arange(num_sequences, device=centres.device))


@njit(cache=True)
def uniform_scalar(key: np.uint64, counter: np.uint64) -> float:
    """`uniform` for one pair, bit for bit."""
    z = key + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(11)) + 0.5) * 1.1102230246251565e-16


class Race(NamedTuple):
    """Winners of B × S races: `position` in the candidate row [B, S, N] int64, -1 where fewer ran; `tau` [B, S] float64."""

    position: Tensor
    tau: Tensor


def race(weights: Tensor, ids: Tensor, keys: Tensor, num_winners: int) -> Race:
    """Draws `num_winners` candidates without replacement, in proportion to `weights`.

    Args:
        weights: [B, C], float64, 0 for what cannot be drawn.
        ids: what names a candidate in the hash [B, C], integer, so that a draw does not depend on the layout of the row.
        keys: one per race [B, S], int64 (`sequence_keys`).
    """
    race_there = _race_numba if runs_numba(weights.device) else race_torch
    return race_there(weights, ids, keys, num_winners)


def race_torch(weights: Tensor, ids: Tensor, keys: Tensor, num_winners: int) -> Race:
    """`race` in plain torch, any device; holds [B, S, C] float64."""
    width = weights.shape[1]
    u = uniform(keys[:, :, None], ids[:, None, :].to(torch.int64))
    times = u.log_().neg_().div_(weights[:, None, :])
    times.masked_fill_(weights[:, None, :] == 0, math.inf)
    kept = min(num_winners + 1, width)
    first = torch.topk(times, kept, dim=-1, largest=False, sorted=True)
    pad = (0, num_winners + 1 - kept)
    values = torch.nn.functional.pad(first.values, pad, value=math.inf)
    position = torch.nn.functional.pad(first.indices, pad, value=-1)[..., :num_winners]
    return Race(position.masked_fill(values[..., :-1].isinf(), -1), values[..., -1])


def _race_numba(weights: Tensor, ids: Tensor, keys: Tensor, num_winners: int) -> Race:
    shape = (*keys.shape, num_winners + 1)
    times = np.full(shape, np.inf)
    position = np.full(shape, -1, dtype=np.int64)
    arrays = (weights.contiguous().numpy(), ids.to(torch.int32).contiguous().numpy())
    _race_kernel(*arrays, keys.contiguous().numpy().view(np.uint64), times, position)
    return Race(torch.from_numpy(position)[..., :-1], torch.from_numpy(times[..., -1].copy()))


@njit(cache=True, parallel=True, nogil=True)
def _race_kernel(
    weights: np.ndarray, ids: np.ndarray, keys: np.ndarray, times: np.ndarray, position: np.ndarray
) -> None:
    """Insertion into a sorted list of the N+1 earliest; most candidates are refused before their logarithm is taken."""
    last = times.shape[2] - 1
    for b in prange(weights.shape[0]):
        for s in range(keys.shape[1]):
            key = keys[b, s]
            slow = np.inf
            for c in range(weights.shape[1]):
                weight = weights[b, c]
                if weight > 0.0:
                    u = uniform_scalar(key, np.uint64(ids[b, c]))
                    # -log(u) >= 1 - u; the slack keeps rounding out of the decision
                    if (1.0 - u) * 0.999999 <= slow * weight:
                        time = -math.log(u) / weight
                        if time < slow:
                            _enter(times, position, b, s, time, c)
                            slow = times[b, s, last]


@njit(cache=True)
def _enter(times: np.ndarray, position: np.ndarray, b: int, s: int, time: float, c: int) -> None:
    """Puts candidate c into the sorted list of the earliest; the last of them leaves it."""
    place = times.shape[2] - 1
    while place > 0 and times[b, s, place - 1] > time:
        times[b, s, place] = times[b, s, place - 1]
        position[b, s, place] = position[b, s, place - 1]
        place -= 1
    times[b, s, place] = time
    position[b, s, place] = c


@dataclass(frozen=True, eq=False)
class Draws:
    """`position` in the candidate row [B, S, N] int64, -1 for an empty slot, and `count` of the draws in it, int64."""

    position: Tensor
    count: Tensor
    __repr__ = brief_repr


def draw_with_replacement(psi: Tensor, lengths: Tensor, keys: Tensor, num_draws: int, merge: bool) -> Draws:
    """Draws `num_draws` candidates in proportion to psi; `merge` puts repeats into one slot, distinct ones first.

    Args:
        psi: [B, C], float64, 0 beyond the last candidate.
        lengths: candidates of every row [B], int64; a row without any gives empty slots.
        keys: one per sequence [B, S], int64.
    """
    if psi.numel() + keys.numel() * num_draws >= _JIT_PAYS and runs_numba(psi.device):
        return _draw_numba(psi, lengths, keys, num_draws, merge)
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


def _draw_numba(psi: Tensor, lengths: Tensor, keys: Tensor, num_draws: int, merge: bool) -> Draws:
    position = np.empty((*keys.shape, num_draws), dtype=np.int64)
    count = np.zeros_like(position)
    unsigned = keys.contiguous().numpy().view(np.uint64)
    _draw_kernel(psi.contiguous().numpy(), lengths.numpy(), unsigned, merge, position, count)
    return Draws(torch.from_numpy(position), torch.from_numpy(count))


@njit(cache=True, parallel=True, nogil=True)
def _draw_kernel(
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
