"""Actor (film): co-occurrence of actors on Wikipedia pages, read by PyG."""

from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.datasets import Actor


def load(folder: Path, name: str) -> Data:
    return Actor(str(folder / name))[0]
