"""Cora, Citeseer, Pubmed: citation networks (Yang et al., 2016), read by PyG's `Planetoid`."""

from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.datasets import Planetoid


def load(folder: Path, name: str) -> Data:
    """`public` masks come with the data."""
    return Planetoid(str(folder), name)[0]
