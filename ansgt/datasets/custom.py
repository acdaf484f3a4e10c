"""A user's own graph on disk: an `.npz`, or a PyG `Data` saved with `torch.save`."""

import difflib
import os
import pickle
import zipfile
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.arrays import csr_of, mapped, numbers, truth_mask
from ansgt.datasets.npz import check_size, read_arrays
from ansgt.errors import InputError, reason
from ansgt.graph import Graph, Split
from ansgt.names import Labelling
from ansgt.storage import atomic_path, write_npz

REQUIRED = ("x", "edge_index", "y")
OPTIONAL = ("train_mask", "val_mask", "test_mask")
STORED = "ansgt_names"
NAMES = ("node_names", "class_names", STORED)
"""What nodes and classes are called: two arrays of texts or numbers, or both in one, which ansgt itself writes."""
TEXTS = ("y", "node_names", "class_names")
"""Arrays of an `.npz` that may hold texts."""
SPARSE = ("x_data", "x_indices", "x_indptr", "x_shape")
"""In place of `x`: a CSR matrix in four arrays."""
PARTS = {"train": "train_mask", "val": "val_mask", "test": "test_mask"}
SPLIT_WORDS = ("mask", "idx", "index", "indices", "nodes", "split")
"""A key that begins with a part's name and holds one of these says who is trained on."""


def load(path: Path, needed: Collection[str] = REQUIRED) -> Any:
    """Reads `x` [n, p], `edge_index` [2, E], `y` [n] (-1: unknown) and, where given, the three masks [n].

    An `.npz` gives an object with these attributes; a `.pt` the PyG `Data` itself, with whatever else is in it.

    Args:
        path: the file.
        needed: fields that must be there; `y` need not be where labels are to be predicted.

    Raises:
        InputError: the file is no such file, a field is missing, misspelt, or of another shape or kind.
    """
    if not os.path.isfile(path):  # not `path.is_file`, which raises where a name is too long
        raise InputError(f"The graph file {path} does not exist.")
    data, keys = _from_npz(path) if path.suffix == ".npz" else _from_torch(path)
    try:
        check_names(keys)
        for key in needed:
            if getattr(data, key, None) is None:
                raise InputError(f"no field '{key}'; needed are {', '.join(needed)}.")
    except InputError as error:
        raise InputError(f"The graph file {path} has {error}") from None
    try:
        num_nodes = len(data.x) if data.x.ndim == 1 else int(data.x.shape[0])
        for key in OPTIONAL:
            if getattr(data, key, None) is not None:
                setattr(data, key, truth_mask(key, getattr(data, key), num_nodes))
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')} (graph file {path}).") from None
    return data


def check_names(keys: Collection[str]) -> None:
    """Names a misspelt field: if it were ignored, a model would be trained on test nodes."""
    absent = {key for key in REQUIRED + OPTIONAL if key not in keys}
    if set(SPARSE) <= set(keys):
        absent.discard("x")
    others = sorted(set(keys) - {*REQUIRED, *OPTIONAL, *SPARSE, *NAMES})
    for key in others:
        near = difflib.get_close_matches(key.lower()[:40], absent, n=1, cutoff=0.8)
        part = next((mask for part, mask in PARTS.items() if key.lower().startswith(part)), None)
        if part in absent and any(word in key.lower() for word in SPLIT_WORDS):
            near = [part]
        if near:
            raise InputError(f"a field {key[:40]!r} that is not known; did you mean '{near[0]}'?")


def write_graph(path: Path, graph: Graph, split: Split | None = None, features_beside: bool = False) -> None:
    """Writes a graph (and the masks of a split) as the `.npz` that `load` reads, dense features beside it if asked for."""
    x: Any = graph.features
    arrays: dict[str, Any] = {}
    if features_beside and not sp.issparse(x):
        with atomic_path(beside(path)) as temporary, temporary.open("wb") as stream:
            np.save(stream, x)
    elif sp.issparse(x):
        parts = (x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64), np.array(x.shape))
        arrays = dict(zip(SPARSE, parts, strict=True))
    else:
        arrays = {"x": x}
    loops = np.flatnonzero(graph.loops)
    edges = np.concatenate([graph.edge_index.numpy(), np.stack([loops, loops])], axis=1)
    if split is not None:
        for part in ("train", "val", "test"):
            arrays[f"{part}_mask"] = np.isin(np.arange(graph.num_nodes), getattr(split, part).numpy())
    if graph.labelling:
        arrays[STORED] = graph.labelling.packed()
    write_npz(path, **arrays, edge_index=edges, y=graph.y.numpy())


def _from_npz(path: Path) -> tuple[Any, list[str]]:
    values, names = read_arrays(path, (*REQUIRED, *OPTIONAL, *SPARSE, *NAMES), texts=TEXTS)
    try:
        meant = _labelling(values)
        elsewhere = _features_elsewhere(path, values, names)
        found = {
            key: value if value.dtype.kind == "U" else numbers(key, value) for key, value in values.items()
        }
        if elsewhere is not None:
            found["x"] = elsewhere
            names.append("x")
        _check_shapes(found)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')} (graph file {path}).") from None
    if sp.issparse(elsewhere):
        found["x"] = _sparse_tensor(elsewhere)
    return SimpleNamespace(**found, **meant), names


def _features_elsewhere(path: Path, values: dict[str, np.ndarray], names: Collection[str]) -> Any:
    """Features that are not the array `x`: a CSR matrix out of its four arrays, or a mapped file; else None."""
    matrix, features = set(SPARSE) <= set(names), beside(path)
    if matrix and "x" in names:
        raise InputError(f"It has both 'x' and {', '.join(SPARSE)}.")
    if os.path.isfile(features):
        if matrix or "x" in names:
            raise InputError(f"It has features, and {features.name} lies beside it: take one of them away.")
        return mapped("x", features)
    return csr_of("x", *(values.pop(key) for key in SPARSE)) if matrix else None


def beside(path: Path) -> Path:
    """Where the features of a graph file may lie by themselves: `g.x.npy` beside `g.npz`; they are mapped, not read."""
    return path.with_name(f"{path.stem}.x.npy")


def _labelling(values: dict[str, np.ndarray]) -> dict[str, Any]:
    """What nodes and classes are called, taken out of the arrays of a file."""
    given: dict[str, Any] = {key: values.pop(key) for key in NAMES if key in values}
    if STORED not in given:
        return given
    stored = Labelling.unpacked(given[STORED])
    return {"node_names": stored.nodes, "class_names": stored.classes, "columns": stored.columns}


def _sparse_tensor(x: Any) -> torch.Tensor:
    rows, columns = (torch.from_numpy(part.astype(np.int64)) for part in (x.indptr, x.indices))
    return torch.sparse_csr_tensor(
        rows, columns, torch.from_numpy(x.data), size=x.shape, check_invariants=True
    )


def _check_shapes(values: Any) -> None:
    """Sizes that disagree, before anything is allocated per node."""
    x, y = values.get("x"), values.get("y")
    if x is None or y is None:
        return
    if x.ndim != 2:
        raise InputError(f"Field 'x' must have two dimensions [nodes, features], not shape {list(x.shape)}.")
    if y.ndim == 0 or y.shape[0] != x.shape[0]:
        raise InputError(f"Field 'y' must have shape [{x.shape[0]}], not {list(y.shape)}.")


def _from_torch(path: Path) -> tuple[Any, list[str]]:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        _check_archive(path)
        with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            data = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(data, dict):
            if not all(isinstance(key, str) for key in data):
                raise InputError("it holds keys that are not names.")
            data = Data.from_dict(data)
        if not isinstance(data, Data):
            raise InputError(f"it holds a {type(data).__name__}, not a PyG Data.")
        fields = {key: getattr(data, key, None) for key in REQUIRED + OPTIONAL}
        declared = sum(
            value.numel() * value.element_size()
            for value in fields.values()
            if isinstance(value, torch.Tensor) and value.layout == torch.strided
        )
        check_size(path, declared)  # a tensor with a stride of 0 may have more entries than its file
        keys = [str(key) for key in data.keys()]  # noqa: SIM118 (Data is no mapping)
    except InputError as error:
        raise InputError(f"Cannot read the graph file {path}: {error}") from None
    except pickle.UnpicklingError:
        raise InputError(
            f"Cannot read the graph file {path}: it was not written by torch.save, or holds more than tensors in a Data."
        ) from None
    except Exception as error:  # of torch, PyG, zip, the system
        raise InputError(f"Cannot read the graph file {path}: {reason(error)}.") from None
    return _checked(path, data, fields), keys


def _check_archive(path: Path) -> None:
    """What the archive of a `torch.save` declares; older files are no archives."""
    if not zipfile.is_zipfile(path):
        check_size(path, path.stat().st_size)
        return
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.flag_bits & 1 for member in members):
            raise InputError("it is encrypted.")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise InputError("it is compressed, which torch.save does not do.")
        check_size(path, sum(member.file_size for member in members))
        damaged = archive.testzip()
        if damaged is not None:
            raise InputError(f"its part {damaged[:80]!r} is damaged.")


def _checked(path: Path, data: Any, fields: dict[str, Any]) -> Any:
    """The same data, its labels, edges and dense features as tensors."""
    try:
        for key, value in fields.items():
            sparse = isinstance(value, torch.Tensor) and value.layout != torch.strided
            if key == "y" and isinstance(value, list) and all(isinstance(one, str | None) for one in value):
                fields[key] = np.array(["" if one is None else one for one in value], dtype=np.str_)
                continue
            if value is not None and not sparse and not hasattr(value, "coo"):
                fields[key] = numbers(key, value)
                setattr(data, key, fields[key])
        _check_shapes(fields)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')} (graph file {path}).") from None
    return data
