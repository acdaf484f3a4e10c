"""What turns a good input into a hostile one: arrays, bytes, nested settings.

A case of the fuzzer is a function (rng, folder), made from (seed, number) alone, that makes something hostile, hands it to
the product, and checks what comes back. It raises `Wrong` where the product accepted it and gave something else than what
the file says.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator
Case = Callable[[Rng, Path], None]
NUM = 24
LONGEST = 600


class Wrong(AssertionError):
    """Accepted, and not what was given."""


class Refused(Exception):
    """The command line refused, as it should."""


def pick(rng: Rng, values: Any) -> Any:
    return list(values)[int(rng.integers(len(list(values))))]


EVIL_NUMBERS = (
    0, -1, 1, 2**31, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 10**8, 10**12, 1e300, np.nan, np.inf, -np.inf,
)  # fmt: skip
KINDS = (
    "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">f8", "f2", "f4", "f8", "g", "c8", "c16", "?", "S3", "U3", "O",
    "M8[s]", "m8[s]", "V4",
)  # fmt: skip
"""Of arrays, as numpy spells them."""


def mutate_array(rng: Rng, array: Any) -> Any:
    """One array, changed in kind, shape or content where it can be."""
    try:
        return _mutated(rng, np.array(array))
    except (TypeError, ValueError, OverflowError):
        return array


def _mutated(rng: Rng, array: np.ndarray) -> Any:
    how = int(rng.integers(10))
    if how == 0:
        with np.errstate(all="ignore"):
            return array.astype(pick(rng, KINDS))
    if how == 1 and array.size:
        flat = array.reshape(-1).astype(pick(rng, ("f8", "i8", array.dtype.str)), copy=True)
        flat[int(rng.integers(len(flat)))] = pick(rng, EVIL_NUMBERS)
        return flat.reshape(array.shape)
    if how == 2:
        return array.reshape(pick(rng, ((-1,), (1, -1), (-1, 1), (1, 1, -1))))
    if how == 3:
        return array[: int(rng.integers(array.shape[0] + 1))] if array.ndim else array
    if how == 4:
        return pick(
            rng,
            (
                np.array(3),
                np.array(None),
                np.array("x"),
                np.zeros(0),
                np.zeros((0, 5)),
                np.zeros((NUM, 0)),
                np.zeros((2, 0), int),
            ),
        )
    if how == 5:
        return np.concatenate([array, array]) if array.ndim else array
    if how == 6:
        return array[::-1] if array.ndim else array
    if how == 7:
        return array.T
    if how == 8:
        return rng.integers(-3, NUM + 3, size=array.shape)
    return np.zeros((10**9, 0)) if rng.random() < 0.3 else np.asfortranarray(array)


def mutate_bytes(rng: Rng, content: bytes) -> bytes:
    """Flips, cuts, zeros, repeats, numbers of all sizes."""
    raw = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not raw:
            break
        at, size = int(rng.integers(len(raw))), int(rng.integers(1, 64))
        how = int(rng.integers(7))
        if how == 0:
            raw[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            del raw[at:]
        elif how == 2:
            raw[at : at + size] = bytes(len(raw[at : at + size]))
        elif how == 3:
            raw[at:at] = raw[at : at + size]
        elif how == 4:
            del raw[at : at + size]
        elif how == 5:
            raw[at : at + 8] = b"\xff" * len(raw[at : at + 8])
        else:
            raw[at : at + size] = rng.bytes(len(raw[at : at + size]))
    return bytes(raw)


def evil_value(rng: Rng, depth: int = 0) -> Any:
    how = int(rng.integers(14 if depth < 3 else 12))
    plain = (
        None, True, False, 0, -1, 1, 3, 0.5, -0.5, 1e-3, float("nan"), float("inf"), 2**31, 2**63, 10**400, 1e308,
        "", "text", "auto", "1e-3", "x" * 5000, "nan", "[/red]", "\x1b[31m", "\ud800", "9" * 5000, "none", "adam",
    )  # fmt: skip
    if how < 12:
        return pick(rng, plain)
    if how == 12:
        return [evil_value(rng, depth + 1) for _ in range(int(rng.integers(4)))]
    return {
        pick(rng, ("a", "lr", "model", "1", "x" * 700)): evil_value(rng, depth + 1)
        for _ in range(int(rng.integers(3)))
    }


def mutate_tree(rng: Rng, tree: Any) -> Any:
    """One place in nested mappings and lists, replaced, dropped, renamed or added to."""
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        found = dict(tree)
        key = pick(rng, found)
        how = rng.random()
        if how < 0.7:
            found[key] = mutate_tree(rng, found[key])
        elif how < 0.8:
            del found[key]
        elif how < 0.9:
            found[f"{key}s"] = found.pop(key)
        else:
            found[pick(rng, ("speed", "", "lr", "x" * 900, "num_layers"))] = evil_value(rng)
        return found
    if isinstance(tree, list) and tree and rng.random() < 0.6:
        return [*tree[:-1], mutate_tree(rng, tree[-1])]
    return evil_value(rng)
