"""Counter-based random numbers: a draw is a hash of (seed, round, centre, sequence, counter) and of nothing else.

SplitMix64 (Steele, Lea and Flood, 2014) used as a hash. torch has no unsigned 64-bit arithmetic, so the torch version
works on wrapped int64 with masked shifts, on any device; `uniform_scalar` is the same function for numba kernels.
"""

import numpy as np
import torch
from numba import njit
from torch import Tensor

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
