"""Texas, Cornell, Wisconsin: web pages of universities, read by PyG.

Cornell is published twice: the widely used files (`cornell`) hold Texas's features and labels, the corrected ones
(`cornell-corrected`, 2022) Cornell's own.
"""

from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.datasets import WebKB


def load(folder: Path, name: str) -> Data:
    return WebKB(str(folder), name)[0]


def load_corrected(folder: Path, name: str) -> Data:
    return WebKB(str(folder / "cornell_2022"), name)[0]
