"""Sampling without replacement as a race of exponential clocks (Gumbel top-k in other words), in torch and in numba.

Candidate i rings at time E_i = -log(u_i) / psi_i; the N earliest are drawn. With tau the (N+1)-th time, candidate i is among
the first N with probability pi_i = 1 - exp(-psi_i tau) given everybody else's clock: what an unbiased reward divides by
(Duffield, Lund and Thorup, 2007). In keys of Gumbel top-k, tau = exp(-kappa).
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from ansgt.sampling.counter import uniform, uniform_scalar


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
    if weights.device.type == "cpu":
        return _race_numba(weights, ids, keys, num_winners)
    return race_torch(weights, ids, keys, num_winners)


def race_torch(weights: Tensor, ids: Tensor, keys: Tensor, num_winners: int) -> Race:
    """`race` in plain torch, any device; holds [B, S, C] float64."""
    width = weights.shape[1]
    u = uniform(keys[:, :, None], ids[:, None, :].to(torch.int64))
    times = u.log_().neg_().div_(weights[:, None, :])
    times.masked_fill_(weights[:, None, :] <= 0, math.inf)
    kept = min(num_winners + 1, width)
    first = torch.topk(times, kept, dim=-1, largest=False, sorted=True)
    pad = (0, num_winners + 1 - kept)
    values = torch.nn.functional.pad(first.values, pad, value=math.inf)
    position = torch.nn.functional.pad(first.indices, pad, value=-1)[..., :num_winners]
    return Race(position.masked_fill(values[..., :num_winners].isinf(), -1), values[..., num_winners])


def _race_numba(weights: Tensor, ids: Tensor, keys: Tensor, num_winners: int) -> Race:
    shape = (*keys.shape, num_winners + 1)
    times = np.full(shape, np.inf)
    position = np.full(shape, -1, dtype=np.int64)
    if times.size and weights.shape[1]:
        arrays = (weights.contiguous().numpy(), ids.to(torch.int32).contiguous().numpy())
        _race_kernel(*arrays, keys.contiguous().numpy().view(np.uint64), times, position)
    return Race(
        torch.from_numpy(position)[..., :num_winners], torch.from_numpy(times[..., num_winners].copy())
    )


@njit(cache=True, parallel=True)
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
                if weight <= 0.0:
                    continue
                u = uniform_scalar(key, np.uint64(ids[b, c]))
                # -log(u) >= 1 - u; the slack keeps rounding out of the decision
                if (1.0 - u) * 0.999999 > slow * weight:
                    continue
                time = -math.log(u) / weight
                if time >= slow:
                    continue
                place = last
                while place > 0 and times[b, s, place - 1] > time:
                    times[b, s, place] = times[b, s, place - 1]
                    position[b, s, place] = position[b, s, place - 1]
                    place -= 1
                times[b, s, place] = time
                position[b, s, place] = c
                slow = times[b, s, last]
