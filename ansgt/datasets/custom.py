"""A user's own graph on disk: an `.npz`, or a PyG `Data` saved with `torch.save`."""

import pickle
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.storage import write_npz

REQUIRED = ("x", "edge_index", "y")
OPTIONAL = ("train_mask", "val_mask", "test_mask")
SPARSE = ("x_data", "x_indices", "x_indptr", "x_shape")
"""In place of `x`: a CSR matrix in four arrays."""


def load(path: Path) -> Any:
    """Reads `x` [n, p], `edge_index` [2, E], `y` [n] (-1: unknown) and, where given, the three masks [n].

    An `.npz` gives an object with these attributes; a `.pt` the PyG `Data` itself, with whatever else is in it.
    """
    if not path.is_file():
        raise InputError(f"The graph file {path} does not exist.")
    data = _from_npz(path) if path.suffix == ".npz" else _from_torch(path)
    for key in REQUIRED:
        if getattr(data, key, None) is None:
            raise InputError(f"The graph file {path} has no field '{key}'; needed are {', '.join(REQUIRED)}.")
    for key in OPTIONAL:
        mask = getattr(data, key, None)
        if mask is not None and (mask.ndim != 1 or len(mask) != len(data.x)):
            raise InputError(
                f"Field '{key}' of {path} must have shape [{len(data.x)}], not {list(mask.shape)}."
            )
    return data


def write_graph(path: Path, graph: Graph, split: Split | None = None) -> None:
    """Writes a graph (and the masks of a split) as the `.npz` that `load` reads."""
    x: Any = graph.features
    if sp.issparse(x):
        parts = (x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64), np.array(x.shape))
        arrays = dict(zip(SPARSE, parts, strict=True))
    else:
        arrays = {"x": x}
    loops = np.flatnonzero(graph.loops)
    edges = np.concatenate([graph.edge_index.numpy(), np.stack([loops, loops])], axis=1)
    if split is not None:
        for part in ("train", "val", "test"):
            arrays[f"{part}_mask"] = np.isin(np.arange(graph.num_nodes), getattr(split, part).numpy())
    write_npz(path, **arrays, edge_index=edges, y=graph.y.numpy())


def _from_npz(path: Path) -> Any:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            known = [key for key in REQUIRED + OPTIONAL if key in arrays.files]
            values = {key: torch.from_numpy(arrays[key]) for key in known}
            if set(SPARSE) <= set(arrays.files):
                data, indices, indptr, shape = (arrays[key] for key in SPARSE)
                rows, columns, stored = (torch.from_numpy(part) for part in (indptr, indices, data))
                values["x"] = torch.sparse_csr_tensor(rows, columns, stored, size=tuple(shape.tolist()))
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(f"Cannot read the graph file {path}: {error}.") from None
    for key in set(OPTIONAL) & set(values):
        values[key] = values[key].bool()
    return SimpleNamespace(**values)


def _from_torch(path: Path) -> Any:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            data = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"Cannot read the graph file {path}: {reason}.") from None
    if isinstance(data, dict):
        data = Data.from_dict(data)
    if not isinstance(data, Data):
        raise InputError(f"The graph file {path} holds a {type(data).__name__}, not a PyG Data.")
    return data
