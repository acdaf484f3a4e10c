"""Graph files: arrays and bytes of `.npz` and `.pt`."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from fuzz_mutations import NUM, Case, Rng, Wrong, mutate_array, mutate_bytes, pick

from ansgt.arrays import UNSIGNED
from ansgt.datasets import Dataset, load

NAMES = (
    "x", "edge_index", "y", "train_mask", "val_mask", "test_mask", "x_data", "x_indices", "x_indptr", "x_shape",
)  # fmt: skip
ODD_NAMES = (
    "train_masks", "val_masks", "train_idx", "X", "Y", "edges", "labels", "names", "../x", "x.npy", "", "file", "edge_attr",
    "é\x00",
)  # fmt: skip


def good_graph(rng: Rng, masks: bool = True) -> dict[str, Any]:
    y = np.arange(NUM) % 3
    arrays: dict[str, Any] = {
        "x": rng.normal(size=(NUM, 5)).round(2),
        "edge_index": rng.integers(NUM, size=(2, 40)),
        "y": y,
    }
    if masks:
        arrays |= {
            f"{part}_mask": np.arange(NUM) // 8 == i for i, part in enumerate(("train", "val", "test"))
        }
    return arrays


def sparse_parts(rng: Rng, x: np.ndarray) -> dict[str, np.ndarray]:
    import scipy.sparse as sp

    x = sp.csr_array(x * (rng.random(x.shape) < 0.4))
    return {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}


def mutate_graph(rng: Rng) -> dict[str, Any]:
    arrays = good_graph(rng, masks=rng.random() < 0.7)
    if rng.random() < 0.35:
        arrays |= sparse_parts(rng, arrays["x"])
        if rng.random() < 0.9:
            del arrays["x"]
    for _ in range(int(rng.integers(0, 4))):
        key = pick(rng, arrays)
        how = rng.random()
        if how < 0.7:
            arrays[key] = mutate_array(rng, arrays[key])
        elif how < 0.8:
            del arrays[key]
        elif how < 0.9:
            arrays[pick(rng, ODD_NAMES)] = arrays.pop(key)
        else:
            arrays[pick(rng, NAMES)] = arrays[key]
        if not arrays:
            break
    return arrays


def check_graph(data: Dataset, arrays: dict[str, Any]) -> None:
    """The graph is a graph, and the one that the arrays say."""
    graph = data.graph
    n = graph.num_nodes
    x, y = graph.features, graph.y.numpy()
    x = x.toarray() if hasattr(x, "toarray") else x
    if graph.adj.shape != (n, n) or (abs(graph.adj - graph.adj.T)).nnz or graph.adj.diagonal().any():
        raise Wrong("the adjacency is not that of a simple graph")
    if x.shape[0] != n or not np.isfinite(x).all() or len(y) != n or y.min(initial=0) < -1:
        raise Wrong("features or labels of another size, or not finite")
    if "x" in arrays:
        with np.errstate(all="ignore"):
            if not np.array_equal(x, np.asarray(arrays["x"]).astype(np.float32)):
                raise Wrong("other features")
    given = np.asarray(arrays["y"]).reshape(-1)
    if given.dtype.kind == "U":
        same = [graph.class_name(code) or "" for code in y] == given.tolist()
    else:
        given = given.astype(np.float64)
        shown = np.array([-1 if code < 0 else graph.class_name(code) for code in y], dtype=np.float64)
        same = np.array_equal(shown, np.where(np.isnan(given), -1, given))
    if not same:
        raise Wrong("other labels")
    edges = np.asarray(arrays["edge_index"]).astype(np.int64).reshape(2, -1)
    pairs = {(int(a), int(b)) for a, b in edges.T if a != b}
    if {tuple(pair) for pair in graph.edge_index.T.tolist()} != pairs | {(b, a) for a, b in pairs}:
        raise Wrong("other edges")
    masks = [key for key in arrays if key.startswith(("train", "val", "test"))]
    if masks and data.default_split != "given":
        raise Wrong(f"{masks} are not used")
    if masks:
        split = data.split()
        for part in ("train", "val", "test"):
            mask = np.asarray(arrays.get(f"{part}_mask", np.zeros(n))).astype(float)
            if not np.array_equal(getattr(split, part).numpy(), np.flatnonzero(mask)):
                raise Wrong(f"another {part} part")


def graph_npz(rng: Rng, folder: Path) -> None:
    arrays = mutate_graph(rng)
    path = folder / "g.npz"
    try:
        pick(rng, (np.savez, np.savez_compressed))(path, **arrays)
    except (TypeError, ValueError):  # names that numpy does not write
        return
    data = load(str(path))
    data.split()
    check_graph(data, arrays)


def torch_value(rng: Rng, value: Any) -> Any:
    how = rng.random()
    if how < 0.1:
        return pick(
            rng, (None, [1, 2], "text", 3, {"a": 1}, {1: 2}, [[1], [2, 3]], torch.zeros(1).expand(10**12), {})
        )
    try:
        tensor = torch.from_numpy(np.ascontiguousarray(value))
    except (TypeError, ValueError):  # kinds and byte orders that torch does not know
        return value if how < 0.5 else 3
    if how < 0.2 and tensor.ndim == 2 and tensor.numel() and tensor.dtype not in UNSIGNED:
        tensor = pick(rng, (tensor.to_sparse_coo, tensor.to_sparse_csr, tensor.to_sparse_csc))()
        if rng.random() < 0.6 and tensor._nnz() if tensor.layout == torch.sparse_coo else False:
            tensor._indices()[0, -1] = int(pick(rng, (-1, 10**9, NUM)))
        return tensor
    return tensor


def graph_pt(rng: Rng, folder: Path) -> None:
    from torch_geometric.data import Data

    arrays = mutate_graph(rng)
    values: dict[Any, Any] = {key: torch_value(rng, value) for key, value in arrays.items()}
    path = folder / "g.pt"
    if rng.random() < 0.05:
        values[pick(rng, (3, None, (1, 2), True))] = torch.zeros(1)
    try:
        torch.save(Data(**values) if rng.random() < 0.7 else values, path)
    except Exception:  # names that PyG does not take
        return
    data = load(str(path))
    data.split()
    plain = {
        key: values[key] for key in NAMES[:6] if isinstance(values.get(key), torch.Tensor)
    }  # others are not read
    dense = {key: value.to_dense().numpy() for key, value in plain.items() if value.numel() < 10**6}
    dense |= {key: value for key, value in arrays.items() if key not in dense and values[key] is not None}
    check_graph(data, dense)


def graph_bytes(rng: Rng, folder: Path, suffix: str) -> None:
    arrays = good_graph(rng)
    path = folder / f"g{suffix}"
    if suffix == ".npz":
        pick(rng, (np.savez, np.savez_compressed))(path, **arrays)
    else:
        from torch_geometric.data import Data

        values = {key: torch.from_numpy(value) for key, value in arrays.items()}
        old = rng.random() < 0.3
        torch.save(
            Data(**values) if rng.random() < 0.7 else values, path, _use_new_zipfile_serialization=not old
        )
    first = load(str(path))
    content = mutate_bytes(rng, path.read_bytes())
    path.write_bytes(content)
    data = load(str(path))
    same = data.graph.content_hash == first.graph.content_hash and data.split().hash == first.split().hash
    if not same and (suffix == ".npz" or content[:2] == b"PK"):  # files before torch 1.6 have no checksum
        raise Wrong("a damaged file was read as another graph")


def graph_npz_bytes(rng: Rng, folder: Path) -> None:
    graph_bytes(rng, folder, ".npz")


def graph_pt_bytes(rng: Rng, folder: Path) -> None:
    graph_bytes(rng, folder, ".pt")


GRAPHS: dict[str, Case] = {
    "graph npz": graph_npz,
    "graph pt": graph_pt,
    "graph npz bytes": graph_npz_bytes,
    "graph pt bytes": graph_pt_bytes,
}
