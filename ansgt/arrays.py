"""Numbers from outside: of a kind, a shape and a size that torch and scipy can be trusted with; and how arrays are shown."""

import reprlib
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ansgt.device import available_bytes, is_main_memory
from ansgt.errors import InputError, reason

LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
"""Kinds of which torch knows little more than their names."""


def numbers(field: str, value: Any) -> Tensor:
    """Whatever holds numbers (a tensor, an array, lists), as a tensor on the CPU; other things raise `InputError`."""
    try:
        if isinstance(value, Tensor):
            if value.layout not in LAYOUTS:
                raise InputError(f"Field '{field}' has the layout {value.layout}, which is not understood.")
            if value.is_quantized or value.is_nested:
                raise InputError(f"Field '{field}' must be a plain tensor, not a quantized or nested one.")
            is_view = (
                value.layout == torch.strided and not value.is_contiguous()
            )  # of fewer numbers than it shows
            check_room(
                field,
                value.numel() * value.element_size() if is_view or not is_main_memory(value.device) else 0,
            )
            tensor = value.detach().to(device="cpu")
            tensor = _from_array(field, tensor.numpy()) if tensor.dtype in UNSIGNED else tensor
        else:
            tensor = _from_array(field, value)
    except InputError:
        raise
    except Exception as error:  # of numpy, torch, or the object itself
        raise InputError(f"Field '{field}' is not an array of numbers: {reason(error)}.") from None
    if tensor.is_complex():
        raise InputError(f"Field '{field}' holds complex numbers.")
    return tensor


def _from_array(field: str, value: Any) -> Tensor:
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise InputError(f"Field '{field}' holds complex numbers.")
    if array.dtype.kind not in "biuf":
        raise InputError(f"Field '{field}' must hold numbers, not {str(array.dtype)[:60]}.")
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        if array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise InputError(f"Field '{field}' holds {int(array.max())}, too large for a 64-bit integer.")
        array = array.astype(np.int64)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    # torch knows neither foreign byte orders nor negative strides, and warns of arrays that may not be written to
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))


def mapped(field: str, path: Path) -> Tensor:
    """The array of an `.npy` file, read from there where and when it is looked at; never to be written to.

    Numbers that torch has no kind for are read as a whole.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # of numpy and the system
        raise InputError(f"Field '{field}' cannot be read from {path}: {reason(error)}.") from None
    if not isinstance(array, np.memmap):
        raise InputError(f"Field '{field}' cannot be read from {path}: it is an archive, not one array.")
    if array.dtype.kind not in "biuf":
        raise InputError(f"Field '{field}' must hold numbers, not {str(array.dtype)[:60]} ({path}).")
    as_it_is = array.dtype.isnative and array.dtype.kind in "bif" and array.dtype.itemsize <= 8
    if not (as_it_is and array.flags.c_contiguous):
        check_room(field, array.nbytes)
        return numbers(field, array)
    with warnings.catch_warnings():  # torch warns of arrays that it must not write to
        warnings.simplefilter("ignore")
        return torch.from_numpy(np.asarray(array))


def unfinite(values: Tensor, block: int = 1 << 24) -> int | None:
    """The first place of `values`, flattened, that holds NaN or infinity; None where there is none. Works block by block.

    >>> unfinite(torch.tensor([[1.0, 2.0], [float("nan"), 0.0]])), unfinite(torch.zeros(3))
    (2, None)
    """
    flat = values.reshape(-1)
    for start in range(0, len(flat), block):
        wrong = ~torch.isfinite(flat[start : start + block])
        if bool(wrong.any()):
            return start + int(wrong.nonzero()[0])
    return None


def check_room(field: str, needed: int) -> None:
    """Refuses a field that needs more memory than is free."""
    free = available_bytes(torch.device("cpu"))
    if needed > free:
        raise InputError(
            f"Field '{field}' needs {needed / 2**30:.1f} GiB, but {free / 2**30:.1f} GiB are free."
        )


def truth_mask(field: str, value: Any, num_nodes: int) -> Tensor:
    """A mask [n] (or masks [n, k]) of truth values, or of 0 and 1; a list of node numbers is no mask."""
    mask = numbers(field, value)
    several = mask.ndim == 2 and mask.shape[1] > 0
    if mask.layout != torch.strided or mask.shape[:1] != (num_nodes,) or not (mask.ndim == 1 or several):
        raise InputError(f"Field '{field}' must have shape [{num_nodes}], not {list(mask.shape)}.")
    if mask.dtype != torch.bool and not bool(((mask == 0) | (mask == 1)).all()):
        raise InputError(f"Field '{field}' must hold true or false per node, not other numbers.")
    return mask.bool()


def csr_of(field: str, data: Any, indices: Any, indptr: Any, shape: Any) -> sp.csr_array:
    """A CSR matrix from its parts, every index checked: scipy and torch trust them and would read foreign memory."""
    values, columns, pointers = (
        numbers(name, part).numpy()
        for name, part in (
            (f"{field}.data", data),
            (f"{field}.indices", indices),
            (f"{field}.indptr", indptr),
        )
    )
    given = numbers(f"{field}.shape", shape)
    sizes = given.flatten().tolist()
    if given.is_floating_point() or len(sizes) != 2 or min(sizes) < 0:
        raise InputError(f"The shape of sparse field '{field}' must be two sizes, not {sizes[:4]}.")
    num_rows, num_columns = sizes
    if num_rows * num_columns >= 2**63:
        raise InputError(f"Sparse field '{field}' has the shape {sizes}, larger than any matrix.")
    for name, part in (("indices", columns), ("indptr", pointers)):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            raise InputError(
                f"The {name} of sparse field '{field}' must be a list of integers, not {part.dtype} {list(part.shape)}."
            )
    if values.ndim != 1 or len(values) != len(columns):
        raise InputError(
            f"Sparse field '{field}' has values of shape {list(values.shape)} at {len(columns)} places."
        )
    if len(pointers) != num_rows + 1 or pointers[0] != 0 or pointers[-1] != len(columns):
        raise InputError(
            f"The indptr of sparse field '{field}' must be {num_rows + 1} numbers from 0 to {len(columns)}."
        )
    if bool((pointers[1:] < pointers[:-1]).any()):
        raise InputError(f"The indptr of sparse field '{field}' must not decrease.")
    if len(columns) and (columns.min() < 0 or columns.max() >= num_columns):
        wrong = columns.min() if columns.min() < 0 else columns.max()
        raise InputError(f"Sparse field '{field}' names column {wrong}, but it has {num_columns} columns.")
    matrix = sp.csr_array(
        (values, columns.astype(np.int64), pointers.astype(np.int64)), shape=(num_rows, num_columns)
    )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def brief_repr(one: Any) -> str:
    """A dataclass on one line: its arrays by kind and shape, long lists by their length. For `__repr__ = brief_repr`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pair:
    ...     left: Tensor
    ...     right: list
    ...     __repr__ = brief_repr
    >>> Pair(torch.zeros(2, 3), [1] * 100)
    Pair(left=float32[2, 3], right=list of 100)
    """
    parts = [f"{field.name}={_brief(getattr(one, field.name))}" for field in fields(one) if field.repr]
    return f"{type(one).__name__}({', '.join(parts)})"


FEW = 4
"""Items of a list or a mapping that are shown one by one."""


def _brief(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"{_layout(str(value.layout).removeprefix('torch.'))}{kind}{list(value.shape)}"
    if isinstance(value, np.ndarray) or sp.issparse(value):
        layout = f"sparse_{value.format}" if sp.issparse(value) else "strided"
        return f"{_layout(layout)}{value.dtype}{list(value.shape)}"
    if isinstance(value, Mapping):
        items = [f"{key!r}: {_brief(item)}" for key, item in value.items()]
        return f"{{{', '.join(items)}}}" if len(items) <= FEW else f"{type(value).__name__} of {len(items)}"
    if isinstance(value, list | tuple):
        plain = len(value) <= FEW and all(isinstance(item, str | int | float | None) for item in value)
        return repr(value) if plain else f"{type(value).__name__} of {len(value)}"
    return reprlib.repr(value) if isinstance(value, str | bytes) else repr(value)


def _layout(name: str) -> str:
    return "" if name == "strided" else f"{name} "
