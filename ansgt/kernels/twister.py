"""The numbers of torch's CPU generator, bit for bit, six times as fast: dropout masks were a tenth of a training step.

Torch's generator is MT19937 (Matsumoto and Nishimura, 1998): 624 words of state; a twist makes the next 624, and tempering
makes a word of output of each. Written as loops over whole arrays both are vector instructions. The state is read from the
generator and given back, so that whoever draws next goes on where torch would.
"""

import functools

import numpy as np
import torch
from numba import njit
from torch import Tensor

WORDS = 624
_MIDDLE = 397
_SEEDED, _LEFT, _NEXT, _STATE = 5, slice(8, 12), slice(16, 24), slice(24, 24 + 8 * WORDS)
"""A seed to check with; bytes of torch's state: words left before the next twist, place of the next one, the words."""
_U = np.uint32


def follows_torch() -> bool:
    """Whether this torch keeps its state as we know it."""
    return _follows(torch.__version__)


@functools.cache
def _follows(version: str) -> bool:
    ours, theirs = (torch.Generator().manual_seed(_SEEDED) for _ in range(2))
    try:
        same = all(_same_draws(number, ours, theirs) for number in (WORDS, 3))
    except Exception:  # another layout may be of another length
        return False
    return same


def _same_draws(number: int, ours: torch.Generator, theirs: torch.Generator) -> bool:
    drawn = torch.empty(number, dtype=torch.int64).random_(-(2**63), None, generator=theirs)
    return bool((torch.from_numpy(int64s(number, ours)) == drawn).all())


def int64s(number: int, generator: torch.Generator = torch.default_generator) -> np.ndarray:
    """What `Tensor.random_` over all int64 draws [number]."""
    state = generator.get_state()
    left, place, words = (
        state.numpy()[part].view(kind)
        for part, kind in ((_LEFT, np.int32), (_NEXT, np.uint64), (_STATE, np.uint64))
    )
    now, out = words.astype(np.uint32), np.empty(number, dtype=np.uint64)
    used = _fill(now, WORDS if left[0] == 1 else int(place[0]), out.view(np.uint32))
    words[:], place[0], left[0] = now, used, WORDS - used + 1
    generator.set_state(state)
    _high_word_first(out)
    return out.view(np.int64)


def chosen(levels: np.ndarray, threshold: int, value: float, dtype: torch.dtype) -> Tensor:
    """`value` where a level is at least the threshold, else 0; in the shape of the levels [...], int16."""
    one = torch.tensor([value], dtype=dtype)
    bits = one.view(torch.int16 if one.itemsize == 2 else torch.int32).numpy()
    out = np.empty(levels.shape, dtype=bits.dtype)
    _choose(np.ascontiguousarray(levels).reshape(-1), np.int16(threshold), bits[0], out.reshape(-1))
    return torch.from_numpy(out).view(dtype)


@njit(cache=True, nogil=True)
def _mixed(high: np.uint32, low: np.uint32) -> np.uint32:
    y = (high & _U(0x80000000)) | (low & _U(0x7FFFFFFF))
    return (y >> _U(1)) ^ ((_U(0) - (low & _U(1))) & _U(0x9908B0DF))


@njit(cache=True, nogil=True)
def _twist(old: np.ndarray, new: np.ndarray) -> None:
    """The next state, in three stretches of which each reads the one before it."""
    step = WORDS - _MIDDLE
    first, second, third = new[:step], new[step : 2 * step], new[2 * step : WORDS - 1]
    for i in range(step):
        first[i] = old[i + _MIDDLE] ^ _mixed(old[i], old[i + 1])
    for i in range(step):
        second[i] = first[i] ^ _mixed(old[i + step], old[i + step + 1])
    for i in range(len(third)):
        third[i] = second[i] ^ _mixed(old[i + 2 * step], old[i + 2 * step + 1])
    new[WORDS - 1] = new[_MIDDLE - 1] ^ _mixed(old[WORDS - 1], new[0])


@njit(cache=True, nogil=True)
def _temper(state: np.ndarray, out: np.ndarray) -> None:
    for i in range(WORDS):
        y = state[i]
        y ^= y >> _U(11)
        y ^= (y << _U(7)) & _U(0x9D2C5680)
        y ^= (y << _U(15)) & _U(0xEFC60000)
        out[i] = y ^ (y >> _U(18))


@njit(cache=True, nogil=True)
def _fill(state: np.ndarray, used: int, out: np.ndarray) -> int:
    """Writes the next words of output and the state after them; returns how many of its words are used."""
    old, new, words = state.copy(), np.empty(WORDS, dtype=np.uint32), np.empty(WORDS, dtype=np.uint32)
    _temper(old, words)
    done = 0
    while done < len(out):
        if used == WORDS:
            _twist(old, new)
            old, new = new, old
            _temper(old, words)
            used = 0
        number = min(WORDS - used, len(out) - done)
        to, of = out[done : done + number], words[used : used + number]
        for i in range(number):
            to[i] = of[i]
        used += number
        done += number
    state[:] = old
    return used


@njit(cache=True, nogil=True)
def _high_word_first(values: np.ndarray) -> None:
    for i in range(len(values)):
        values[i] = (values[i] >> np.uint64(32)) | (values[i] << np.uint64(32))


@njit(cache=True, nogil=True)
def _choose(levels: np.ndarray, threshold: np.int16, value: np.integer, out: np.ndarray) -> None:
    zero = value ^ value
    for i in range(len(levels)):
        out[i] = value if levels[i] >= threshold else zero
