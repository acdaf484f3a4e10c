"""ogbn-arxiv and ogbn-products from OGB's raw CSV layout, official split included.

`ogb` 1.3.6 cannot load them with torch >= 2.6 (it calls `torch.load` without `weights_only`), so the files are read
here, once: the slow CSV ends as `Fields` in the cache.
"""

from pathlib import Path

import numpy as np
import torch

from ansgt.datasets.fields import Fields
from ansgt.errors import InputError

PARTS = {"train": "train.csv.gz", "val": "valid.csv.gz", "test": "test.csv.gz"}


def load(folder: Path, name: str) -> Fields:
    """Reads `<name>/raw/*.csv.gz` and `<name>/split/<kind>/*.csv.gz`; masks are the official split."""
    return Fields(**{key: torch.from_numpy(array) for key, array in _parse(folder / name).items()})


def _parse(folder: Path) -> dict[str, np.ndarray]:
    num_nodes = int(_read(folder / "raw" / "num-node-list.csv.gz", np.int64).ravel()[0])
    edges = _read(folder / "raw" / "edge.csv.gz", np.int64).T
    x = _read(folder / "raw" / "node-feat.csv.gz", np.float32)
    y = _read(folder / "raw" / "node-label.csv.gz", np.float64).ravel()
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
    for part, file in PARTS.items():
        masks[f"{part}_mask"] = np.zeros(num_nodes, dtype=bool)
        masks[f"{part}_mask"][_read(kinds[0] / file, np.int64).ravel()] = True
    labels = np.where(np.isnan(y), -1, y).astype(np.int64)
    return {"x": x, "edge_index": edges.copy(), "y": labels, **masks}


def _read(path: Path, dtype: type) -> np.ndarray:
    try:
        return np.loadtxt(path, delimiter=",", dtype=dtype, ndmin=2)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from None
