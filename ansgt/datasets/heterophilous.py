"""Minesweeper and Tolokers (Platonov et al., 2023), ten official 50/25/25 splits, read by PyG."""

from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.datasets import HeterophilousGraphDataset


def load(folder: Path, name: str) -> Data:
    return HeterophilousGraphDataset(str(folder), name)[0]
