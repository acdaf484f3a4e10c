"""Chameleon and Squirrel as Geom-GCN publishes them (duplicated nodes included), read by PyG."""

from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.datasets import WikipediaNetwork


def load(folder: Path, name: str) -> Data:
    return WikipediaNetwork(str(folder), name, geom_gcn_preprocess=True)[0]
