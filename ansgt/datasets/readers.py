"""Who reads the raw files of a published data set: PyG's parsers, and our own for OGB. One function per family.

Each takes a folder that is laid out like the root and the name that its parser wants.
"""

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import (
    Actor,
    Amazon,
    CitationFull,
    Coauthor,
    HeterophilousGraphDataset,
    Planetoid,
    WebKB,
    WikipediaNetwork,
)
from torch_geometric.io import read_npz

from ansgt.arrays import check_room, csr_of
from ansgt.datasets.fields import Fields
from ansgt.datasets.npz import read_arrays
from ansgt.errors import InputError

SPARSE_PARTS = ("data", "indices", "indptr", "shape")
OGB_PARTS = {"train": "train.csv.gz", "val": "valid.csv.gz", "test": "test.csv.gz"}


def planetoid(folder: Path, name: str) -> Data:
    """Cora, CiteSeer, PubMed; the masks of the split `public` come with the data."""
    return Planetoid(str(folder), name)[0]


def wikipedia(folder: Path, name: str) -> Data:
    """Chameleon and Squirrel as Geom-GCN publishes them, duplicated nodes included."""
    return WikipediaNetwork(str(folder), name, geom_gcn_preprocess=True)[0]


def actor(folder: Path, name: str) -> Data:
    """Actor (film): co-occurrence of actors on Wikipedia pages."""
    return Actor(str(folder / name))[0]


def webkb(folder: Path, name: str) -> Data:
    """Texas, Cornell, Wisconsin: web pages of universities. This Cornell has Texas's features and labels."""
    return WebKB(str(folder), name)[0]


def webkb_corrected(folder: Path, name: str) -> Data:
    """Cornell with features and labels of its own, as published in 2022."""
    return WebKB(str(folder / "cornell_2022"), name)[0]


def amazon(folder: Path, name: str) -> Data:
    """Photo and Computers, of the gnn-benchmark collection."""
    _check_sparse(folder)
    return Amazon(str(folder), name)[0]


def coauthor(folder: Path, name: str) -> Data:
    """CS and Physics, of the gnn-benchmark collection."""
    _check_sparse(folder)
    return Coauthor(str(folder), name)[0]


def citation(folder: Path, name: str) -> Data:
    """DBLP, of the CitationFull collection."""
    _check_sparse(folder)
    return CitationFull(str(folder), name)[0]


def facebook(folder: Path, name: str) -> Data:
    """MUSAE's page-page graph with its 4,714 binary features; PyG's `FacebookPagePage` has 128 reduced ones."""
    _check_sparse(folder)
    return read_npz(str(folder / name / "raw" / f"{name}.npz"), to_undirected=True)


def _check_sparse(folder: Path) -> None:
    """The sparse matrices of the one file in this format: PyG gives them to scipy, which follows every index."""
    for path in folder.rglob("*.npz"):
        names = [f"{matrix}_{part}" for matrix in ("attr", "adj") for part in SPARSE_PARTS]
        arrays, _ = read_arrays(path, names)
        if len(arrays) < len(names):
            raise InputError(
                f"The raw file {path.name} lacks {', '.join(n for n in names if n not in arrays)}."
            )
        features, _ = (
            csr_of(matrix, *(arrays[f"{matrix}_{p}"] for p in SPARSE_PARTS)) for matrix in ("attr", "adj")
        )
        check_room("attr", 8 * features.shape[0] * features.shape[1])


def heterophilous(folder: Path, name: str) -> Data:
    """Minesweeper and Tolokers (Platonov et al., 2023), with ten official 50/25/25 splits."""
    return HeterophilousGraphDataset(str(folder), name)[0]


def ogb(folder: Path, name: str) -> Fields:
    """ogbn-arxiv and ogbn-products from `<name>/raw/*.csv.gz` and `<name>/split/<kind>/*.csv.gz`, official split included.

    `ogb` 1.3.6 cannot load them with torch >= 2.6 (it calls `torch.load` without `weights_only`). The slow CSV is read
    once: it ends as `Fields` in the cache.
    """
    return Fields(**{key: torch.from_numpy(array) for key, array in _parse_ogb(folder / name).items()})


def _parse_ogb(folder: Path) -> dict[str, np.ndarray]:
    num_nodes = int(_read_csv(folder / "raw" / "num-node-list.csv.gz", np.int64).ravel()[0])
    edges = _read_csv(folder / "raw" / "edge.csv.gz", np.int64).T
    x = _read_csv(folder / "raw" / "node-feat.csv.gz", np.float32)
    y = _read_csv(folder / "raw" / "node-label.csv.gz", np.float64).ravel()
    if len(x) != num_nodes or len(y) != num_nodes:
        raise InputError(
            f"{folder}: num-node-list says {num_nodes} nodes, features {len(x)}, labels {len(y)}."
        )
    kinds = sorted(path for path in (folder / "split").iterdir() if path.is_dir())
    if len(kinds) != 1:
        raise InputError(
            f"{folder / 'split'} must hold one folder with the official split, not {len(kinds)}."
        )
    masks = {}
    for part, file in OGB_PARTS.items():
        masks[f"{part}_mask"] = np.zeros(num_nodes, dtype=bool)
        nodes = _read_csv(kinds[0] / file, np.int64).ravel()
        if len(nodes) and (nodes.min() < 0 or nodes.max() >= num_nodes):
            raise InputError(f"{kinds[0] / file} names a node outside 0..{num_nodes - 1}.")
        masks[f"{part}_mask"][nodes] = True
    if not (np.isnan(y) | (y == np.round(y))).all():
        raise InputError(f"{folder}: node-label must hold whole numbers.")
    labels = np.where(np.isnan(y), -1, y).astype(np.int64)
    return {"x": x, "edge_index": edges.copy(), "y": labels, **masks}


def _read_csv(path: Path, dtype: type) -> np.ndarray:
    try:
        return np.loadtxt(path, delimiter=",", dtype=dtype, ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from None
